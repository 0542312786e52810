"""A replay touches nothing: sockets, subprocesses and file writes are refused.

Rules:

- An audit hook (PEP 578) refuses while a replay is active in the process, whichever
  thread tries; it is installed once, since Python cannot remove one, and is idle else.
- What a reproducible effect does while it is performed again is permitted: it runs
  synthesised code in a capsule of its own. So is importing modules, and ``/dev/null``.
- The attempt is kept: a program that swallows the refusal is found out all the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from muniment.errors import RefusedError

__all__ = ["GUARDS", "Guard", "guarded"]

GUARDS = ("sockets", "subprocesses", "file writes")

_EVENTS = {
    "socket.connect": "sockets",
    "socket.bind": "sockets",
    "socket.sendto": "sockets",
    "socket.sendmsg": "sockets",
    "socket.getaddrinfo": "sockets",
    "socket.gethostbyname": "sockets",
    "subprocess.Popen": "subprocesses",
    "os.system": "subprocesses",
    "os.startfile": "subprocesses",
    "os.exec": "subprocesses",
    "os.fork": "subprocesses",
    "os.forkpty": "subprocesses",
    "os.posix_spawn": "subprocesses",
    "os.spawn": "subprocesses",
    "pty.spawn": "subprocesses",
    "os.remove": "file writes",
    "os.rename": "file writes",
    "os.mkdir": "file writes",
    "os.rmdir": "file writes",
    "os.link": "file writes",
    "os.symlink": "file writes",
    "os.truncate": "file writes",
    "os.chmod": "file writes",
    "os.chown": "file writes",
    "os.utime": "file writes",
    "shutil.rmtree": "file writes",
    "shutil.move": "file writes",
    "sqlite3.connect": "file writes",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(slots=True)
class Guard:
    """What one replay tried and may not have."""

    attempts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The guard and the audit event, with its first argument."""

    @contextmanager
    def lifted(self) -> Generator[None]:
        """Permit everything in this context, while an effect is performed again."""
        token = _LIFTED.set(True)
        try:
            yield
        finally:
            _LIFTED.reset(token)

    def refuse(self, name: str, event: str, arguments: tuple[object, ...]) -> None:
        """Keep the attempt and stop it."""
        what = f"{event} {arguments[0]!r}" if arguments else event
        self.attempts.append((name, what[:200]))
        raise RefusedError(
            f"a replay has no {name}: {what[:200]}",
            rule="replay/guard",
            remedy="do it inside run.effect(…), so that the record can answer",
        )


_LIFTED: ContextVar[bool] = ContextVar("muniment_guard_lifted", default=False)


class _Hook:
    """The one audit hook of the process, and the replays that are active in it."""

    def __init__(self) -> None:
        self.active: list[Guard] = []
        self.installed = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active or _LIFTED.get():
            return
        name = _EVENTS.get(event)
        if name is None and event == "open" and _writes(arguments):
            name = "file writes"
        if name is not None and not _only_reads(event, arguments):
            self.active[-1].refuse(name, event, arguments)


_HOOK = _Hook()


def _writes(arguments: tuple[object, ...]) -> bool:
    path, _, flags = (*arguments, None, None, None)[:3]
    if path == os.devnull or not isinstance(flags, int):
        return False
    return bool(flags & _WRITING)


def _only_reads(event: str, arguments: tuple[object, ...]) -> bool:
    """Permit databases in memory, and read-only ones such as the ledger itself."""
    where = str(arguments[0]) if event == "sqlite3.connect" and arguments else ""
    return where == ":memory:" or "mode=ro" in where.partition("?")[2]


@contextmanager
def guarded() -> Generator[Guard]:
    """Guard the process while the body runs."""
    if not _HOOK.installed:
        sys.addaudithook(_HOOK)
        _HOOK.installed = True
    guard = Guard()
    bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    _HOOK.active.append(guard)
    try:
        yield guard
    finally:
        _HOOK.active.remove(guard)
        sys.dont_write_bytecode = bytecode
