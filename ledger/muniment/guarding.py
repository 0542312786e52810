"""A replay touches nothing: sockets, subprocesses and file writes are refused.

Rules:

- An audit hook (PEP 578) refuses while a replay is active, in the thread that replays
  and in those that begin meanwhile, unless Python (from 3.12 on) tells that somebody
  else started them. Threads that were there before are none of the program's: live
  runs, servers and other replays go on beside it.
- The hook is installed once, since Python cannot remove one, and is idle else.
- What a reproducible effect does while it is performed again is permitted: it runs
  synthesised code in a capsule of its own. So is importing modules, and ``/dev/null``.
- The attempt is kept: a program that swallows the refusal is found out all the same.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from weakref import WeakSet

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
    "muniment.append": "file writes",
}
_STARTS = frozenset({"_thread.start_new_thread", "_thread.start_joinable_thread"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(slots=True, eq=False)
class Guard:
    """What one replay tried and may not have."""

    attempts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The guard and the audit event, with its first argument."""
    threads: WeakSet[threading.Thread] = field(
        default_factory=lambda: WeakSet([threading.current_thread()])
    )
    """Those that run the program."""
    bystanders: WeakSet[threading.Thread] = field(
        default_factory=lambda: WeakSet(threading.enumerate())
    )
    """Those that do not."""

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
        self.bytecode = False
        self.lock = threading.Lock()

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active or _LIFTED.get():
            return
        if event in _STARTS:
            self.follow(getattr(arguments[0], "__self__", None))
        name = _EVENTS.get(event)
        if name is None and event == "open" and _writes(arguments):
            name = "file writes"
        if name is not None and not _only_reads(event, arguments):
            guard = self.guard()
            if guard is not None:
                guard.refuse(name, event, arguments)

    def guard(self) -> Guard | None:
        """Return the guard of the program that the current thread runs."""
        thread, active = threading.current_thread(), self.active[::-1]
        own = [one for one in active if thread in one.threads]
        own += [one for one in active if thread not in one.bystanders]
        return own[0] if own else None

    def follow(self, started: object) -> None:
        """Let a thread be guarded as the one that starts it."""
        if isinstance(started, threading.Thread):
            guard = self.guard()
            for one in self.active[::-1]:
                (one.threads if one is guard else one.bystanders).add(started)

    def begin(self, guard: Guard) -> None:
        """Guard from here on; modules that are imported write no bytecode."""
        with self.lock:
            if not self.installed:
                sys.addaudithook(self)
                self.installed = True
            if not self.active:
                self.bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
            self.active.append(guard)

    def end(self, guard: Guard) -> None:
        """Guard no more."""
        with self.lock:
            self.active.remove(guard)
            if not self.active:
                sys.dont_write_bytecode = self.bytecode


_HOOK = _Hook()


def _writes(arguments: tuple[object, ...]) -> bool:
    path, _, flags = (*arguments, None, None, None)[:3]
    if path == os.devnull or not isinstance(flags, int):
        return False
    return bool(flags & _WRITING)


def _only_reads(event: str, arguments: tuple[object, ...]) -> bool:
    """Permit databases in memory, and read-only ones such as the ledger itself."""
    where = str(arguments[0]) if event == "sqlite3.connect" and arguments else ""
    path, _, options = where.partition("?")
    readonly = path.startswith("file:/") and "mode=ro" in options.split("&")
    return where == ":memory:" or readonly


@contextmanager
def guarded() -> Generator[Guard]:
    """Guard this thread, and those that it starts, while the body runs."""
    guard = Guard()
    _HOOK.begin(guard)
    try:
        yield guard
    finally:
        _HOOK.end(guard)
