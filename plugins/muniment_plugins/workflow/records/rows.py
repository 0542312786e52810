"""The rows that a fold keeps, and where in a run they are from.

    {"seq": 12, "at": "2026-11-26T15:47:30.3Z", "scope": "f.1/a/a.1", "ordinal": 3, …}

Rules:

- A row is JSON, since states of folds are remembered as JSON.
- What is private in an event says so in the row, ``{"$private": {"$blob": …}}``: whoever
  views the row is shown it only if they ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any, TypeAlias, cast

from muniment.events.visibility import hides
from muniment.formats.statement import Event
from muniment.verification.page.quotes import plain

__all__ = [
    "HIDDEN",
    "Row",
    "above",
    "is_reference",
    "joined_path",
    "pairs",
    "part",
    "place_of",
    "plainly_said",
    "said_in",
    "taken",
]

Row: TypeAlias = dict[str, Any]
"""A JSON object whose members the fold itself wrote."""


HIDDEN = "$private"
"""The member around a reference to what is private."""


def said_in(event: Event, name: str) -> Any:
    """Return what *event* says in *name*, marked if that is private."""
    value = event.raw.get(name)
    return {HIDDEN: value} if hides(event, name) else value


def place_of(event: Event) -> Row:
    """Return where and when *event* was written."""
    return {
        "seq": event.seq,
        "at": event.time,
        "scope": event.scope or "",
        "ordinal": event.ordinal,
    }


def taken(event: Event, *names: str) -> Row:
    """Return those members of the event's data that say something."""
    empty: tuple[object, ...] = (None, [], {})
    found = {name: said_in(event, name) for name in names}
    return {name: value for name, value in found.items() if value not in empty}


def above(scope: str) -> Iterator[str]:
    """Yield *scope*, and each scope around it, up to that of the run."""
    while scope:
        yield scope
        scope = scope.rpartition("/")[0]
    yield ""


def joined_path(path: str, name: str) -> str:
    """Return the scope *name* on *path*, which is empty for that of the run."""
    return f"{path}/{name}" if path else name


def is_reference(value: object) -> bool:
    """Tell whether *value* refers to a content that is kept apart."""
    if not isinstance(value, dict):
        return False
    said = cast("Row", value)
    return isinstance(said.get("$blob"), str) and type(said.get("size")) is int


def plainly_said(value: Any) -> Any:
    """Return an inline value of an event as plain JSON; 1.0 is written ``$float``.

    What JSON lacks, as NaN or a set, stays as the ledger writes it: `muniment.encoding.codec`.
    """
    if isinstance(value, list):
        return [plainly_said(one) for one in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    said = cast("Row", value)
    if "$float" in said:
        found = plain(said)
        return found if isinstance(found, float) and isfinite(found) else said
    return {
        name.removeprefix("$") if name.startswith("$$") else name: plainly_said(one)
        for name, one in said.items()
    }


def pairs(value: object) -> Iterator[tuple[str, object]]:
    """Yield the effects that *value* lists, each by its scope and its ordinal."""
    for one in cast("list[object]", value) if isinstance(value, list) else []:
        if isinstance(one, list) and len(pair := cast("list[object]", one)) == 2:  # noqa: PLR2004 - scope, ordinal
            scope, ordinal = pair
            if isinstance(scope, str):
                yield scope, ordinal


def part(row: Row, name: str) -> Row:
    """Return the member *name* of *row*; empty if it is not there, or no object."""
    found: object = row.get(name)
    return cast("Row", found) if isinstance(found, dict) else {}
