"""Waiting that outlives the process: a timer is an effect whose performer waits.

    timer.requested   request: {"seconds": 3600}
    timer.completed   value: null

Rules:

- A resume waits for what is left since the time of the first request, and never longer
  than was asked for, whatever the clock says now. A replay does not wait.
- A suspended process still waits; its timer then ends late, never early.
- A run that stops meanwhile, as by a pause in another thread, does not wait for its timers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muniment.errors import UsageError
from muniment.formats.statement import when
from muniment.recorded.items import Item

if TYPE_CHECKING:
    from muniment.runs.effect_call import Call

__all__ = ["Timer", "left", "timer", "timer_fault", "wait"]

_SLICE = 0.25
"""How long it sleeps at once, in seconds; then it looks whether the run stopped."""


_MOST = 2**53
"""The most seconds: up to there each number is recorded as it is."""


@dataclass(frozen=True, slots=True)
class Timer:
    """Waiting, as a run asks for it."""

    seconds: float

    def request(self) -> dict[str, float]:
        """Return the request in the record."""
        return timer(self.seconds)

    def perform(self, call: Call, *, awaits: bool) -> object:
        """Wait for what is left; let other tasks run if the caller *awaits*."""
        rest, check = left(self.seconds, call.recorded), call.recording.require_going
        if awaits:
            return _awaited(rest, check)
        wait(rest, check)
        return None


async def _awaited(seconds: float, check: Callable[[], None]) -> None:
    import asyncio  # noqa: PLC0415 - sync code needs none

    over = asyncio.ensure_future(asyncio.sleep(seconds))
    try:
        while not over.done():
            check()
            await asyncio.wait({over}, timeout=_SLICE)
        await over
    finally:
        over.cancel()


def timer(seconds: object) -> dict[str, float]:
    """Return the request of a timer.

    Raises:
        UsageError: nobody can wait for so long.

    """
    known = None if isinstance(seconds, bool) else seconds
    if isinstance(known, int | float) and 0 <= known <= _MOST:
        return {"seconds": known}
    raise UsageError(
        f"a run cannot sleep for {_said(seconds)} seconds",
        rule="timer/seconds",
        remedy="give a number that is not negative, at most 2**53",
    )


def timer_fault(_: object, value: object) -> str | None:
    """Say what is wrong with *value* as the outcome of a timer."""
    return None if value is None else "a timer answers null"


def _said(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except ValueError:  # an int of more digits than Python prints
        return "so many"


def left(seconds: float, recorded: Item | None) -> float:
    """Return how much is left of the timer that *recorded* requested first."""
    if recorded is None:
        return seconds
    passed = (datetime.now(UTC) - when(recorded.event.time)).total_seconds()
    return min(seconds, max(0.0, seconds - passed))


def wait(seconds: float, check: Callable[[], None]) -> None:
    """Let this thread sleep, unless *check* raises meanwhile."""
    end = time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        check()
        time.sleep(min(rest, _SLICE))
