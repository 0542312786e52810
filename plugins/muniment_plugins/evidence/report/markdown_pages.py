"""Reads a Markdown report again, in the one form that it is written in.

    - `p_value`: `0.001` [45/p_value]

Rules: as for HTML (`pages`), and:

- Code is a value with its citation behind it, or the name of one that comes below it:
  anything else that looks like a value is named.
- Outside of code, whatever Markdown may act on is escaped, or named.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from muniment.events.visibility import PRIVATE, VISIBILITY
from muniment.verification.page.quotes import from_ascii
from muniment.verification.page.wording import MISSING, VERDICTS, shown
from muniment_plugins.evidence.report.markdown import ACTS, PLAIN, opening, quoted
from muniment_plugins.evidence.report.pages import MOST_STRAYS, Cited, Page, Stray

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.evidence.report.record import Quote

__all__ = ["read_markdown"]

_ABOUT = re.compile(
    re.escape(opening("RUN", "SIZE"))
    .replace("RUN", "([0-9A-Z]{1,64})")
    .replace("SIZE", "([0-9]{1,18})")
)
_OWN = re.compile(rf"(?:[^{ACTS}]|\\[{ACTS}])+")
_START = re.compile(r"^(?:###? |- )", re.MULTILINE)
_TICKS = re.compile("`+")
_SHORT = re.compile(rf"\[({PLAIN.pattern})\]")
_FENCE = re.compile(r"\n\n  (`{3,})text\n  ")
_EVENT = re.compile(r"([0-9]{1,18})(#?)(/.*)?", re.DOTALL)
_OF_RULE = ("of", "path", "run", "type", "scope", "series")


def read_markdown(text: str) -> Page:
    """Return what is on the Markdown page *text*."""
    about = _ABOUT.match(text)
    if about is None:
        what = "it does not begin as a report does that this muniment writes"
        return Page(strays=[Stray(1, "page", what)])
    reader = _Reader(text, Page(about[1], int(about[2])))
    reader.read(about.end())
    return reader.page


class _Reader:
    """Goes through a page once."""

    def __init__(self, text: str, page: Page) -> None:
        self.text = text
        self.page = page
        self.line, self.counted = 1, 0
        self.name: tuple[int, str] | None = None
        """A name that no citation was seen for yet, and its line."""

    def read(self, at: int) -> None:
        """Read the page from *at* on."""
        while at < len(self.text) and len(self.page.strays) < MOST_STRAYS:
            own = _OWN.match(self.text, at) or _START.match(self.text, at)
            after = own.end() if own else self._code(at)
            if after is None:
                self._stray(at, self.text[at : at + 40])
                after = self.text.find("\n", at) + 1 or len(self.text)
            at = after
        self._named()

    def _code(self, at: int) -> int | None:
        """Read the code at *at*; return where it ends, None if no report has it."""
        short = _SHORT.match(self.text, at)
        if short:
            return self._block(at, short[1], short.end())
        span = self._span(at)
        if span is None:
            return None
        told, end = span
        if told[:1] + told[-1:] == "[]":
            found = self._block(at, told[1:-1], end)
            if found is not None:
                return found
        cited = self._reference(end)
        if cited is not None:
            form = "verdict" if told in VERDICTS else ""
            self._cite(at, cited[0], told, cited[1], form)
            return cited[1]
        self._named()
        self.name = (at, told)
        return end

    def _span(self, at: int) -> tuple[str, int] | None:
        """Return the code span at *at*, and where it ends."""
        ticks = _TICKS.match(self.text, at)
        if ticks is None:
            return None
        for other in _TICKS.finditer(self.text, ticks.end(), self._end_of_line(at)):
            if other[0] == ticks[0]:
                told = self.text[ticks.end() : other.start()]
                return told[1:-1] if "`" in told else told, other.end()
        return None

    def _end_of_line(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _reference(self, at: int) -> tuple[str, int] | None:
        """Return the citation behind a value, and where it ends."""
        if not self.text.startswith(" ", at):
            return None
        short = _SHORT.match(self.text, at + 1)
        if short:
            return short[1], short.end()
        span = self._span(at + 1)
        if span is None or span[0][:1] + span[0][-1:] != "[]":
            return None
        return span[0][1:-1], span[1]

    def _block(self, at: int, reference: str, end: int) -> int | None:
        """Read the fenced block of *reference*; return where it ends."""
        fence = _FENCE.match(self.text, end)
        if fence is None:
            return None
        closing = f"\n  {fence[1]}\n"
        after = self.text.find(closing, fence.end())
        if after < 0:
            return None
        told = self.text[fence.end() : after].replace("\n  ", "\n")
        self._cite(at, reference, told, after + len(closing), "block")
        return after + len(closing)

    def _cite(self, at: int, reference: str, told: str, end: int, form: str) -> None:
        citation = _citation(reference, form)
        written = self.text[at:end]

        def written_again(quote: Quote) -> str:
            return quoted(quote, form)

        one = Cited(self._line(at), citation, None, told, written, written_again)
        self.page.cited.append(one)
        if self.name is not None and (
            self.name[1] in _names(citation, told) or _is_private(citation, told)
        ):
            self.name = None

    def _named(self) -> None:
        """Note the last name, if nothing came below it that has that name."""
        if self.name is not None:
            at, told = self.name
            self.name = None
            self._stray(at, told, "it looks like a value, and cites nothing")

    def _stray(self, at: int, what: str, why: str = "no report has this there") -> None:
        self.page.strays.append(Stray(self._line(at), what[:40], why))

    def _line(self, at: int) -> int:
        if at < self.counted:  # a name, noted after what came below it
            return self.text.count("\n", 0, at) + 1
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line


def _citation(reference: str, form: str) -> dict[str, JsonValue]:
    marks: dict[str, JsonValue] = {"as": form} if form else {}
    found = _EVENT.fullmatch(reference)
    if found is not None:
        kind = "head" if found[2] else "path"
        place = _as_written(found[3] or "")
        return {"event": int(found[1]), kind: place, **marks}
    rule, _, about = reference.partition("?")
    members = [one.partition("=") for one in about.split("&")] if about else []
    cited = {name: _as_written(value) for name, _, value in members}
    if not rule or not cited.keys() <= set(_OF_RULE):
        return {}
    return {"rule": rule, **cited, **marks}


def _names(citation: dict[str, JsonValue], told: str) -> set[str]:
    """Return what a citation may be called above it."""
    path, event = str(citation.get("path", "")), citation.get("event")
    last = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    names = {shown(one, "line", event) for one in (path[1:], last)}
    return names | ({told} if told in MISSING else set())


def _is_private(citation: dict[str, JsonValue], told: str) -> bool:
    """Tell whether a citation stands in place of a content that is private."""
    return citation.get("path") == f"/{VISIBILITY}" and told == PRIVATE


def _as_written(text: str) -> str:
    try:
        return from_ascii(text)
    except UnicodeError:
        return text  # which no report writes
