"""A report as Markdown, with a short citation after each value of the record.

Rules: a value is a code span, or a fenced block, whose fence is longer than any in it;
so nothing of the record is read as Markdown or HTML. There are no pictures and no tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from muniment.encoding.visible import clean
from muniment_plugins.evidence.report.html import TITLE

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.blocks import Block, Piece, Section
    from muniment_plugins.evidence.report.record import Citation, RunReader

__all__ = ["as_markdown"]

_ACTS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$-])")
_PLAIN = re.compile(r"(?:[A-Za-z0-9/#.-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))+")


def as_markdown(record: RunReader, sections: Iterable[Section]) -> Iterator[str]:
    """Yield the page, part by part."""
    yield f"# {TITLE}\n"
    for section in sections:
        yield f"\n## {_own(str(section['title']))}\n\n"
        for block in cast("list[Block]", section["blocks"]):
            yield from _block(record, block)


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
        for row in cast("list[Mapping[str, object]]", content):
            points = cast("list[Piece]", row["points"])
            told = (_inline(record, one) for one in points)
            yield f"- {_inline(record, cast('Piece', row['name']))}: {', '.join(told)}\n"
        yield "\n"


def _inline(record: RunReader, piece: Piece) -> str:
    if isinstance(piece, str):
        return _own(piece)
    if not isinstance(piece, Mapping):
        return "".join(_inline(record, one) for one in piece)
    return _quoted(record, piece)


def _quoted(record: RunReader, citation: Citation) -> str:
    quote = record.quote(citation)
    named = quote.reference
    short = f"[{named}]" if _PLAIN.fullmatch(named) else _span(f"[{named}]")
    if citation.get("as") in ("name", "path"):
        return _span(quote.text)
    if citation.get("as") != "block":
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
