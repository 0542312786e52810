"""Where new artifacts get their ids and their times from.

    artifact({…})                                   outside a run: uuid4, the clock
    artifact({…}, stamps=Stamps(new_id, clock))     as the caller says

Rules:

- Inside a run both come from the run, so a replay makes the same artifacts: the id from
  the run's seed, the time from its record. Where an executor calls a handler elsewhere the
  time is the clock's: it is no part of what is recorded of what a handler returns.
- Nothing is drawn for an artifact that brings its id and its time.
- A time is RFC 3339 in UTC with six decimals, everywhere. Others are converted; digits
  beyond a microsecond are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from muniment import current_run
from muniment.documents.places import At
from muniment.errors import UsageError
from muniment.formats.statement import timestamp, when
from muniment.runs.lanes.elsewhere import LaneElsewhere

__all__ = ["Stamps", "in_utc", "microseconds", "stamps_here"]

_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Stamps:
    """What makes the ids of artifacts, and tells the time."""

    new_id: Callable[[], str]
    now: Callable[[], datetime]
    """Returns an aware time."""


def stamps_here() -> Stamps:
    """Return the stamps of the run that the calling code is in, or those of the machine."""
    try:
        run = current_run()
    except UsageError as error:
        if error.rule != "run/none":
            raise
        return Stamps(lambda: f"artifact_{uuid4().hex}", lambda: datetime.now(UTC))
    now = (lambda: datetime.now(UTC)) if isinstance(run, LaneElsewhere) else run.now
    return Stamps(lambda: f"artifact_{run.uuid().hex}", now)


def in_utc(text: str, at: At) -> str:
    """Return the time *text* as RFC 3339 in UTC.

    Raises:
        UsageError: it is no time, or does not say in which offset.

    """
    try:
        if _RFC_3339.fullmatch(text):
            return timestamp(when(text.upper()))
    except (ValueError, OverflowError):  # the 30th of February, the year 0
        pass
    raise at.wrong(
        f"{text!r:.60} is no time of RFC 3339",
        "time",
        "write it like 2026-01-31T12:00:00Z",
    )


def microseconds(created_at: str) -> int:
    """Return the time *created_at* of an artifact as microseconds since 1970."""
    there = At("artifact", "workflow", "created_at")
    return (when(in_utc(created_at, there)) - _EPOCH) // _MICROSECOND
