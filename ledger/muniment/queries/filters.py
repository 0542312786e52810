"""What can be asked for: the filters of events and of runs, in one grammar.

    ledger.events(type="llm.*", since="2h", order="desc", limit=20)
    ledger.runs(status="failed,open", name="nightly-*", type="llm.*")

Rules:

- Every filter narrows; None is no filter. An unknown one is refused, with the nearest.
- In globs ``*``, ``?`` and ``[…]`` are as in file names, and case counts. Types and
  statuses may be several, separated by commas.
- Times are RFC 3339 in UTC, or an age (``90s``, ``2h``, ``3d``), ``today``,
  ``yesterday``. They are found by binary search, since time never runs backwards.
- Runs, subjects, globs and times are resolved when the question is asked; what passes is
  read in pages by position (`muniment.storage.lookup`), as far as it is used.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from itertools import islice
from sys import maxsize
from typing import Literal, Self, TypedDict

from muniment.encoding.canonical import canonical
from muniment.errors import UsageError
from muniment.formats.statement import Event, timestamp
from muniment.storage.connections import Database
from muniment.storage.lookup import (
    digest,
    events_in,
    head_of,
    run_id,
    time_from,
    types_of,
)

__all__ = ["EventFilters", "RunFilters", "Selection", "moment", "refuse_unknown"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WILD = frozenset("*?[")


class EventFilters(TypedDict, total=False):
    """The filters of `Ledger.events`: an event passes if it passes each."""

    type: str | None
    """Names or globs, separated by commas: ``note.added,llm.*``."""
    run: str | None
    """Of this run; a unique prefix of its id is enough."""
    since: str | datetime | None
    """Not before this time: ``2026-11-20T07:00:00Z``, ``2026-11-20``, ``2h``, ``3d``."""
    until: str | datetime | None
    """Before this time."""
    subject: str | None
    """About this blob or file: ``sha256:…``, of which a unique prefix is enough."""
    series: str | None
    """In the series with this key."""
    actor: str | None
    """By this actor, as claimed."""
    tenant: str | None
    """Of this tenant."""
    grep: str | None
    """With this text in the signed payload."""
    from_seq: int
    """From this position on."""
    to_seq: int | None
    """Before this position."""
    limit: int | None
    """At most so many."""
    order: Literal["asc", "desc"]
    """The oldest first (``asc``), unless it is ``desc``."""


class RunFilters(EventFilters, total=False):
    """The filters of `Ledger.runs`: those of `EventFilters`, and these.

    The event that started a run decides about ``since``, ``until``, ``actor``,
    ``tenant``, ``from_seq``, ``to_seq`` and the order. For ``type``, ``subject``,
    ``series`` and ``grep``, one event of the run has to pass all four.
    """

    status: str | None
    """One or several, separated by commas: ``failed,open``."""
    name: str | None
    """A glob for its name: ``nightly-*``."""
    program: str | None
    """A glob for the name or the import path of its program."""
    labels: Mapping[str, str] | None
    """It has all these labels, with these values."""


def refuse_unknown(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse what is not *known*, and name the nearest that is.

    Raises:
        UsageError: one of *given* is not known.

    """
    listed = list(known)
    for name in given:
        if name not in listed:
            near = difflib.get_close_matches(name, listed, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"there is no {what} {name!r}",
                rule=f"query/{what}",
                remedy=f"{hint}there are {', '.join(sorted(listed))}",
            )


@dataclass(frozen=True, slots=True)
class Selection:
    """Filters as they are in one ledger: whole ids, types by their names, positions."""

    database: Database
    types: frozenset[str] | None
    run: str | None
    subject: str | None
    series: str | None
    start: int
    end: int | None
    order: Literal["asc", "desc"]
    limit: int | None
    keep: Callable[[Event], bool] | None

    @classmethod
    def of(cls, database: Database, filters: EventFilters) -> Self:
        """Resolve *filters*.

        Raises:
            UsageError: one of them means nothing, or nothing in this ledger.

        """
        refuse_unknown(filters, EventFilters.__annotations__, "filter")
        order = filters.get("order", "asc")
        if order not in ("asc", "desc"):
            raise UsageError("order is asc or desc", rule="query/order")
        limit = filters.get("limit")
        if limit is not None and limit < 0:
            raise UsageError("a limit is not negative", rule="query/limit")
        types, run = filters.get("type"), filters.get("run")
        subject = filters.get("subject")
        start, end = _positions(database, filters)
        return cls(
            database,
            None if types is None else _types(database, types),
            None if run is None else run_id(database, run),
            None if subject is None else digest(database, subject),
            filters.get("series"),
            start,
            end,
            order,
            None if limit is None else min(limit, maxsize),
            _keep(filters),
        )

    def __iter__(self) -> Iterator[Event]:
        """Read the events that pass, none that is appended meanwhile."""
        if self.types is not None and not self.types:
            return iter(())
        found = events_in(
            self.database,
            run=self.run,
            types=self.types or (),
            subject=self.subject,
            series=self.series,
            start=self.start,
            end=self.end,
            order=self.order,
            most=None if self.keep else self.limit,
        )
        return islice(filter(self.keep, found), self.limit) if self.keep else found


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


def _types(database: Database, wanted: str) -> frozenset[str] | None:
    """Return the types that *wanted* names, globs as the log has them; None for all."""
    names = {one.strip() for one in wanted.split(",")}
    if "*" in names:
        return None
    globs = {one for one in names if _WILD & {*one}}
    known = types_of(database) if globs else ()
    found = (one for one in known if any(fnmatchcase(one, glob) for glob in globs))
    return frozenset(names - globs).union(found)


def _positions(database: Database, filters: EventFilters) -> tuple[int, int | None]:
    start, end = filters.get("from_seq", 0), filters.get("to_seq")
    since, until = filters.get("since"), filters.get("until")
    if since is not None:
        start = max(start, _first_at(database, moment(since)))
    if until is not None:
        before = _first_at(database, moment(until))
        end = before if end is None else min(end, before)
    return start, end


def _first_at(database: Database, wanted: datetime) -> int:
    """Return the first position whose time is not before *wanted*, by binary search."""
    target, low, high = timestamp(wanted), 0, head_of(database).size
    while low < high:
        middle = (low + high) // 2
        if time_from(database, middle) < target:
            low = middle + 1
        else:
            high = middle
    return low


def _keep(filters: EventFilters) -> Callable[[Event], bool] | None:
    """Return the filter for what no column holds, or None."""
    actor, tenant = filters.get("actor"), filters.get("tenant")
    text = filters.get("grep")
    if actor is None and tenant is None and text is None:
        return None
    # As the payload writes it: with the escapes of canonical JSON, and no others.
    written = b"" if text is None else canonical(text)[1:-1]

    def keep(event: Event) -> bool:
        return (
            (actor is None or event.actor == actor)
            and (tenant is None or event.tenant == tenant)
            and written in event.payload
        )

    return keep
