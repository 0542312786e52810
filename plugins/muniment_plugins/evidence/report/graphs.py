"""Pictures of numbers as inline SVG: dots, spans and lines, row by row, on one scale.

    {"rows": [{"name": "each pair", "points": [{"rule": "change", …}, …]},
              {"name": "mean", "points": [{"event": 9, "path": "/result/mean"}],
               "span": {"event": 9, "path": "/result/interval_95"}}],
     "full": [{"rule": "zero"}], "dashed": [{"event": 2, "path": "/bound"}], "log": False}

Rules:

- Whatever is drawn carries its citation, and where it is follows from the numbers that
  all marks of the picture cite: the least is at the left edge, the largest at the right.
  So `check` finds a mark that is elsewhere, and one that says another number.
- A *full* and a *dashed* line go through each row. The full one is zero or one, by the rule
  of that name. Words beside the picture say what they are: nothing is told by colours alone.
- A number that has no place on a scale is not drawn: what is infinite, and, on one of
  powers of ten (``log``), what is not above zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment.errors import ErasedError
from muniment.verification.page.marks import AXIS, FIGURES, GraphScale, numbers_of
from muniment.verification.page.quotes import as_ascii
from muniment_plugins.evidence.bundle_contents import NotInBundle

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.blocks import Piece
    from muniment_plugins.evidence.report.record import Citation, Quote, RunReader

__all__ = ["attributes", "drawn", "figure"]

Graph: TypeAlias = "Mapping[str, object]"
Mark: TypeAlias = "tuple[str, Citation, tuple[float, ...]]"
"""What is drawn (``dot``, ``span``, ``full``, ``dashed``), of what, and its numbers."""


def figure(
    record: RunReader, graph: Graph, inline: Callable[[Piece], str]
) -> Iterator[str]:
    """Yield the picture *graph*; nothing if it has no number to show.

    Args:
        record: where the numbers are looked up.
        graph: see the module.
        inline: how a page writes words and values.

    """
    log = bool(graph.get("log"))
    lines = [
        one
        for kind in ("full", "dashed")
        for one in _marks(record, kind, graph.get(kind, ()), log)
    ]
    rows = cast("list[Graph]", graph["rows"])
    shown = [[*_of_row(record, row, log)] for row in rows]
    if _count(rows) > sum(map(len, shown)):
        yield "<p>Some numbers have no dot: erased, withheld, or beyond the line.</p>\n"
    if not any(shown):
        return
    every = [*(one for row in shown for one in row), *lines]
    ends = {number: one for mark in reversed(every) for number, one in _ends(mark)}
    scale = GraphScale.of([*ends], log=log)
    yield f"{FIGURES[log]}\n"
    for row, marks in zip(rows, shown, strict=True):
        yield f"<div>{inline(cast('Piece', row['name']))}</div>\n{AXIS}"
        for kind, citation, numbers in (*lines, *marks):
            places = tuple(map(scale.left, numbers))
            yield drawn(kind, record.quote(citation), places)
        yield "</svg>\n"
    told = (inline(ends[one]) for one in (scale.low, scale.high))
    yield f"<figcaption>{'<span>to</span>'.join(told)}</figcaption>\n</figure>\n"


def drawn(kind: str, quote: Quote, places: Sequence[str]) -> str:
    """Return a number of the record, or two, as a mark at *places*."""
    marks = attributes({"data-value": quote.value, **quote.marks})
    title = f"<title>{escape(quote.text)}</title>"
    if kind == "dot":
        return f'<circle cx="{places[0]}" cy="10" r="5"{marks}>{title}</circle>'
    y = ("10", "10") if kind == "span" else ("1", "19")
    return (
        f'<line class="{kind}" x1="{places[0]}" x2="{places[-1]}" '
        f'y1="{y[0]}" y2="{y[1]}"{marks}>{title}</line>'
    )


def attributes(marks: Mapping[str, str]) -> str:
    """Return *marks* as attributes of an element."""
    return "".join(f' {name}="{escape(as_ascii(one))}"' for name, one in marks.items())


def _of_row(record: RunReader, row: Graph, log: bool) -> Iterator[Mark]:
    span = [row["span"]] if "span" in row else []
    yield from _marks(record, "span", span, log)
    yield from _marks(record, "dot", row["points"], log)


def _count(rows: Sequence[Graph]) -> int:
    """Return how many marks the rows would have, if all had a place."""
    return sum(
        len(cast("Sequence[Citation]", one["points"])) + ("span" in one) for one in rows
    )


def _marks(
    record: RunReader, kind: str, citations: object, log: bool
) -> Iterator[Mark]:
    """Yield the marks of *citations* that have a place; others have none."""
    for one in cast("Sequence[Citation]", citations):
        try:
            value = record.value(one)
        except (ErasedError, NotInBundle):
            continue
        if numbers := numbers_of(value, kind, log=log):
            yield kind, one, numbers


def _ends(mark: Mark) -> Iterator[tuple[float, Citation]]:
    """Yield each number of a mark, and what cites just this one."""
    kind, citation, numbers = mark
    for at, number in enumerate(numbers):
        inner = {"path": f"{citation['path']}/{at}"} if kind == "span" else {}
        yield number, {**citation, **inner}
