"""Compares a report with the ledger: every citation, and then the page as a whole.

    checked = check_report(ledger, Path("report.html").read_text("utf-8"))
    checked.verdict, checked.compared, checked.findings

Rules:

- What a page shows is compared with what this muniment would write in its place: the
  value, the text, the citation itself and, for a mark of a picture, where it is.
- The page is believed in nothing but run, size and citations.
- *Wrong*: the ledger contradicts it. *Cannot tell*: something could not be compared, or
  nothing was. Silence is no agreement. What either side withholds cannot be compared
  (`comparing.parts`).
- If all that agrees, the page is compared with the report that is written again: with
  its rows, sections and words that cite nothing, and with what somebody left out. Another
  muniment, or other plugins, may have written it: such a difference is *cannot tell*.
- The ledger is believed: `muniment verify` judges it before this is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from muniment.encoding.canonical import parse
from muniment.encoding.visible import clean
from muniment.errors import CannotTellError, MunimentError
from muniment.verification.page.marks import GraphScale, numbers_of
from muniment.verification.page.wording import MISSING
from muniment.verification.page.wording import shown as as_shown
from muniment.verification.report import MALFORMED
from muniment_plugins.evidence.report.comparing.parts import ShownParts, in_order
from muniment_plugins.evidence.report.comparing.whole import first_change
from muniment_plugins.evidence.report.markdown_pages import read_markdown
from muniment_plugins.evidence.report.pages import Cited, Page, read_html
from muniment_plugins.evidence.report.record import Quote, RunReader, Source
from muniment_plugins.evidence.selection import size_of

__all__ = ["Difference", "ReportCheck", "check_report"]

_MOST_RULES = 1_000
"""How many values of a page may each need a look at many events."""
_SHOWN = 300
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
"""What a page states in place of a long value; the text of that is not compared."""
_CALLED = {"dot": "dot", "span": "span"}
"""What marks of pictures are called; others are lines."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A citation that the ledger does not bear out, or that cannot be compared."""

    line: int
    """Of the page, from 1."""
    citation: str
    """What the page cites: ``45/result/pairs``, ``45#/time``, ``count``."""
    message: str
    kind: str = "wrong"
    """``wrong``, or ``cannot tell``."""
    event: int | None = None
    path: str = ""
    page: str = ""
    """What the page says."""
    ledger: str = ""
    """What the ledger says."""


@dataclass(frozen=True, slots=True)
class ReportCheck:
    """What came of comparing a page."""

    compared: int
    """How many values were compared; those that differ are among them."""
    findings: tuple[Difference, ...]
    """In the order of the page."""
    run: str = ""
    size: int = 0
    """Up to which event the page reads the ledger, itself not included."""

    @property
    def verdict(self) -> str:
        """``agrees``, ``wrong`` or ``cannot tell``."""
        kinds = {one.kind for one in self.findings}
        if "wrong" in kinds:
            return "wrong"
        return "agrees" if self.compared and not kinds else "cannot tell"


def check_report(ledger: Source, text: str) -> ReportCheck:
    """Compare the page *text* with *ledger*: every citation, and then all of it.

    The ledger may be a bundle, as `open_bundle` lends it.
    """
    is_markdown = text.startswith("# ")
    page = read_markdown(text) if is_markdown else read_html(text)
    found = [
        Difference(one.line, one.what, one.message, "cannot tell")
        for one in page.strays
    ]
    if page.run and not page.cited:
        what = "it cites nothing: nothing was compared"
        found.append(Difference(1, "page", what, "cannot tell"))
    found += _of_page(ledger, page)
    if not page.run or any(one.citation.startswith("data-") for one in found):
        return ReportCheck(0, tuple(found), page.run, page.size)
    record = RunReader(ledger, page.run, page.size)
    compared = _Comparison(record, ShownParts(record, page.cited))
    for one in sorted(page.cited, key=in_order):
        compared.add(one)
    found += [*compared.found, *compared.misplaced()]
    suffix = ".md" if is_markdown else ".html"
    if not found and (change := first_change(record, text, suffix)):
        found.append(Difference(change[0], "page", change[1], "cannot tell"))
    found.sort(key=_by_line)
    return ReportCheck(compared.number, tuple(found), page.run, page.size)


def _of_page(ledger: Source, page: Page) -> Iterator[Difference]:
    """Yield why the page as a whole cannot be compared."""
    if not page.run:
        return
    try:
        (last,) = ledger.events(run=page.run, order="desc", limit=1)
    except (MunimentError, ValueError):
        what = f"the ledger has no run {page.run}"
        yield Difference(1, "data-run", what, "cannot tell")
        return
    if last.seq >= page.size:
        what = f"the run went on after event {page.size - 1}: ask for a newer page"
    elif page.size > ledger.checkpointed or not _is_checkpoint(ledger, page.size):
        what = f"the ledger has no checkpoint over {page.size} events"
    else:
        return
    yield Difference(1, "data-size", what, "cannot tell")


def _is_checkpoint(ledger: Source, size: int) -> bool:
    try:
        return size_of(ledger.first_checkpoint_over(size - 1)) == size
    except CannotTellError:
        return False


class _Comparison:
    """Compares citation after citation."""

    def __init__(self, record: RunReader, parts: ShownParts) -> None:
        self.record = record
        self.parts = parts
        self.number = 0
        self.found: list[Difference] = []
        self.marks: dict[int, list[tuple[tuple[float, ...], Cited]]] = {}
        self.unsure: set[int] = set()
        """Pictures of which a mark cannot be compared: nobody knows their scale."""
        self.broken: set[int] = set()
        """Pictures with a mark that cites no number: they are wrong without a scale."""
        self._rules: dict[str, Quote] = {}

    def add(self, one: Cited) -> None:
        """Compare *one*, and note whatever differs."""
        if not one.citation:
            what = "it shows a value, and cites nothing that could have it"
            self._note(one, what, kind="cannot tell")
            return
        try:
            quote = self._quote(one)
        except CannotTellError as error:
            self._note(one, str(error), kind="cannot tell")
            return
        except (MunimentError, *MALFORMED) as error:
            if self.parts.lacks(one.citation):
                self._note(one, "it is about what is withheld", kind="cannot tell")
                self.unsure.add(one.figure)
                return
            self.number += 1
            self._note(one, f"it leads nowhere: {error}")
            self.broken.add(one.figure)
            return
        shown = one.text if one.value is None else one.value
        if quote.value == "erased" != shown:
            self._note(one, "it was erased since", kind="cannot tell")
            self.unsure.add(one.figure)
            return
        judged = self.parts.judged(one, quote)
        if judged is not None:
            self.unsure.add(one.figure)
            if judged.kind == "wrong" or self._is_as_claimed(one, quote):
                self._note(one, judged.message, shown, quote.value, judged.kind)
            return
        self.number += 1
        self._compare(one, quote)
        if one.kind:
            self._place(one)

    def _quote(self, one: Cited) -> Quote:
        """Return the quote; what follows from many events is looked for once."""
        if "rule" not in one.citation:
            return self.record.quote(one.citation)
        key = repr(one.citation)
        if key not in self._rules:
            if len(self._rules) == _MOST_RULES:
                what = f"a page has at most {_MOST_RULES} values of many events"
                raise CannotTellError(what, rule="report/citation", place="", remedy="")
            self._rules[key] = self.record.quote(one.citation)
        return self._rules[key]

    def _compare(self, one: Cited, quote: Quote) -> None:
        if one.value is not None and one.value != quote.value:
            what = f"the ledger says {_cut(quote.value)}, the page {_cut(one.value)}"
            self._note(one, what, one.value, quote.value)
        elif one.text != quote.text:
            what = (
                f"the ledger is shown as {_cut(quote.text)!r}, "
                f"the page shows {_cut(one.text)!r}"
            )
            self._note(one, what, one.text, quote.text)
        elif one.written != one.form(quote):
            what = "it is not written as a report writes it"
            self._note(one, what, one.written, one.form(quote))

    def _is_as_claimed(self, one: Cited, quote: Quote) -> bool:
        """Tell whether a value that cannot be compared is shown as what it claims to be."""
        value, text = one.value or one.text, one.text
        if one.value in MISSING:
            text = value
        elif one.value is not None and _DIGEST.fullmatch(value) is None:
            form = str(one.citation.get("as", "line"))
            try:
                text = as_shown(parse(value.encode()), form, one.citation.get("event"))
            except MunimentError:
                text = "nothing that there is"
        claimed = Quote(value, text, quote.marks)
        if one.text == text and one.written == one.form(claimed):
            return True
        self._note(one, f"it states {_cut(value)}, which is shown as {_cut(text)!r}")
        return False

    def _place(self, one: Cited) -> None:
        try:
            value = self.record.value(one.citation)
            numbers = numbers_of(value, one.kind, log=one.log)
        except (MunimentError, *MALFORMED):
            numbers = ()
        if numbers:
            self.marks.setdefault(one.figure, []).append((numbers, one))
        else:
            self._note(one, f"a {_CALLED.get(one.kind, 'line')} without a number")
            self.broken.add(one.figure)

    def misplaced(self) -> Iterator[Difference]:
        """Yield the marks that are not where their numbers belong on the scale."""
        whole = {one: self.marks[one] for one in self.marks.keys() - self.broken}
        for figure, marks in whole.items():
            kind = "cannot tell" if figure in self.unsure else "wrong"
            every = [number for numbers, _ in marks for number in numbers]
            scale = GraphScale.of(every, log=marks[0][1].log)
            for numbers, one in marks:
                if one.places != tuple(map(scale.left, numbers)):
                    what = (
                        f"the {_CALLED.get(one.kind, 'line')} is not where its "
                        f"number{'s belong' if numbers[1:] else ' belongs'}"
                    )
                    yield _difference(one, what, kind=kind)

    def _note(
        self,
        one: Cited,
        message: str,
        page: str = "",
        ledger: str = "",
        kind: str = "wrong",
    ) -> None:
        self.found.append(_difference(one, message, page, ledger, kind))


def _difference(
    one: Cited, message: str, page: str = "", ledger: str = "", kind: str = "wrong"
) -> Difference:
    cited = one.citation
    event = cast("int | None", cited.get("event"))
    path = str(cited.get("path", cited.get("head", "")))
    place = f"#{path}" if "head" in cited else path
    named = cited.get("rule") if event is None else f"{event}{place}"
    return Difference(
        one.line,
        _cut(str(named or "value")),
        message,
        kind,
        event,
        _cut(path),
        _cut(page),
        _cut(ledger),
    )


def _cut(text: str) -> str:
    return clean(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\u2026")


def _by_line(one: Difference) -> int:
    return one.line
