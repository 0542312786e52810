"""Ending a typed command, all that it started, and the process that waits for it.

    with ended_by_signals():      SIGTERM and SIGHUP interrupt the body, as Ctrl-C does
    adopt(parent)                 processes that this one starts stay below it
    end_descendants()             asked to end, then killed

Rules:

- The process that starts a command ends it: processes that the command started and left
  behind are reparented to this process, which ends with its parent. That is so on
  Linux; elsewhere only the command itself is ended.
- Processes are asked to end first. A second signal ends the wait.
- A signal that asks to end raises `Terminated`, once: a terminal that closes says it
  twice, and the second would fall into what the first one has to write. One that is
  ignored (`nohup`) stays so. Forked children end as if nobody listened.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from muniment.errors import RunEnded

__all__ = ["Terminated", "adopt", "end_command", "end_descendants", "ended_by_signals"]

_PATIENCE = 2.0
"""Seconds that processes left by a command have to end by themselves."""
_TOLD, _ENDS = 0.5, 15.0
"""Seconds to wait for a process that was told to end: by somebody else, and by us."""
_ASKING = 3
_Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_ENDING = [
    getattr(signal, one) for one in ("SIGTERM", "SIGHUP") if hasattr(signal, one)
]


class Terminated(RunEnded, KeyboardInterrupt):
    """A signal asked this process to end; *code* is what a shell says."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"interrupted by {name}", f"Killed by {name}")
        self.code = 128 + number


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Let signals that ask this process to end interrupt the body.

    Raises:
        Terminated: in the body; it is a `KeyboardInterrupt`, which event loops let pass.

    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told = set[int]()

    def end(number: int, _: FrameType | None) -> None:
        if number not in told:
            told.add(number)
            raise Terminated(number)

    heeded = [one for one in _ENDING if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, end) for one in heeded}
    heard_here = _Forks(before)
    try:
        yield
    finally:
        heard_here.active = False
        for one, handler in before.items():
            signal.signal(one, handler)


class _Forks:
    """Gives forked children back the handlers *before*.

    A child that is told to end in its first moment would lose that: Python forgets the
    signals that came before a child is set up. So they wait until it is.
    """

    def __init__(self, before: Mapping[signal.Signals, _Handler]) -> None:
        self.active = True
        self._before = before
        self._forking = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._wait,
                after_in_parent=self._go_on,
                after_in_child=self._leave,
            )

    def _wait(self) -> None:
        if self.active:
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._before)
            self._forking.mask = mask

    def _go_on(self) -> None:
        mask = self._forking.__dict__.pop("mask", None)
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _leave(self) -> None:
        if self.active and threading.current_thread() is threading.main_thread():
            for one, handler in self._before.items():
                signal.signal(one, handler)
        self.active = False
        self._go_on()


def adopt(parent: int) -> None:
    """Keep processes that this one starts below it, and end when *parent* does."""

    def interrupt(_: int, __: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    for one in _ENDING:
        signal.signal(one, interrupt)
    if sys.platform != "linux":
        return
    from muniment_plugins.capsule.isolation.native import System, architecture

    if architecture():
        with suppress(OSError):
            System().call("prctl", _SET_CHILD_SUBREAPER, 1)
            System().call("prctl", _SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before that
        os._exit(0)


def end_command(process: subprocess.Popen[bytes], *, cut_off: bool) -> None:
    """Let *process*, which calls `adopt`, end what it started, and wait for it.

    It may have been told already: Ctrl-C goes to the whole foreground process group.
    """
    patience = _TOLD if cut_off else _ENDS
    for _ in range(_ASKING):
        try:
            process.wait(patience)
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            process.terminate()
            patience = _ENDS
        else:
            return


def end_descendants() -> None:
    """End the processes that this one started, and those that they started."""
    asked: set[int] = set()
    latest = time.monotonic() + _PATIENCE
    try:
        while (left := _descendants()) and time.monotonic() < latest:
            _signal(left - asked, signal.SIGTERM)
            asked |= left
            time.sleep(0.05)
    except KeyboardInterrupt:
        pass  # a second signal ends the wait
    for one in _ENDING:
        signal.signal(one, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while left := _descendants():
        _signal(left, signal.SIGKILL)
        time.sleep(0.01)


def _signal(processes: set[int], number: int) -> None:
    for one in processes:
        with suppress(OSError):
            os.kill(one, number)


def _descendants() -> set[int]:
    """Return the processes below this one that have not ended."""
    below: dict[int, list[int]] = {}
    ended: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            text = (folder / "stat").read_text("utf-8", "replace")
            state, parent, *_ = text.rpartition(")")[2].split()
            below.setdefault(int(parent), []).append(int(folder.name))
            if state in "ZX":
                ended.add(int(folder.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        children = below.get(waiting.pop(), [])
        found.update(children)
        waiting += children
    return found - ended
