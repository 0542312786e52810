"""How the elements of a report are nested, and what may be beside a value.

    main > section > h2 h3 p dl > dt dd, wide > table > tr > th td,
    figure > div, svg > marks, figcaption > span

Rules:

- An element has the children that a report gives it, and is closed. What has elements has
  no text but line feeds.
- Beside a value there is nothing that could continue it: a space or a bracket before it, a
  space or punctuation behind. Between two values in one element are words, or a comma, a
  colon or a semicolon, and a space.
"""

from __future__ import annotations

import re
from html import unescape

from muniment.verification.page.marks import AXIS, FIGURES

__all__ = ["WIDE", "PageNesting", "has_other_characters"]

WIDE = '<div class="wide" role="group" aria-label="Table" tabindex="0">'
"""Around a table: on a phone it scrolls, by keyboard, too."""
INLINE = frozenset(
    {"h2", "h3", "p", "dt", "dd", "div", "th", "td", "span", "figcaption"}
)
CHILDREN = {
    "main": {"section"},
    "section": {"h2", "h3", "p", "dl", "wide", "figure"},
    "dl": {"dt", "dd"},
    "wide": {"table"},
    "table": {"tr"},
    "tr": {"th", "td"},
    "figure": {"div", "svg", "figcaption"},
    "figcaption": {"span"},
}
WORDS = re.compile(
    "[\n -/:-~\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f"
    "\u2013\u2014\u2018\u2019\u201c\u201d\u2026]*"
)
"""Printable ASCII but the digits, letters with accents, dashes and quotation marks: what is
a number in any other script, or shows as one, is not among them."""
NAMED = re.compile(r"SHA-256|(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])")
BEHIND = re.compile(r"[ \n,;:)]|\.(?:[ \n]|$)")
BEFORE = (" ", "\n", "(")
BETWEEN = re.compile("[A-Za-z,;:]")


def has_other_characters(words: str) -> bool:
    """Tell whether *words* have anything but the letters and marks that words may have."""
    return WORDS.fullmatch(NAMED.sub("", words)) is None


class PageNesting:
    """Follows the elements of a page."""

    def __init__(self) -> None:
        self.open: list[str] = []
        """The elements that are not closed yet, the outermost first."""
        self.figures = self.rows = 0
        """How many pictures there were, and how many lines of marks."""
        self.log = False
        """Whether the picture is on a scale of powers of ten."""
        self._text: list[str | None] = []
        """In each open element: what follows the last value in it; None before any."""

    def take(self, found: re.Match[str]) -> str:
        """Take the next part of a page; return what is wrong with it, if anything is."""
        written = found[0]
        if found[5] is not None:
            return self._words(unescape(found[5]))
        if found[1] is not None:
            return self._value()
        if found[3] is not None:
            inside = self.open[-1:] == ["svg"]
            return "" if inside else "a mark stands outside of a picture"
        if written.startswith("</"):
            return self._close(written[2:-1])
        return self._enter(written)

    def _enter(self, written: str) -> str:
        name = {WIDE: "wide", AXIS: "svg"}.get(written, written[1:-1])
        if written in FIGURES:
            name, self.log = "figure", written == FIGURES[1]
            self.figures += 1
        self.rows += name == "svg"
        parent = self.open[-1] if self.open else "main"
        if name not in CHILDREN.get(parent, ()):
            return f"no report has {name} in {parent}"
        self.open.append(name)
        self._text.append("")
        return ""

    def _close(self, name: str) -> str:
        last = self.open[-1] if self.open else "main"
        if name != ("div" if last == "wide" else last):
            return f"{name} is closed, and {last} is open"
        self.open.pop()
        self._text.pop()
        if self._text:
            self._text[-1] = ""  # whatever follows stands apart
        return ""

    def _words(self, text: str) -> str:
        if not self.open or self.open[-1] not in INLINE:
            return (
                "" if not text.strip("\n") else "it has words where no report has any"
            )
        if has_other_characters(text):
            return "its words have digits, or other letters than words may have"
        before = self._text[-1]
        if before is None and BEHIND.match(text) is None:
            return "its words continue a value"
        self._text[-1] = ("\0" if before is None else before) + text
        return ""

    def _value(self) -> str:
        if not self.open or self.open[-1] not in INLINE:
            return "it has a value where no report has any"
        before = self._text[-1]
        if before is None:
            return "two values stand beside each other, without words"
        words = before.removeprefix("\0")
        if words and not words.endswith(BEFORE):
            return "its words run into a value"
        if words != before and BETWEEN.search(words) is None:
            return "two values stand beside each other, without words"
        self._text[-1] = None
        return ""
