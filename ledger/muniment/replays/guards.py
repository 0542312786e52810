"""Watches a replay: sockets, subprocesses, file writes and signals are refused.

Rules:

- It sees what Python reports as audit events, and is no isolation layer: code that
  calls the system directly (extension modules, SQLite's own files, ctypes) passes
  unseen. `muniment replay` puts the isolation layers of the system around it.

- An audit hook (PEP 578) refuses while a replay is active, in the thread that replays
  and in those that start meanwhile, unless somebody else is known to have started them.
  Threads that were there before are not the program's: live runs, servers and other
  replays continue beside it.
- The hook is installed once, since Python cannot remove one, and is idle otherwise.
- A reproducible effect may do anything while it is performed again: it runs synthesised
  code in its own capsule. Importing modules and ``/dev/null`` are permitted, too.
- Behind isolation layers a program may write in a directory of its own, and denials by
  the layers are remembered, since they may be why the program ended differently.
- Questions about the machine are answered, and are no attempt (`machine_reads`).
- The attempt is kept: a program that swallows the refusal is still caught.
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
from muniment.programs.thread_starts import STARTS, begun_by, tell_starts
from muniment.replays.machine_reads import ask_machine, is_answered

__all__ = ["GUARDS", "Guard", "guarded"]

GUARDS = ("sockets", "subprocesses", "file writes", "signals")

_EVENTS = {
    "socket.connect": "sockets",
    "socket.bind": "sockets",
    "socket.sendto": "sockets",
    "socket.sendmsg": "sockets",
    "socket.getaddrinfo": "sockets",
    "socket.gethostbyaddr": "sockets",
    "socket.gethostbyname": "sockets",
    "socket.getnameinfo": "sockets",
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
    "os.chflags": "file writes",
    "os.lchflags": "file writes",
    "os.setxattr": "file writes",
    "os.removexattr": "file writes",
    "os.kill": "signals",
    "os.killpg": "signals",
    "signal.pthread_kill": "signals",
    "shutil.rmtree": "file writes",
    "shutil.move": "file writes",
    "sqlite3.connect": "file writes",
    "muniment.append": "file writes",
}
_FILES = ("open", "os.", "shutil.", "sqlite3.")
_READS = frozenset({"open", "os.listdir", "os.scandir"})
_AT = {
    "os.rename": (0, 1),
    "os.link": (0, 1),
    "os.symlink": (1,),
    "shutil.move": (0, 1),
}
_FOLDERS = {
    **dict.fromkeys(("os.remove", "os.rmdir"), (1,)),
    **dict.fromkeys(("os.rename", "os.link"), (2, 3)),
    **dict.fromkeys(("os.mkdir", "os.symlink"), (2,)),
}
"""The positions of the directory descriptors to which preceding paths are relative."""
_NOTED = 20
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(slots=True, eq=False)
class Guard:
    """The forbidden attempts of one replay, and what it may do."""

    attempts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The guard and the audit event, with its first argument."""
    threads: WeakSet[threading.Thread] = field(
        default_factory=lambda: WeakSet([threading.current_thread()])
    )
    """The threads that run the program."""
    bystanders: WeakSet[threading.Thread] = field(
        default_factory=lambda: WeakSet(threading.enumerate())
    )
    """The threads that do not."""

    scratch: str = ""
    """A directory in which the program may write, behind layers that keep it there."""
    readable: tuple[str, ...] | None = None
    """The paths that those layers let it read, each with a ``/`` at its end; None without
    layers."""
    listed: tuple[str, ...] = ()
    """The folders of which they let it read names, with all below, and nothing else."""
    denied: list[str] = field(default_factory=list[str])
    """The paths that they denied, and that the program may have needed."""

    @contextmanager
    def lifted(self) -> Generator[None]:
        """Permit everything in this context, while an effect is performed again."""
        token = _LIFTED.set(True)
        try:
            yield
        finally:
            _LIFTED.reset(token)

    @property
    def is_here(self) -> bool:
        """Whether the current thread runs the program that it watches."""
        return _HOOK.guard() is self

    def permits(self, event: str, arguments: tuple[object, ...]) -> bool:
        """Tell whether *event* concerns the program's own directory alone."""
        if not self.scratch or not event.startswith(_FILES):
            return False
        places = list(_places(event, arguments))
        return bool(places) and all(
            f"{one}/".startswith(f"{self.scratch}/") for one in places
        )

    def note(self, event: str, arguments: tuple[object, ...]) -> None:
        """Remember a path that the layers deny, if *event* asks for one."""
        if self.readable is None or len(self.denied) >= _NOTED:
            return
        if event not in _READS:
            self.denied.append(f"{event} {arguments[:1]!r}"[:200])
            return
        for place in map(os.path.realpath, filter(None, _places(event, arguments))):
            lists = event != "open" or os.path.isdir(place)  # noqa: PTH112 - never raises
            places = self.readable + (self.listed if lists else ())
            if not f"{place}/".startswith(places) and os.path.lexists(place):
                self.denied.append(place)

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
        if not self.active:
            return
        lifted = _LIFTED.get()
        if event in STARTS and not lifted:
            self.follow(begun_by(arguments))
        name = _EVENTS.get(event)
        if name is None and event == "open" and _writes(arguments):
            name = "file writes"
        refused = name is not None and not _only_reads(event, arguments)
        if (refused or event in _READS) and (guard := self.guard()) is not None:
            if name is None or not refused or lifted:
                guard.note(event, arguments)
            elif not guard.permits(event, arguments) and not is_answered(
                event, arguments
            ):
                guard.refuse(name, event, arguments)

    def guard(self) -> Guard | None:
        """Return the guard of the program that the current thread runs."""
        thread, active = threading.current_thread(), self.active[::-1]
        own = [one for one in active if thread in one.threads]
        own += [one for one in active if thread not in one.bystanders]
        return own[0] if own else None

    def follow(self, started: threading.Thread | None) -> None:
        """Guard a thread like the one that starts it."""
        if started is not None:
            guard = self.guard()
            for one in self.active[::-1]:
                (one.threads if one is guard else one.bystanders).add(started)

    def begin(self, guard: Guard) -> None:
        """Guard from here on; modules that are imported write no bytecode."""
        with self.lock:
            if not self.installed:
                tell_starts()
                sys.addaudithook(self)
                self.installed = True
            if not self.active:
                self.bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
            self.active.append(guard)

    def end(self, guard: Guard) -> None:
        """Stop guarding."""
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


def _places(event: str, arguments: tuple[object, ...]) -> Generator[str]:
    """Yield the paths of the files that *event* is about, with links resolved."""
    folders = [arguments[at] for at in _FOLDERS.get(event, ()) if at < len(arguments)]
    for number, at in enumerate(_AT.get(event, (0,))):
        path = arguments[at] if at < len(arguments) else None
        if event == "sqlite3.connect":
            path = str(path).removeprefix("file:").partition("?")[0]
        if not isinstance(path, str | bytes):
            yield ""
            continue
        folder = folders[number] if number < len(folders) else -1
        base = (
            f"/proc/self/fd/{folder}" if isinstance(folder, int) and folder >= 0 else ""
        )
        above, name = os.path.split(os.path.join(base, os.fsdecode(path)))  # noqa: PTH118 - bytes too
        yield os.path.join(os.path.realpath(above), name)  # noqa: PTH118 - as above


@contextmanager
def guarded(guard: Guard | None = None) -> Generator[Guard]:
    """Guard this thread, and those that it starts, while the body runs."""
    guard = guard or Guard()
    ask_machine()
    _HOOK.begin(guard)
    try:
        yield guard
    finally:
        _HOOK.end(guard)
