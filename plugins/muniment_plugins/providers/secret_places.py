r"""Where texts name what is secret, in the formats that go over the wire.

    {"password": "hunter2"}      {\"clientSecret\": \"hunter2\"}    login(password: "x")
    ?sig=hunter2&page=2          DB_PASSWORD=hunter2                <password>x</password>
    {"name": "password", "value": "hunter2"}     form-data; name="password" … hunter2

Rules:

- A place has a name and a value; `Names` judges the name. The value is the secret, as
  long as it is, quotes and other marks around it stay: JSON stays JSON.
- A number becomes a text, and a list one of a single text.
- Text that is JSON within JSON has its quotes behind backslashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

from muniment_plugins.providers.secret_names import HINTS, Names

__all__ = ["MASK", "Span", "named"]

MASK = "[redacted]"


class Span(NamedTuple):
    """Where a secret begins and ends, and what is known of it."""

    start: int
    stop: int
    label: str = ""
    """By what it is called a secret."""
    quote: str = ""
    """What stands around whatever is written there."""
    written: str | None = None
    """What is written there, where that is known already."""
    names: tuple[str, ...] = ()
    """The names of secrets that answers brought."""


_NAME = r"(?<![\w.$@-])[A-Za-z_@$][\w.$@-]{0,80}+"
"""From where a word begins, and never back: bodies hold long runs of letters."""
_ESCAPED = r'(?:\\\\\\"|\\\\|\\[^"\\]|[^"\\])+'
_VALUE = (
    rf'(?:\\"(?P<escaped>{_ESCAPED})\\"'
    r'|"(?P<double>(?:[^"\\]|\\.)+)"'
    r"|'(?P<single>(?:[^'\\]|\\.)+)'"
)
"""A text in quotes of some kind, and what may stand between those."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A form in which a name stands beside a value."""

    pattern: re.Pattern[str]
    hint: str
    """Stands in every text that has such a place."""
    alone: bool = False
    """Whether everyday words count here by themselves."""


def _place(hint: str, pattern: str, *, alone: bool = False) -> _Place:
    return _Place(re.compile(pattern, re.ASCII | re.DOTALL), hint, alone)


_PLACES = (
    _place(
        "",
        rf"(?P<name>{_NAME})(?=(?P<quote>\\?[\"'])?\s*[:=]\s*{_VALUE}"
        r"|(?P<number>-?\d[\d.eE+-]*)(?=\s*[,}\]])"
        r"|\[\s*(?P<list>\\?\"[^\[\]{}]+)\]))",  # ahead: a value may hold members
    ),
    _place(
        "value",
        r"\"(?:name|key|header)\\?\"\s*:\s*"
        rf"\\?\"(?P<name>{_NAME})\\?\"\s*,\s*\\?\"value\\?\"\s*:\s*{_VALUE})",
        alone=True,
    ),
    _place(
        "=",
        r"(?:^|[?&;])(?P<name>[\w.%-]+)=(?P<value>[^&;\s\"'#<>\\]+)",
        alone=True,
    ),
    _place(
        "=",
        r"(?:^|\n|\\n)(?:export[ \t]+)?(?P<name>[A-Z][A-Z0-9_]+)=(?P<value>[^\s\"'\\]+)",
    ),
    _place(
        "</",
        r"<(?:[\w-]+:)?(?P<name>[A-Za-z_][\w.-]*)(?:\s[^<>]*)?>"
        r"\s*(?:<!\[CDATA\[)?(?P<value>[^<>\]]+)",
    ),
    _place(
        "form-data",
        r"form-data;[^\r\n]*?\bname=\"?(?P<name>[\w.\[\]-]+)\"?[^\r\n]*\r?\n"
        r"(?:[^\r\n]+\r?\n)*\r?\n(?P<value>.+?)(?=\r?\n--)",
        alone=True,
    ),
)


def named(text: str, lowered: str, names: Names) -> Iterator[Span]:
    """Yield where *text* names a secret; *lowered* is *text* in lower case."""
    if not names.hide and not any(hint in lowered for hint in HINTS):
        return
    for place in _PLACES:
        if place.hint in lowered:
            for match in place.pattern.finditer(text):
                if names.is_secret(match["name"], alone=place.alone):
                    yield _span(match)


def _span(match: re.Match[str]) -> Span:
    group = cast("str", match.lastgroup)  # the value, in whichever form it stands
    quote = (match["quote"] or "") if group in ("number", "list") else ""
    return Span(*match.span(group), match["name"], quote)
