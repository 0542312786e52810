"""A report as one HTML file that needs nothing else: no script, no font, no image.

Rules:

- A value of the record is an element that carries its citation: ``<data>`` with ``value``
  and ``data-event``, ``data-path``; a mark of a picture has the same (`graphs`).
- Its policy forbids everything but the one style sheet inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, cast

from muniment.encoding.visible import clean
from muniment.errors import UsageError
from muniment.verification.page.frame import PAGE_END, opening, page_head
from muniment.verification.page.nesting import WIDE, has_other_characters
from muniment_plugins.evidence.report.graphs import attributes, figure
from muniment_plugins.evidence.report.style import STYLE

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.blocks import Block, Piece, Section
    from muniment_plugins.evidence.report.record import Quote, RunReader

__all__ = ["HEAD", "as_html", "quoted"]

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
    marks = attributes({"value": quote.value, **quote.marks, "title": quote.reference})
    return f"<data{marks}>{escape(quote.text)}</data>"


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
    elif kind in ("dots", "graph"):
        graph = {"rows": content} if kind == "dots" else content
        told = cast("Mapping[str, object]", graph)
        yield from figure(record, told, lambda piece: _inline(record, piece))
    else:
        raise UsageError(
            "a section of a report holds a block that there is not",
            rule="report/block",
            place=clean(kind),
            remedy="say it with title, say, facts, table, dots or graph",
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


def _inline(record: RunReader, piece: Piece) -> str:
    if isinstance(piece, str):
        return _words(piece)
    if not isinstance(piece, Mapping):
        return "".join(_inline(record, one) for one in piece)
    return quoted(record.quote(piece))


def _words(text: str) -> str:
    if has_other_characters(text):
        raise UsageError(
            "the words of a section have digits, or letters that words may not have",
            rule="report/number",
            place=clean(text[:80]),
            remedy="cite each value, with its event and path or a rule; write in Latin letters",
        )
    return escape(text)
