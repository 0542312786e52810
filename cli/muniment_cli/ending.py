"""The end of a command that was typed, of all that it started, and of who waits for it.

    with ended_by_signals():      SIGTERM and SIGHUP end what is in it, as Ctrl-C does
    adopt(parent)                 what this process starts stays below it
    end_descendants()             asked to end, then ended

Rules:

- Whoever starts a command ends it: what it started in turn, and left, comes to this
  process, which ends with its parent. That is so on Linux; elsewhere only the command
  itself is ended.
- It is asked first. Who asks again is not kept waiting.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

__all__ = ["adopt", "end_command", "end_descendants", "ended_by_signals"]

_PATIENCE = 2.0
"""Seconds that what a command left has, to end by itself."""
_TOLD, _ENDS = 0.5, 15.0
"""Seconds to wait for a process that was told to end: by somebody, and by us."""
_ASKING = 3
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_ENDING = [
    getattr(signal, one) for one in ("SIGTERM", "SIGHUP") if hasattr(signal, one)
]


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Let signals that end this process end the body first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {one: signal.signal(one, end) for one in _ENDING}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def adopt(parent: int) -> None:
    """Keep what this process starts below it, and end when *parent* does."""

    def interrupt(_: int, __: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    for one in _ENDING:
        signal.signal(one, interrupt)
    if sys.platform != "linux":
        return
    from muniment_plugins.capsule.native import System, architecture

    if architecture():
        with suppress(OSError):
            System().call("prctl", _SET_CHILD_SUBREAPER, 1)
            System().call("prctl", _SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before that
        os._exit(0)


def end_command(process: subprocess.Popen[bytes], *, cut_off: bool) -> None:
    """Let *process*, which calls `adopt`, end what it started, and wait for it.

    It may have been told already: Ctrl-C goes to all that are in front of a terminal.
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
    """End what this process started, and what that started in turn."""
    asked: set[int] = set()
    latest = time.monotonic() + _PATIENCE
    try:
        while (left := _descendants()) and time.monotonic() < latest:
            _signal(left - asked, signal.SIGTERM)
            asked |= left
            time.sleep(0.05)
    except KeyboardInterrupt:
        pass  # who asks again is not kept waiting
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
