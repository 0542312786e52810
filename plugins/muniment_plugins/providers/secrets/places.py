r"""Where texts name a secret, in the formats that go over the wire.

    {"password": "hunter2"}      {\"clientSecret\": \"hunter2\"}    login(password: "x")
    ?sig=hunter2&page=2          DB_PASSWORD=hunter2                <password>x</password>
    {"name": "password", "value": "hunter2"}     form-data; name="password" … hunter2

Rules:

- A place has a name and a value; `SecretNames` judges the name. The whole value is the
  secret; quotes and other marks around it stay: JSON stays JSON.
- A number becomes a text, and a list one of a single text.
- Text that is JSON within JSON has its quotes behind backslashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

from muniment_plugins.providers.secrets.names import HINTS, SecretNames

__all__ = ["MASK", "Span", "named"]

MASK = "[redacted]"


class Span(NamedTuple):
    """Where a secret begins and ends, and what is known about it."""

    start: int
    stop: int
    label: str = ""
    """The name that makes it a secret."""
    quote: str = ""
    """The quotes to put around what is written there."""
    written: str | None = None
    """What to write there, if that is known already."""
    names: tuple[str, ...] = ()
    """The names of secrets from answers."""


_NAME = r"(?<![\w.$@-])[A-Za-z_@$][\w.$@-]{0,80}+"
"""From where a word begins, and never back: bodies hold long runs of letters."""
_ESCAPED = r'(?:(?:[^"\\]++|\\[^"\\]|\\\\(?!\\"))++|\\\\\\"|\\\\(?=\\"))+'
_VALUE = (
    rf'(?:\\"(?P<escaped>{_ESCAPED})\\"'
    r'|"(?P<double>(?:[^"\\]++|\\.)++)"'
    r"|'(?P<single>(?:[^'\\]++|\\.)++)'"
)
"""A text in quotes of some kind, and what may stand between those.

What is possessive takes no memory for ways back, else 240 bytes for each character."""

_TEXT = re.compile(r'\\?"((?:(?:[^"\\]++|\\[^"])++|\\"(?!\s*(?:,|\Z)))*)\\?"')
"""A text of a list."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A form that puts a name beside a value."""

    pattern: re.Pattern[str]
    hint: str
    """Every text with such a place contains it."""
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
        r"(?:^|\n|\\n)(?:export[ \t]+)?(?P<name>[A-Z][A-Z0-9_]+)=(?P<value>[^\s\"'\\]+)",
    ),
    _place(
        "</",
        r"<(?:[\w-]+:)?(?P<name>[A-Za-z_][\w.-]*)(?:\s[^<>]*)?>"
        r"\s*(?:<!\[CDATA\[)?(?P<value>[^<>\]]+)",
    ),
    _place(
        "form-data",
        r"(?m:^)(?>[^\n]*?form-data;)"  # once a line; a part has one (RFC 7578, 4.2)
        r"(?>[^\r\n]*?\bname=\"?(?P<name>[\w.\[\]-]+))[^\r\n]*+\r?\n"
        r"(?:(?![^\r\n]*form-data;)[^\r\n]++\r?\n)*+\r?\n(?P<value>.+?)(?=\r?\n--)",
        alone=True,
    ),
)

_PARAMETER = re.compile(r"(?:^|[?&;#])([\w.%-]+)=", re.ASCII)
_OF_PARAMETER = re.compile(r"[^&;\s\"'#<>\\]+")


def named(text: str, lowered: str, names: SecretNames) -> Iterator[Span]:
    """Yield where *text* names a secret; *lowered* is *text* in lower case."""
    if not names.hide and not any(hint in lowered for hint in HINTS):
        return
    for place in _PLACES:
        if place.hint in lowered:
            for match in place.pattern.finditer(text):
                yield from _judged(match, names, alone=place.alone)
    yield from _parameters(text, names)


def _parameters(text: str, names: SecretNames) -> Iterator[Span]:
    """Yield the secret parameters of URLs and forms, also of a URL in a parameter."""
    at = 0
    while name := _PARAMETER.search(text, at):
        at = name.end()
        if not names.is_secret(name[1], alone=True):
            continue  # nothing of its value was read: it may be a URL, too
        if value := _OF_PARAMETER.match(text, at):
            at = value.end()
            if names.is_secret(name[1], alone=True, value=value[0]):
                yield Span(*value.span(), name[1])


def _judged(match: re.Match[str], names: SecretNames, *, alone: bool) -> Iterator[Span]:
    """Yield the secret part of a value: all of it, or the secret texts of a list."""
    group = cast("str", match.lastgroup)  # the value, in whichever form it stands
    name, value = match["name"], match[group]
    plain = "" if group in ("number", "list") else value
    if names.is_secret(name, alone=alone, value=plain):
        quote = "" if plain else match["quote"] or ""
        yield Span(*match.span(group), name, quote)
    elif group == "list":
        for one in _TEXT.finditer(value):
            if names.is_secret(name, alone=alone, value=one[1]):
                begin = match.start(group)
                yield Span(begin + one.start(1), begin + one.end(1), name)
