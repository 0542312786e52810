"""A report as Markdown, with a short citation after each value of the record.

Rules: a value is a code span, or a fenced block, whose fence is longer than any in it;
so nothing of the record is read as Markdown or HTML. There are no pictures and no tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from muniment.encoding.visible import clean
from muniment.verification.page.frame import TITLE

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.blocks import Block, Piece, Section
    from muniment_plugins.evidence.report.record import Quote, RunReader

__all__ = ["ACTS", "PLAIN", "as_markdown", "opening", "quoted"]

ACTS = r"\\`*_{}\[\]<>()#+!|~&$-"
"""What Markdown may act on, as in a class of a regular expression."""

_ACTS = re.compile(f"([{ACTS}])")
PLAIN = re.compile(r"(?:[A-Za-z0-9/#.-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))+")
"""A citation that Markdown leaves as it is."""


def as_markdown(record: RunReader, sections: Iterable[Section]) -> Iterator[str]:
    """Yield the page, part by part."""
    yield opening(record.run, record.size)
    for section in sections:
        yield f"\n## {_own(str(section['title']))}\n\n"
        for block in cast("list[Block]", section["blocks"]):
            yield from _block(record, block)


def opening(run: str, size: int | str) -> str:
    """Return how a page begins: which run it is about, and how far it reads."""
    return f"# {TITLE}\n\nAbout run {run}, in the first {size} events of its ledger.\n"


def _block(record: RunReader, block: Block) -> Iterator[str]:
    ((kind, content),) = block.items()
    if kind == "title":
        yield f"\n### {_inline(record, cast('Piece', content))}\n\n"
    elif kind == "say":
        yield f"{_inline(record, cast('Piece', content))}\n\n"
    elif kind == "facts":
        for label, value in cast("list[tuple[Piece, Piece]]", content):
            yield f"- {_inline(record, label)}: {_inline(record, value)}\n"
        yield "\n"
    elif kind == "table":
        table = cast("Mapping[str, list[list[Piece]]]", content)
        for cells in table["rows"]:
            named = zip(table["head"], cells, strict=True)
            told = (f"{_inline(record, n)}: {_inline(record, one)}" for n, one in named)
            yield f"- {'; '.join(told)}\n"
        yield "\n"
    else:
        graph = {"rows": content} if kind == "dots" else content
        yield from _graph(record, cast("Mapping[str, object]", graph))


def _graph(record: RunReader, graph: Mapping[str, object]) -> Iterator[str]:
    """Yield a line for each row of a picture, and one for what goes through all of it."""
    rows = cast("list[Mapping[str, object]]", graph["rows"])
    lines = [*_pieces(graph, "full"), *_pieces(graph, "dashed")]
    named: list[tuple[Piece, list[Piece]]] = [
        (
            cast("Piece", row["name"]),
            [*([cast("Piece", row["span"])] if "span" in row else []), *_pieces(row)],
        )
        for row in rows
    ]
    for name, told in [*named, *([("lines at", lines)] if lines else [])]:
        yield f"- {_inline(record, name)}: {', '.join(_inline(record, one) for one in told)}\n"
    yield "\n"


def _pieces(graph: Mapping[str, object], name: str = "points") -> list[Piece]:
    return cast("list[Piece]", graph.get(name, []))


def _inline(record: RunReader, piece: Piece) -> str:
    if isinstance(piece, str):
        return _own(piece)
    if not isinstance(piece, Mapping):
        return "".join(_inline(record, one) for one in piece)
    return quoted(record.quote(piece), str(piece.get("as", "")))


def quoted(quote: Quote, form: str) -> str:
    """Return a value of the record, with its citation; the name of one has none."""
    named = quote.reference
    short = f"[{named}]" if PLAIN.fullmatch(named) else _span(f"[{named}]")
    if form in ("name", "path"):
        return _span(quote.text)
    if form != "block":
        return f"{_span(quote.text)} {short}"
    fence = "`" * max(3, _longest(quote.text) + 1)
    inside = quote.text.replace("\n", "\n  ")
    return f"{short}\n\n  {fence}text\n  {inside}\n  {fence}\n"


def _span(text: str) -> str:
    marks = "`" * (_longest(text) + 1)
    return f"{marks} {text} {marks}" if "`" in text else f"{marks}{text}{marks}"


def _longest(text: str) -> int:
    """Return the length of the longest row of backticks in *text*."""
    return max(map(len, re.findall("`+", text)), default=0)


def _own(text: str) -> str:
    return _ACTS.sub(r"\\\1", clean(text)).replace("\n", " ")
