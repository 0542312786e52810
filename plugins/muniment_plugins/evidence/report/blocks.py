"""What a report consists of: sections of blocks of pieces, as plain JSON.

    {"title": "Verdicts", "blocks": [
        {"say": ["judged by ", {"event": 45, "path": "/verifier"}]},
        {"facts": [["p-value", {"event": 45, "path": "/p_value"}]]},
        {"table": {"head": ["metric"], "rows": [[{"event": 9, "path": "/order/0"}]]}},
        {"dots": [{"name": "baseline", "points": [{"event": 9, "path": "/metrics/n"}]}]}]}

A ``graph`` is a picture with spans and lines: see `graphs`.

A piece is a text, a citation, or a list of pieces. Texts are the words of who wrote the
section; what the record says is always a citation, so that it is looked up, and never
copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

from muniment.errors import ErasedError
from muniment_plugins.evidence.bundle_reader import NotInBundle
from muniment_plugins.evidence.report.record import Citation, pointer

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.evidence.report.record import RunReader

__all__ = [
    "ROWS",
    "Block",
    "Piece",
    "Row",
    "Section",
    "at",
    "head",
    "leaves",
    "limited",
]

Piece: TypeAlias = Union[str, Citation, "Sequence[Piece]"]
Block: TypeAlias = Mapping[str, object]
Section: TypeAlias = Mapping[str, object]
Row: TypeAlias = "list[Piece]"

ROWS = 60
"""How many facts of one kind a page shows."""
_LEAVES = 24
_PATH = 300
"""How long the path to a value may be; what is deeper is shown as one value."""
_WIDE = 100
"""From how many characters on a text has lines of its own."""


def at(event: int, *names: str | int, form: str = "") -> Citation:
    """Cite what *names* lead to in the data of *event*."""
    return {"event": event, "path": pointer(*names), **({"as": form} if form else {})}


def head(event: int, *names: str) -> Citation:
    """Cite what *names* lead to beside the data of *event*."""
    return {"event": event, "head": pointer(*names)}


def limited(rows: list[Row], more: str) -> Iterator[Block]:
    """Yield *rows* as facts, and *more* if not all of them are shown."""
    if rows:
        yield {"facts": rows[:ROWS]}
    if len(rows) > ROWS:
        yield {"say": f"There is more of this than a page should hold: {more}"}


def leaves(record: RunReader, event: int, *names: str | int) -> list[Row]:
    """Return a row for each value inside what *names* lead to: its path, and itself.

    A private content is one row, whatever is inside.
    """
    path = pointer(*names)
    try:
        if names and record.hides(event, str(names[0])):
            return [_row(event, pointer(names[0]), None)]
        value = record.look(event, path)
    except (ErasedError, NotInBundle):
        return [_row(event, path, None)]
    rows: list[Row] = []
    for place, one in _inside(path, value):
        if len(rows) == _LEAVES:
            rows.append(["more", ["muniment events show ", head(event, "seq")]])
            break
        rows.append(_row(event, place, one))
    return rows


def _row(event: int, path: str, value: JsonValue) -> Row:
    wide = isinstance(value, str) and (len(value) > _WIDE or "\n" in value)
    shown: Citation = {
        "event": event,
        "path": path,
        **({"as": "block"} if wide else {}),
    }
    return [{"event": event, "path": path, "as": "path"}, shown]


def _inside(path: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    names = value if isinstance(value, dict) else ()
    if any(len(path) + len(name) > _PATH for name in names) or _is_tagged(value):
        yield path, value
    elif isinstance(value, dict) and value:
        for name, one in value.items():
            yield from _inside(path + pointer(name), one)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for number, one in enumerate(value):
            yield from _inside(path + pointer(number), one)
    else:
        yield path, value


def _is_tagged(value: JsonValue) -> bool:
    """Tell whether *value* is the JSON of a Python value that JSON has not."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    return next(iter(value)).startswith("$")
