"""Whether somebody reads from a terminal, as far as the system tells.

    mode = mode_of(2)          how the terminal was, before anybody used it
    is_read(2, mode)           it is another now, or a process below waits for a key

Rules: a terminal whose line editing or echo was turned off is read. On Linux a thread of
this process, or of one below it, is asked which system call it waits in; elsewhere, and
where that may not be looked at, only the mode tells.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["is_read", "mode_of"]

_READS = {"x86_64": "0", "aarch64": "63", "riscv64": "63"}
"""Machine → the number of the system call `read`."""
_ANY = "/dev/tty"


def mode_of(terminal: int) -> int | None:
    """Return the flags of *terminal* that readers change; None if nothing tells."""
    try:
        import termios
    except ImportError:
        return None
    try:
        flags: int = termios.tcgetattr(terminal)[3]
    except (OSError, ValueError, termios.error):
        return None
    return flags & (termios.ECHO | termios.ICANON)


def is_read(terminal: int, before: int | None) -> bool:
    """Tell whether somebody reads from *terminal*, whose mode was *before*."""
    if mode_of(terminal) != before:
        return True
    number = _READS.get(os.uname().machine) if sys.platform == "linux" else None
    if number is None:
        return False
    try:
        names = {os.ttyname(terminal), _ANY}
    except OSError:
        return False
    return any(_waits(task, number, names) for task in _tasks(os.getpid()))


def _tasks(pid: int) -> Iterator[Path]:
    """Yield the threads of the process *pid* and of those below it."""
    for task in Path(f"/proc/{pid}/task").glob("[0-9]*"):
        yield task
        with suppress(OSError):
            for child in (task / "children").read_text("utf-8").split():
                yield from _tasks(int(child))


def _waits(task: Path, number: str, names: set[str]) -> bool:
    """Tell whether the thread *task* waits for input from one of *names*."""
    try:
        call, descriptor, *_ = (task / "syscall").read_text("utf-8").split()
        return call == number and _file(task, int(descriptor, 16)) in names
    except (OSError, ValueError):
        return False  # it has ended, runs, or may not be looked at


def _file(task: Path, descriptor: int) -> str:
    return str((task / "fd" / str(descriptor)).readlink())
