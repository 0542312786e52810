"""Reads a report again: which run it is about, and every citation on it.

Rules:

- A report is read in the one form that it is written in, never as HTML in general: what
  else is there is named, since a browser may show anything for it, or hide what is
  cited. The style sheet belongs to the form.
- One pass, whatever somebody wrote: no text takes more time than its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING

from muniment_plugins.evidence.report import html
from muniment_plugins.evidence.report.record import as_written

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.evidence.report.record import Quote

__all__ = ["MOST_STRAYS", "Cited", "Page", "Stray", "read_html"]

MOST_STRAYS = 20
"""After so many, a page is read no further."""
_ABOUT = re.compile(
    re.escape(html.opening("RUN", "SIZE"))
    .replace("RUN", "([0-9A-Z]{1,64})")
    .replace("SIZE", "([0-9]{1,18})")
)
_MARKS = r'((?: [a-z-]+="[^"<>]*")+)'
_MARK = re.compile(r' ([a-z-]+)="([^"<>]*)"')
_NUMBER = re.compile("[0-9]{1,18}")
_OF_EVENT = {"event", "path", "head", "as"}
_PLAIN = "section|h2|h3|p|dl|dt|dd|div|table|tr|th|td|figcaption|span"
_TOKEN = re.compile(
    rf"<data{_MARKS}>([^<]*)</data>"
    rf'|<circle cx="([^"<>]*)" cy="10" r="5"{_MARKS}><title>([^<]*)</title></circle>'
    rf"|(<figure>)|</?(?:{_PLAIN})>|</figure>|{re.escape(html.WIDE)}"
    rf"|{re.escape(html.AXIS)}|</svg>|[^<]+"
)


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
    figure: int = 0
    left: str | None = None
    """Where the dot is, if it is one."""


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
    page = Page()
    about = _ABOUT.match(text, len(html.HEAD))
    if not text.startswith(html.HEAD) or about is None:
        what = "it does not begin as a report does that this muniment writes"
        page.strays.append(Stray(1, "page", what))
        return page
    page.run, page.size = about[1], int(about[2])
    end = len(text) - len(html.CLOSING)
    if end < about.end() or not text.endswith(html.CLOSING):
        what = "it does not end as a report does"
        page.strays.append(Stray(text.count("\n") + 1, "page", what))
        end = len(text)
    figures = 0
    for line, found in _tokens(text, about.end(), end):
        if isinstance(found, str):
            page.strays.append(Stray(line, found, "no report has this there"))
        elif found[6]:
            figures += 1
        elif found[1] is not None:
            page.cited.append(_value(line, found))
        elif found[3] is not None:
            page.cited.append(_dot(line, found, figures))
        if len(page.strays) == MOST_STRAYS:
            break
    return page


def _tokens(text: str, at: int, end: int) -> Iterator[tuple[int, re.Match[str] | str]]:
    """Yield each part of a page with its line: as a match, or as text if it is none."""
    line = text.count("\n", 0, at) + 1
    while at < end:
        found = _TOKEN.match(text, at, end)
        if found is not None:
            yield line, found
            after = found.end()
        else:
            after = text.find("<", at + 1, end)
            after = end if after < 0 else after
            yield line, text[at : min(after, at + 40)]
        line += text.count("\n", at, after)
        at = after


def _value(line: int, found: re.Match[str]) -> Cited:
    marks = _marks(found[1])
    value = marks.get("value", "")
    text = unescape(found[2])
    return Cited(line, _citation(marks), value, text, found[0], html.quoted)


def _dot(line: int, found: re.Match[str], figure: int) -> Cited:
    marks, left = _marks(found[4]), found[3]
    value, text = marks.get("data-value", ""), unescape(found[5])

    def form(quote: Quote) -> str:
        return html.dot(quote, left)

    return Cited(line, _citation(marks), value, text, found[0], form, figure, left)


def _marks(text: str) -> dict[str, str]:
    return {name: as_written(unescape(one)) for name, one in _MARK.findall(text)}


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
