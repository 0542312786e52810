"""The one form of a report: what is on it, and every value of the record with its citation.

    page = read_page(text)
    page.run, page.size     which run it is about, and how many events it was written from
    page.cited              each value: its citation, and what the page shows
    page.faults             (line, what) of whatever no report has

Rules:

- A report is read in the one form that it is written in, never as HTML in general: a
  browser may show anything for what else is there, or hide what is cited.
- Elements are nested as a report nests them, and each is closed: nothing that is cited is
  hidden in a picture, and nothing is drawn beside one.
- Words between the citations say no number: a number is cited, or it is not there. They
  have letters from a fixed list, but for the name SHA-256 and digests in hexadecimal.
- Two values are never beside each other without words: their digits would be one number.
- Only the listed style sheets are known: any other could hide words, or bring its own.
- One pass, whatever somebody wrote: no text takes more time than its length.

Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape, unescape

from muniment.verification.page.marks import (
    AXIS,
    DRAWN,
    FIGURES,
    GraphMark,
    read_mark,
)
from muniment.verification.page.nesting import WIDE, PageNesting
from muniment.verification.page.quotes import as_ascii, from_ascii

__all__ = [
    "MOST_FAULTS",
    "PAGE_END",
    "STYLES",
    "TITLE",
    "CitedValue",
    "ReportPage",
    "opening",
    "page_head",
    "read_page",
]

TITLE = "Evidence report"
STYLES = frozenset(
    {
        "F1kEJt+o2bRiCH9mYU8yOdNkN0CfImlcOMtqfupNLUM=",
        "MFvoB0ZZ/Y1ubgwDkFpKe7LreXC8JDymRP4UVk4CwRM=",
    }
)
"""The SHA-256 of every style sheet that a report may have."""
PAGE_END = "</main>\n</body>\n</html>\n"
MOST_FAULTS = 20
"""After so many, a page is read no further."""
_PLAIN = "section|h2|h3|p|dl|dt|dd|div|table|tr|th|td|figcaption|span"
_MARKS = r'((?: [a-z-]+="[^"<>]*")+)'
_MARK = re.compile(r' ([a-z-]+)="([^"<>]*)"')
_TOKEN = re.compile(
    rf"<data{_MARKS}>([^<]*)</data>|({DRAWN})|({'|'.join(FIGURES)})"
    rf"|</?(?:{_PLAIN})>|</figure>|{re.escape(WIDE)}|{re.escape(AXIS)}|</svg>|([^<]+)"
)
_STYLE = re.compile(r"<style>([^<]*)</style>")
_ODD_REFERENCE = re.compile("&(?!(?:amp|lt|gt|quot|#x27);)")


@dataclass(frozen=True, slots=True)
class CitedValue:
    """A value of the record as the page has it."""

    line: int
    """Of the page, from 1."""
    marks: dict[str, str]
    """The attributes, as they were before they were made ASCII."""
    text: str
    """What the page shows."""
    written: str
    """All of it, as it is on the page."""
    figure: int = 0
    row: int = 0
    """Of the pictures, from 1: which line of dots it is on."""
    is_end: bool = False
    """Whether it is beside a picture, as an end of its scale."""
    log: bool = False
    """Whether the picture is on a scale of powers of ten."""
    mark: GraphMark | None = None
    """What is drawn, if it is a mark of a picture."""


@dataclass(slots=True)
class ReportPage:
    """What is on a page."""

    run: str = ""
    size: int = -1
    known: bool = True
    """Whether its style sheet is one that is known here."""
    cited: list[CitedValue] = field(default_factory=list[CitedValue])
    faults: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def page_head(style: str, script: str = "") -> str:
    """Return everything before the body of a page with this style sheet, and a script."""
    allowed = f"; script-src 'sha256-{digest_of_text(script)}'" if script else ""
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest_of_text(style)}'{allowed}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{TITLE}</title>\n<style>{style}</style>\n</head>\n"
    )


def digest_of_text(text: str) -> str:
    """Return the SHA-256 of *text*, as a content security policy has it."""
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()


def opening(run: str, size: int | str) -> str:
    """Return what follows the head: which run the page is about, and how far it reads."""
    return (
        f'<body data-run="{escape(run)}" data-size="{size}">\n<main>\n'
        f"<h1>{TITLE}</h1>\n"
    )


_ABOUT = re.compile(
    re.escape(opening("RUN", "SIZE"))
    .replace("RUN", "([0-9A-Z]{1,64})")
    .replace("SIZE", "(0|[1-9][0-9]{0,17})")
)


def read_page(text: str) -> ReportPage:
    """Return what is on the page *text*."""
    page = ReportPage()
    style = _STYLE.search(text)
    head = page_head(style[1] if style else "")
    about = _ABOUT.match(text, len(head)) if text.startswith(head) else None
    if about is None or not text.endswith(PAGE_END):
        page.faults.append((1, "it does not begin and end as a report does"))
        return page
    page.run, page.size = about[1], int(about[2])
    page.known = digest_of_text(style[1] if style else "") in STYLES
    nesting = PageNesting()
    for line, found in _tokens(text, about.end(), len(text) - len(PAGE_END)):
        if isinstance(found, str):
            page.faults.append((line, f"no report has {found!a:.80} there"))
        elif fault := nesting.take(found):
            page.faults.append((line, fault))
        elif found[1] is not None or found[3] is not None:
            page.cited.append(_cited(line, found, nesting))
        if len(page.faults) >= MOST_FAULTS:
            break
    if nesting.open:
        page.faults.append((1, f"{nesting.open[-1]} is not closed"))
    return page


def _cited(line: int, found: re.Match[str], nesting: PageNesting) -> CitedValue:
    if found[1] is not None:
        marks, told, mark = _attributes(found[1]), unescape(found[2]), None
    else:
        mark = read_mark(found[3])
        marks = {} if mark is None else _attributes(mark.attributes)
        told = "" if mark is None else unescape(mark.title)
    is_end = nesting.open[-1] == "figcaption"
    figure = nesting.figures if is_end or mark is not None else 0
    picture = (figure, nesting.rows, is_end, nesting.log)
    return CitedValue(line, marks, told, found[0], *picture, mark)


def _tokens(text: str, at: int, end: int) -> Iterator[tuple[int, re.Match[str] | str]]:
    """Yield each part of a page with its line: as a match, or as text if it is none."""
    line = text.count("\n", 0, at) + 1
    while at < end:
        found = _TOKEN.match(text, at, end)
        if found is not None:
            odd = _ODD_REFERENCE.search(text, at, found.end())
            yield line, found if odd is None else text[odd.start() : found.end()]
            after = found.end()
        else:
            after = text.find("<", at + 1, end)
            after = end if after < 0 else after
            yield line, text[at : min(after, at + 40)]
        line += text.count("\n", at, after)
        at = after


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes; none, if one is there twice, or not in its one spelling."""
    found = [(name, unescape(one)) for name, one in _MARK.findall(text)]
    try:
        told = {name: from_ascii(one) for name, one in found}
    except UnicodeError:
        return {}
    good = all(as_ascii(told[name]) == one for name, one in found)
    return told if good and len(told) == len(found) else {}
