"""Compares every citation of a report with the ledger.

    checked = check_report(ledger, Path("report.html").read_text())
    checked.compared, checked.findings

Rules:

- An element that carries ``data-event`` or ``data-rule`` is a citation: its value, the
  text that it shows and, for a dot of a picture, its place are compared.
- It reads the page as it is, and takes nothing from it but run, size and citations.
- Words that cite nothing are not compared: they are the word of whoever sent the page.
  A page without any citation is a finding: nothing of it was compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from muniment.errors import MunimentError
from muniment_plugins.evidence.report.html import left
from muniment_plugins.evidence.report.record import RunReader, as_written, plain

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger

__all__ = ["Difference", "ReportCheck", "check_report"]

_CITES = ("data-event", "data-rule")


@dataclass(frozen=True, slots=True)
class Difference:
    """A citation that the ledger does not bear out."""

    line: int
    """Of the page, from 1."""
    citation: str
    message: str


@dataclass(frozen=True, slots=True)
class ReportCheck:
    """What came of comparing a page."""

    compared: int
    findings: tuple[Difference, ...]


@dataclass(slots=True)
class _Cited:
    """A citation as the page has it."""

    tag: str
    line: int
    marks: dict[str, str]
    figure: int
    text: str = ""


@dataclass(slots=True)
class _Page:
    run: str = ""
    size: int = -1
    cited: list[_Cited] = field(default_factory=list[_Cited])
    faults: list[Difference] = field(default_factory=list[Difference])


def check_report(ledger: Ledger, html: str) -> ReportCheck:
    """Compare every citation of the page *html* with *ledger*.

    Raises:
        CannotTellError, WrongError: the record of the run cannot be verified.

    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    page = reader.page
    faults = [*page.faults, *_of_page(ledger, page)]
    if faults:
        return ReportCheck(0, tuple(faults))
    record = RunReader(ledger, page.run, page.size)
    found = [_compared(record, one) for one in page.cited]
    found += _misplaced(record, page.cited)
    if not page.cited:
        found.append(Difference(1, "page", "it cites nothing: nothing was compared"))
    return ReportCheck(len(page.cited), tuple(one for one in found if one is not None))


class _Reader(HTMLParser):
    """Gathers the citations of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = _Page()
        self.open: list[_Cited] = []
        self.figures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        marks = {name: as_written(value or "") for name, value in attrs}
        line = self.getpos()[0]
        self.figures += tag == "figure"
        if tag == "body":
            size = marks.get("data-size", "")
            self.page.run = marks.get("data-run", "")
            self.page.size = int(size) if size.isdecimal() and len(size) < 19 else -1  # noqa: PLR2004 - 64 bits
        if any(one in marks for one in _CITES):
            if len(marks) != len(attrs):
                self._fault(line, tag, "it says something twice")
            one = _Cited(tag, line, marks, self.figures)
            self.page.cited.append(one)
            self.open.append(one)
        elif tag in ("data", "circle"):
            self._fault(line, tag, "it shows a value and cites nothing")
        elif self.open and tag != "title":
            self._fault(line, tag, "it is inside a citation")

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1].tag == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for one in self.open:
            one.text += data

    def _fault(self, line: int, tag: str, message: str) -> None:
        self.page.faults.append(Difference(line, f"<{tag}>", message))


def _of_page(ledger: Ledger, page: _Page) -> list[Difference]:
    """Return why the page as a whole cannot be compared."""
    try:
        (last,) = ledger.events(run=page.run, order="desc", limit=1)
    except MunimentError:
        return [Difference(1, "data-run", "the ledger has no such run")]
    if not last.seq < page.size <= ledger.head.size:
        return [Difference(1, "data-size", "the ledger does not end there")]
    return []


def _compared(record: RunReader, one: _Cited) -> Difference | None:
    try:
        quote = record.quote(_citation(one.marks))
    except (MunimentError, LookupError, ValueError, TypeError, AttributeError) as error:
        return Difference(one.line, _named(one), f"it leads nowhere: {error}")
    value = one.marks.get("data-value" if one.tag == "circle" else "value", "")
    if value != quote.value:
        what = f"the ledger says {quote.value}, the page {value}"
        return Difference(one.line, _named(one), what)
    if one.text != quote.text:
        what = f"the ledger is shown as {quote.text!r}, the page shows {one.text!r}"
        return Difference(one.line, _named(one), what)
    return None


def _misplaced(record: RunReader, cited: list[_Cited]) -> list[Difference | None]:
    """Return the dots that are not where their numbers belong on the line."""
    found: list[Difference | None] = []
    figures: dict[int, list[tuple[float, _Cited]]] = {}
    for one in (one for one in cited if one.tag == "circle"):
        number = _number(record, one)
        if number is None:
            found.append(Difference(one.line, _named(one), "a dot without a number"))
        else:
            figures.setdefault(one.figure, []).append((number, one))
    for dots in figures.values():
        low, high = min(dots, key=_first)[0], max(dots, key=_first)[0]
        for number, one in dots:
            if one.marks.get("cx") != left(number, low, high):
                message = "the dot is not where its number belongs"
                found.append(Difference(one.line, _named(one), message))
    return found


def _first(dot: tuple[float, _Cited]) -> float:
    return dot[0]


def _number(record: RunReader, one: _Cited) -> float | None:
    try:
        event, path = int(one.marks["data-event"]), one.marks["data-path"]
        value = plain(record.look(event, path))
    except (MunimentError, LookupError, ValueError):
        return None
    return float(value) if isinstance(value, int | float) else None


def _citation(marks: dict[str, str]) -> dict[str, JsonValue]:
    cited: dict[str, JsonValue] = {
        name.removeprefix("data-"): value
        for name, value in marks.items()
        if name.startswith("data-") and name != "data-value"
    }
    if "event" in cited:
        cited["event"] = int(str(cited["event"]))
    if "event" in cited and not cited.keys() & {"path", "head"}:
        cited["path"] = ""
    return cited


def _named(one: _Cited) -> str:
    marks = one.marks
    place = marks.get("data-path", marks.get("data-head", ""))
    return f"{marks.get('data-event', marks.get('data-rule', ''))}{place}"
