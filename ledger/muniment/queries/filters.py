"""Audit queries: filters on events, their order, and times.

Rules:

- Every filter narrows; globs (``llm.*``) work on types. The indexes are on type, run,
  subject and series; time is found by binary search, since it never runs backwards.
- Results are read in pages by position: no transaction stays open while a program uses
  them, and an append in between is seen whole or not at all.
- Times are RFC 3339 in UTC, or an age (``90s``, ``2h``, ``3d``), ``today``,
  ``yesterday``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast

from sqlalchemy import ColumnElement, and_, exists, or_
from sqlmodel import col, select

from muniment.encoding.canonical import canonical
from muniment.errors import UsageError
from muniment.events.readable import readable
from muniment.formats.series import series_digest
from muniment.formats.statement import Event, timestamp
from muniment.queries.rows import EventRow, SubjectRow
from muniment.storage.blobs import ref_of
from muniment.storage.connections import Database
from muniment.storage.lookup import is_of_series

__all__ = ["EventFilter", "moment", "read_events"]

PAGE = 500

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_COLUMNS = (
    col(EventRow.payload),
    col(EventRow.signature),
    col(EventRow.key),
    col(EventRow.hash),
)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The filters of `Ledger.events`; every member narrows."""

    type: str | None = None
    run: str | None = None
    since: str | datetime | None = None
    until: str | datetime | None = None
    subject: str | None = None
    series: str | None = None
    actor: str | None = None
    tenant: str | None = None
    grep: str | None = None
    from_seq: int = 0
    to_seq: int | None = None
    limit: int | None = None
    order: Literal["asc", "desc"] = "asc"


def moment(text: str | datetime, now: datetime | None = None) -> datetime:
    """Return the time that *text* names, aware.

    Raises:
        UsageError: it names none.

    """
    if isinstance(text, datetime):
        return text if text.tzinfo else text.replace(tzinfo=UTC)
    now = now or datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"now": now, "today": midnight, "yesterday": midnight - timedelta(days=1)}
    if text in named:
        return named[text]
    age = re.fullmatch(r"([0-9]+)([smhdw])", text)
    try:
        if age:
            return now - timedelta(**{_UNITS[age[2]]: int(age[1])})
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a time",
            rule="query/time",
            remedy="write 2026-11-20T07:00:00Z, 2026-11-20, 2h, 3d or yesterday",
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def read_events(database: Database, wanted: EventFilter) -> Iterator[Event]:
    """Yield the events that match *wanted*."""
    if wanted.order not in ("asc", "desc"):
        raise UsageError("order is asc or desc", rule="query/order")
    if wanted.limit is not None and wanted.limit < 0:
        raise UsageError("a limit is not negative", rule="query/limit")
    low, high = _bounds(database, wanted)
    descending = wanted.order == "desc"
    left = wanted.limit
    keep = _python_filter(wanted)
    while low < high and (left is None or left > 0):
        page = _page(database, wanted, low, high)
        for _, event in page:
            if keep(event):
                yield event
                if left is not None:
                    left -= 1
                    if left == 0:
                        return
        if len(page) < PAGE:
            return
        if descending:
            high = page[-1][0]
        else:
            low = page[-1][0] + 1


def _page(
    database: Database, wanted: EventFilter, low: int, high: int
) -> list[tuple[int, Event]]:
    """Return positions and events; a position is never taken from what a row claims."""
    seq = col(EventRow.seq)
    query = (
        select(*_COLUMNS)
        .add_columns(seq, col(EventRow.type), col(EventRow.run))
        .where(seq >= low, seq < high, *_conditions(wanted))
        .order_by(seq.desc() if wanted.order == "desc" else seq)
        .limit(PAGE)
    )
    with database.querying() as connection:
        rows = connection.execute(query).all()
        return [(row[4], readable(tuple(row[4:7]), *row[:4])) for row in rows]


def _conditions(wanted: EventFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.type is not None:
        yield or_(*(_type_is(one.strip()) for one in wanted.type.split(",")))
    if wanted.run is not None:
        yield col(EventRow.run) == wanted.run
    if wanted.subject is not None:
        yield exists().where(
            col(SubjectRow.seq) == col(EventRow.seq),
            col(SubjectRow.digest) == ref_of(wanted.subject),
        )
    if wanted.series is not None:
        yield exists().where(
            col(SubjectRow.seq) == col(EventRow.seq),
            col(SubjectRow.digest) == series_digest(wanted.series),
        )


def _type_is(wanted: str) -> ColumnElement[bool]:
    column = col(EventRow.type)
    stem, star, rest = wanted.partition("*")
    if not star:
        return column == wanted
    if rest or not stem:
        return column.op("GLOB", is_comparison=True)(wanted)
    # A range uses the index on the type; GLOB on a bound value does not.
    return and_(column >= stem, column < stem[:-1] + chr(ord(stem[-1]) + 1))


def _python_filter(wanted: EventFilter) -> Callable[[Event], bool]:
    # As the payload writes it: with the escapes of canonical JSON, and no others.
    grep = None if wanted.grep is None else canonical(wanted.grep)[1:-1]

    def keep(event: Event) -> bool:
        return (
            (wanted.actor is None or event.actor == wanted.actor)
            and (wanted.tenant is None or event.tenant == wanted.tenant)
            and (grep is None or grep in event.payload)
            and (wanted.series is None or is_of_series(event, wanted.series))
        )

    return keep


def _bounds(database: Database, wanted: EventFilter) -> tuple[int, int]:
    with database.reading() as driver:
        (newest,) = driver.execute("SELECT max(seq) FROM event").fetchone()
    size = 0 if newest is None else cast("int", newest) + 1
    low = max(0, wanted.from_seq)
    high = size if wanted.to_seq is None else min(size, wanted.to_seq)
    if wanted.since is not None:
        low = max(low, _first_at(database, moment(wanted.since), size))
    if wanted.until is not None:
        high = min(high, _first_at(database, moment(wanted.until), size))
    return low, high


def _first_at(database: Database, wanted: datetime, size: int) -> int:
    """Return the first position whose time is not before *wanted*, by binary search."""
    target, low, high = timestamp(wanted), 0, size
    with database.reading() as driver:
        while low < high:
            middle = (low + high) // 2
            row = driver.execute(
                "SELECT seq, type, run, payload, signature, key, hash FROM event "
                "WHERE seq = ?",
                (middle,),
            ).fetchone()
            if readable(row[:3], *row[3:]).time < target:
                low = middle + 1
            else:
                high = middle
    return low
