"""Which runs pass filters, and their summaries, one after the other.

Rules:

- A run is listed once, at its first ``run.started``, in the order of these events. A
  run without a start in the log is not listed.
- Only runs that pass are folded, and no more than are used. Statuses are taken from the
  events that end or resume runs, which are read backwards, once.
- Readers continue whatever a writer signed: if the first event of a run is not its
  start, its summary decides about the status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice

from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import FINAL, LIFE, OPEN, STARTED, STATUSES
from muniment.formats.statement import Event
from muniment.queries.filters import (
    EventFilters,
    RunFilters,
    Selection,
    refuse_unknown,
)
from muniment.queries.run_summary import RunSummary, status_after
from muniment.storage.connections import Database
from muniment.storage.lookup import events_in, first_of_run

__all__ = ["select_runs"]

_LATER = LIFE - {STARTED}


def select_runs(
    database: Database, filters: RunFilters, summary: Callable[[str], RunSummary]
) -> Iterator[RunSummary]:
    """Yield the summaries of the runs that pass *filters*, in the order of their starts.

    Raises:
        UsageError: a filter is unknown, or means nothing.

    """
    refuse_unknown(filters, RunFilters.__annotations__, "filter")
    status = filters.get("status")
    statuses = None if status is None else {one.strip() for one in status.split(",")}
    refuse_unknown(sorted(statuses or ()), STATUSES, "status")
    starts = Selection.of(database, _of_starts(filters))
    asked = _of_events(filters)
    about = Selection.of(database, asked) if asked else None
    begun = _begun(replace(starts, limit=None), filters)

    def found() -> Iterator[RunSummary]:
        later = None if statuses is None else _Statuses(database)
        for event, is_first in begun:
            run = str(event.run)
            if later and is_first and later.of(event) not in (statuses or ()):
                continue
            if about and next(iter(replace(about, run=run)), None) is None:
                continue
            record = summary(run)
            if statuses is None or record.status in statuses:
                yield record

    return islice(found(), starts.limit)


def _of_starts(filters: RunFilters) -> EventFilters:
    """Return what the event that starts a run has to pass."""
    return {
        "type": STARTED,
        "run": filters.get("run"),
        "since": filters.get("since"),
        "until": filters.get("until"),
        "actor": filters.get("actor"),
        "tenant": filters.get("tenant"),
        "from_seq": filters.get("from_seq", 0),
        "to_seq": filters.get("to_seq"),
        "limit": filters.get("limit"),
        "order": filters.get("order", "asc"),
    }


def _of_events(filters: RunFilters) -> EventFilters | None:
    """Return what one event of a run has to pass; None if nothing is asked of it."""
    asked: EventFilters = {
        "type": filters.get("type"),
        "subject": filters.get("subject"),
        "series": filters.get("series"),
        "grep": filters.get("grep"),
    }
    some = any(one is not None for one in asked.values())
    return {**asked, "limit": 1} if some else None


def _begun(starts: Selection, filters: RunFilters) -> Iterator[tuple[Event, bool]]:
    """Yield the start of each run that says what is asked, and if it is its first event."""
    for event in starts:
        if event.run is None or not _says(event, filters):
            continue
        first = first_of_run(starts.database, event.run)
        if (
            first != event.seq
            and first_of_run(starts.database, event.run, STARTED) != event.seq
        ):
            continue  # it is listed at its first start
        yield event, first == event.seq


def _says(started: Event, filters: RunFilters) -> bool:
    name, program = filters.get("name"), filters.get("program")
    labels = filters.get("labels")
    told = started.raw
    described = _members(told.get("program"))
    programs = (described.get("name"), described.get("import"))
    return (
        (name is None or _fits(told.get("name"), name))
        and (program is None or any(_fits(one, program) for one in programs))
        and not (labels and labels.items() - _members(told.get("labels")).items())
    )


def _members(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _fits(value: JsonValue, glob: str) -> bool:
    return isinstance(value, str) and fnmatchcase(value, glob)


class _Statuses:
    """The statuses of runs: of a few new ones, a few of the newest events are read."""

    def __init__(self, database: Database) -> None:
        self._left = events_in(database, types=_LATER, order="desc")
        self._next = next(self._left, None)
        self._found: dict[str, str] = {}

    def of(self, started: Event) -> str:
        """Return the status of the run whose first event is *started*."""
        while self._next is not None and self._next.seq > started.seq:
            run = self._next.run
            if run is not None and (run not in self._found or self._next.type in FINAL):
                self._found[run] = status_after(self._next)
            self._next = next(self._left, None)
        return self._found.get(str(started.run), OPEN)
