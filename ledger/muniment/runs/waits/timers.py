"""Waiting that outlives the process: a timer is an effect whose performer waits.

    timer.requested   request: {"seconds": 3600}
    timer.completed   value: null

Rules:

- A resume waits for what is left since the time of the first request, and never longer
  than was asked for, whatever the clock says now. A replay does not wait.
- A suspended process still waits; its timer then ends late, never early.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from muniment.errors import UsageError
from muniment.formats.statement import when
from muniment.recorded.items import Item

__all__ = ["left", "timer", "wait"]

_SLICE = 3600.0
"""How long a thread sleeps at once; the system does not accept every number."""


_MOST = 2**53
"""The most seconds: up to there each number is recorded as it is."""


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


def wait(seconds: float) -> None:
    """Let this thread sleep."""
    end = time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        time.sleep(min(rest, _SLICE))
