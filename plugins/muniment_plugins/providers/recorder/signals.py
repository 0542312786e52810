"""Passing on signals to a program, except those that it got itself.

    kill -INT RECORDER          the program did not get it: it is passed on
    kill -INT -GROUP, Ctrl-C    the program got it, too: it gets it once

Rules:

- The program decides what a signal means. The recorder stays until it has ended.
- Nothing tells a process whether a signal was sent to it alone. A bystander in the same
  group does: what went to the group waits there.
- A program that left the group gets every signal from here.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from types import FrameType

__all__ = ["forwarding"]

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_PATIENCE = 10.0
"""Seconds after which a bystander is taken for one that is gone."""


@contextmanager
def forwarding(process: Process) -> Generator[None]:
    """Let the program *process* decide about signals while it runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = {getattr(signal, name) for name in _NAMES if hasattr(signal, name)}
    with _bystander(numbers) as bystander:

        def forward(number: int, _: FrameType | None) -> None:
            if not hasattr(os, "getpgid"):
                return  # Windows tells all of a console
            if _in_our_group(process.pid) and bystander.got(number):
                return
            with suppress(ProcessLookupError):
                process.send_signal(number)

        before = {number: signal.signal(number, forward) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Bystander:
    """Another process of this group; none where there are no groups."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process
        self._seen: set[int] = set()

    def got(self, number: int) -> bool:
        """Tell whether the signal *number* went to the whole group."""
        if number not in self._seen:
            self._seen |= self._asked()
        got = number in self._seen
        self._seen.discard(number)
        return got

    def _asked(self) -> set[int]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return set()
        try:
            os.write(process.stdin.fileno(), b"?")
            ready, _, _ = select.select([process.stdout], [], [], _PATIENCE)
            said = os.read(process.stdout.fileno(), 100) if ready else b""
        except OSError:
            return set()  # it is gone; what comes here is passed on
        return set(map(int, said.split()))


@contextmanager
def _bystander(numbers: set[signal.Signals]) -> Generator[_Bystander]:
    """Start a bystander, which from its first moment keeps *numbers* waiting."""
    if not hasattr(signal, "pthread_sigmask"):
        yield _Bystander(None)
        return
    script = Path(__file__).with_name("bystander.py")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
        )
    except OSError:
        process = None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield _Bystander(process)
    finally:
        if process is not None:
            process.kill()
            process.communicate()


def _in_our_group(pid: int) -> bool:
    try:
        return os.getpgid(pid) == os.getpgrp()
    except ProcessLookupError:
        return True  # it has ended
