"""A report as one HTML file that needs nothing else: no script, no font, no image.

Rules:

- A value of the record is an element that carries its citation: ``<data>`` with ``value``
  and ``data-event``, ``data-path``; a dot of a picture has the same on ``<circle>``.
- Its policy forbids everything but the one style sheet inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, cast

from muniment.encoding.visible import clean
from muniment.errors import ErasedError, UsageError
from muniment.verification.page.frame import (
    AXIS,
    EDGE,
    PAGE_END,
    WIDE,
    WIDTH,
    opening,
    page_head,
    says_a_number,
)
from muniment.verification.page.quotes import as_ascii, plain
from muniment_plugins.evidence.bundle_contents import NotInBundle
from muniment_plugins.evidence.report.style import STYLE

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.evidence.report.blocks import Block, Piece, Section
    from muniment_plugins.evidence.report.record import Citation, Quote, RunReader

__all__ = ["HEAD", "as_html", "dot", "is_on_a_line", "left", "quoted"]

HEAD = page_head(STYLE)


def as_html(record: RunReader, sections: Iterable[Section]) -> Iterator[str]:
    """Yield the page, part by part."""
    yield HEAD
    yield opening(record.run, record.size)
    for section in sections:
        yield f"<section>\n<h2>{_words(str(section['title']))}</h2>\n"
        for block in cast("list[Block]", section["blocks"]):
            yield from _block(record, block)
        yield "</section>\n"
    yield PAGE_END


def quoted(quote: Quote) -> str:
    """Return a value of the record, with its citation."""
    marks = _marks({"value": quote.value, **quote.marks, "title": quote.reference})
    return f"<data{marks}>{escape(quote.text)}</data>"


def dot(quote: Quote, at: str) -> str:
    """Return a number of the record as a dot, *at* so far from the left edge."""
    marks = _marks({"data-value": quote.value, **quote.marks})
    return (
        f'<circle cx="{at}" cy="10" r="5"{marks}>'
        f"<title>{escape(quote.text)}</title></circle>"
    )


def left(value: float, low: float, high: float) -> str:
    """Return how far from the left edge of a picture the dot of *value* is."""
    share = 0.5 if high <= low else (value - low) / (high - low)
    return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}"


def _block(record: RunReader, block: Block) -> Iterator[str]:
    ((kind, content),) = block.items()
    if kind == "title":
        yield f"<h3>{_inline(record, cast('Piece', content))}</h3>\n"
    elif kind == "say":
        yield f"<p>{_inline(record, cast('Piece', content))}</p>\n"
    elif kind == "facts":
        yield "<dl>\n"
        for label, value in cast("list[tuple[Piece, Piece]]", content):
            yield f"<dt>{_inline(record, label)}</dt><dd>{_inline(record, value)}</dd>\n"
        yield "</dl>\n"
    elif kind == "table":
        yield from _table(record, cast("Mapping[str, list[list[Piece]]]", content))
    elif kind == "dots":
        yield from _dots(record, cast("list[Mapping[str, object]]", content))
    else:
        raise UsageError(
            "a section of a report holds a block that there is not",
            rule="report/block",
            place=clean(kind),
            remedy="say it with title, say, facts, table or dots",
        )


def _table(record: RunReader, table: Mapping[str, list[list[Piece]]]) -> Iterator[str]:
    yield f"{WIDE}<table>\n<tr>"
    for name in table["head"]:
        yield f"<th>{_inline(record, name)}</th>"
    for row in table["rows"]:
        yield "</tr>\n<tr>"
        for cell in row:
            yield f"<td>{_inline(record, cell)}</td>"
    yield "</tr>\n</table></div>\n"


def _dots(record: RunReader, rows: list[Mapping[str, object]]) -> Iterator[str]:
    """Yield a line for each row, with a dot for each of its numbers, on one scale."""
    points = [list(_points(record, row)) for row in rows]
    numbers = [number for row in points for number, _ in row]
    if sum(len(cast("list[Citation]", row["points"])) for row in rows) > len(numbers):
        yield "<p>Some numbers have no dot: erased, withheld, or beyond the line.</p>\n"
    if not numbers:
        return
    low, high = min(numbers), max(numbers)
    yield "<figure>\n"
    for row, dots in zip(rows, points, strict=True):
        yield f"<div>{_inline(record, cast('Piece', row['name']))}</div>\n"
        yield AXIS
        for number, one in dots:
            yield dot(record.quote(one), left(number, low, high))
        yield "</svg>\n"
    cited = [one for row in points for _, one in row]
    ends = (_inline(record, cited[numbers.index(one)]) for one in (low, high))
    yield f"<figcaption>{'<span>to</span>'.join(ends)}</figcaption>\n</figure>\n"


def _points(
    record: RunReader, row: Mapping[str, object]
) -> Iterator[tuple[float, Citation]]:
    """Yield the numbers of *row* that have a place on a line; others have none."""
    for one in cast("list[Citation]", row["points"]):
        try:
            value = plain(record.look(cast("int", one["event"]), str(one["path"])))
        except (ErasedError, NotInBundle):
            continue
        if is_on_a_line(value):
            yield float(cast("float", value)), one


def is_on_a_line(value: JsonValue) -> bool:
    """Tell whether *value* is a finite number."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(cast("float", value)) < 1e300  # noqa: PLR2004 - a difference of two is finite


def _inline(record: RunReader, piece: Piece) -> str:
    if isinstance(piece, str):
        return _words(piece)
    if not isinstance(piece, Mapping):
        return "".join(_inline(record, one) for one in piece)
    return quoted(record.quote(piece))


def _words(text: str) -> str:
    if says_a_number(text):
        raise UsageError(
            "the words of a section say a number, which nobody could compare",
            rule="report/number",
            place=clean(text[:80]),
            remedy="cite the value: with its event and path, or with a rule",
        )
    return escape(clean(text))


def _marks(marks: Mapping[str, str]) -> str:
    return "".join(f' {name}="{escape(as_ascii(one))}"' for name, one in marks.items())
