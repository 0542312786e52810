"""The keeper of one command: a process of its own, below which all stays that it starts.

    python -I -S keeper.py CONTROL STATUS -- PROGRAM ARGUMENT …

    STATUS:  E2     the program could not be started: the number of the error
             X0     it ended, and so did all that it left behind

Rules:

- It is run by its path, with the standard library alone, and imports as little as it can:
  every command waits for it.
- When the command ends, and when CONTROL is closed (by whoever waits, or since he died),
  everything below is killed: on Linux also what left the session (``setsid``, a double
  fork), since the keeper adopts it. Elsewhere it is the command's session that is killed.
- A process that is about to be killed is stopped first, so that it starts no others.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["keep"]

_SET_CHILD_SUBREAPER = 36
_PATIENCE = 5.0
"""Seconds for the end of what was killed: what hangs in the kernel ends for nobody."""
_NOT_STARTED = 127


def keep(control: int, status: int, words: list[str]) -> None:
    """Run the command *words*, and state its end when nothing of it is left."""
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    _adopt_orphans()
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _woken)
    child, error = _started(words)
    if error:
        os.write(status, b"E%d" % error)
        return
    ended = _awaited(child, control, woken)
    _end_all(child)
    if ended is not None:
        os.write(status, b"X%d" % ended)


def _woken(number: int, frame: object) -> None:
    """Do nothing: the signal has written to the pipe that is waited for."""


def _adopt_orphans() -> None:
    """Become the parent of whatever loses its own below this process."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - where it is of use

    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _started(words: list[str]) -> tuple[int, int]:
    """Return the process of the command, and the number of an error, or 0."""
    said, saying = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            for one in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
                signal.signal(one, signal.SIG_DFL)
            os.execvp(words[0], words)  # noqa: S606 - the graph names the command
        except OSError as error:
            os.write(saying, b"%d" % (error.errno or 1))
        finally:
            os._exit(_NOT_STARTED)
    os.close(saying)
    problem = os.read(said, 16)
    os.close(said)
    return child, int(problem or b"0")


def _awaited(child: int, control: int, woken: int) -> int | None:
    """Return the status with which *child* ends; None if *control* is closed before."""
    while True:
        for one, status in _reaped():
            if one == child:
                return os.waitstatus_to_exitcode(status)
        ready, _, _ = select.select([control, woken], [], [])
        if control in ready:
            return None
        os.read(woken, 4096)


def _reaped() -> list[tuple[int, int]]:
    """Return what has ended below this process, and whose parent it is."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            one, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if not one:
            return found
        found.append((one, status))


def _end_all(child: int) -> None:
    """Kill the session of *child*, and on Linux everything below this process."""
    _signal([-child], signal.SIGKILL)
    latest = time.monotonic() + _PATIENCE
    while time.monotonic() < latest:
        _reaped()
        stopped: set[int] = set()
        while left := _below() - stopped:  # what a fork was quick enough to make
            _signal(left, signal.SIGSTOP)
            stopped |= left
        if not stopped:
            return
        _signal(stopped, signal.SIGKILL)
        time.sleep(0.001)


def _below() -> set[int]:
    """Return the processes below this one that have not ended."""
    children: dict[int, list[int]] = {}
    ended: set[int] = set()
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib is slow to import
    except OSError:
        return set()
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                state, parent, *_ = file.read().rpartition(b")")[2].split()
        except (OSError, ValueError):
            continue
        children.setdefault(int(parent), []).append(int(name))
        if state in (b"Z", b"X"):
            ended.add(int(name))
    found, waiting = set[int](), [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found - ended


def _signal(processes: Iterable[int], number: int) -> None:
    for one in processes:
        try:  # `contextlib` would have to be imported
            os.kill(one, number)
        except OSError:
            continue


if __name__ == "__main__":
    keep(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:])
