"""How a run starts, continues and ends: one description for writers and readers.

    run.started  …  run.failed         failed, and can be resumed
                    run.resumed  …  run.completed
    run.started  …  run.paused         waits, and can be resumed
                    run.canceled       by anybody who may write; final

Rules:

- The last lifecycle event gives a run its status. After a start or a resumption the run
  is *open*: it is running, or was cut off.
- ``run.completed`` and ``run.canceled`` are final. After the others only a resumption
  or ``run.canceled`` may follow, and no other event of the run.
- ``run.completed`` and ``run.failed`` carry the root over the events of the run and its
  result, so that it can be judged. ``run.interrupted``, ``run.paused`` and
  ``run.canceled`` say only why it stopped.
- The owner of a run writes its events. ``run.canceled`` comes from outside, or from a
  program that nobody needs any more: it may follow any event of a run that has no final
  end, and ends the ownership.
- ``run.failed`` states its status itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

__all__ = [
    "BEGINNINGS",
    "CANCELED",
    "COMPLETED",
    "CONCLUDED",
    "ENDS",
    "FAILED",
    "FAILURES",
    "FINAL",
    "INTERRUPTED",
    "LIFE",
    "MARKED",
    "OPEN",
    "PAUSED",
    "RESUMED",
    "STARTED",
    "STATUSES",
    "UNFINISHED",
]

STARTED = "run.started"
RESUMED = "run.resumed"
INTERRUPTED = "run.interrupted"
PAUSED = "run.paused"
CANCELED = "run.canceled"
COMPLETED = "run.completed"
FAILED = "run.failed"

MARKED = "run.marked"
"""The type of a fact that marks a run; it is no part of the run's life."""

OPEN = "open"
"""The status of a run without an end."""

ENDS: Mapping[str, str] = MappingProxyType(
    {
        COMPLETED: "completed",
        FAILED: "failed",
        INTERRUPTED: "interrupted",
        PAUSED: "paused",
        CANCELED: "canceled",
    }
)
"""Type of an end → the status of a run that ends with it, unless it states another."""

BEGINNINGS: Sequence[str] = (STARTED, RESUMED)
"""After these a run is open, and has an owner."""

LIFE = frozenset({*BEGINNINGS, *ENDS})
"""The lifecycle events of a run; all others are facts and effects."""

CONCLUDED = frozenset({COMPLETED, FAILED})
"""Ends that state the result of the run, its root and its counts."""

FINAL = frozenset({COMPLETED, CANCELED})
"""Ends after which a run is not resumed."""

FAILURES: Sequence[str] = ("failed", "refused", "diverged")
"""The statuses that a ``run.failed`` may state."""

UNFINISHED = frozenset({OPEN, ENDS[INTERRUPTED], ENDS[PAUSED]})
"""The statuses of runs that have no result yet."""

STATUSES: Sequence[str] = (
    *(OPEN, ENDS[PAUSED], ENDS[INTERRUPTED], ENDS[COMPLETED]),
    *(*FAILURES, ENDS[CANCELED]),
)
"""Every status of a run."""
