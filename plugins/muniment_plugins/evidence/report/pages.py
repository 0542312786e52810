"""Reads a report again: which run it is about, and every citation on it.

Rule: a report is read in the one form that it is written in, never as HTML in general
(`muniment.verification.page.frame`). The style sheet belongs to the form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muniment.verification.page.frame import MOST_FAULTS, CitedValue, read_page
from muniment_plugins.evidence.report import graphs, html

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.evidence.report.record import Quote

__all__ = ["MOST_STRAYS", "Cited", "Page", "Stray", "read_html"]

MOST_STRAYS = MOST_FAULTS
"""After so many, a page is read no further."""
_NUMBER = re.compile("[0-9]{1,18}")
_OF_EVENT = {"event", "path", "head", "as"}


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation as the page has it."""

    line: int
    """Of the page, from 1."""
    citation: dict[str, JsonValue]
    """Empty, if the page shows a value and cites nothing that there could be."""
    value: str | None
    """None, if the page shows a text and no more."""
    text: str
    """What the page shows."""
    written: str
    """All of it, as it is on the page."""
    form: Callable[[Quote], str]
    """How a report writes a quote here."""
    kind: str = ""
    """What is drawn, if it is a mark of a picture: ``dot``, ``span``, ``full``, ``dashed``."""
    figure: int = 0
    log: bool = False
    """Whether the picture is on a scale of powers of ten."""
    places: tuple[str, ...] = ()
    """Where the mark is."""


@dataclass(frozen=True, slots=True)
class Stray:
    """Something that no report has."""

    line: int
    what: str
    message: str


@dataclass(slots=True)
class Page:
    """What is on a page."""

    run: str = ""
    """Empty, if it is no report."""
    size: int = 0
    cited: list[Cited] = field(default_factory=list[Cited])
    strays: list[Stray] = field(default_factory=list[Stray])


def read_html(text: str) -> Page:
    """Return what is on the HTML page *text*."""
    found = read_page(text)
    page = Page(found.run, max(found.size, 0))
    page.strays += [Stray(line, "page", what) for line, what in found.faults]
    if found.run and not text.startswith(html.HEAD):
        what = "it does not begin as a report does that this muniment writes"
        page.strays.append(Stray(1, "page", what))
    page.cited += [_cited(one) for one in found.cited]
    return page


def _cited(one: CitedValue) -> Cited:
    citation, mark = _citation(one.marks), one.mark
    if mark is None:
        value = one.marks.get("value", "")
        return Cited(one.line, citation, value, one.text, one.written, html.quoted)

    def form(quote: Quote) -> str:
        return graphs.drawn(mark.kind, quote, mark.places)

    value = one.marks.get("data-value", "")
    told = (one.line, citation, value, one.text, one.written, form)
    return Cited(*told, mark.kind, one.figure, one.log, mark.places)


def _citation(marks: dict[str, str]) -> dict[str, JsonValue]:
    cited: dict[str, JsonValue] = {
        name.removeprefix("data-"): value
        for name, value in marks.items()
        if name.startswith("data-") and name != "data-value"
    }
    if "rule" in cited and "event" not in cited:
        return cited
    number = str(cited.get("event", ""))
    if not _NUMBER.fullmatch(number) or not cited.keys() <= _OF_EVENT:
        return {}
    if "head" not in cited:
        return {"event": int(number), "path": "", **_without(cited, "event")}
    return {"event": int(number), **_without(cited, "event", "path")}


def _without(cited: dict[str, JsonValue], *names: str) -> dict[str, JsonValue]:
    return {name: one for name, one in cited.items() if name not in names}
