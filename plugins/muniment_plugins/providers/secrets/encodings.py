r"""The spellings of a secret that appears again.

    p&ss"wörd-1234        as it is
    p&ss\"w\u00f6rd-1234  in JSON         p%26ss%22w%C3%B6rd-1234  in a URL
    p&amp;ss&quot;wörd…   in XML          cCZzcyJ3w7ZyZC0xMjM0     in base64, …

Rules:

- A value is sought from `SHORTEST` characters on: a shorter one appears anywhere by
  chance, and is hidden only in its place. Ordinary words are not sought either.
- In base64 a value begins at any of three places in a group. The characters that its
  neighbours do not change are sought, and all of that base64 is written decoded.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import cast
from urllib.parse import quote, quote_plus

__all__ = ["SHORTEST", "Sought", "forms", "is_sought"]

SHORTEST = 12
"""The shortest value, in characters, that is sought elsewhere."""

_ORDINARY = """
    administrator application authenticated authentication authorization certificate
    configuration credentials customer_id description development disabled environment
    integration localhost not-applicable organisation organization placeholder
    production unauthorized undefined unspecified your-api-key-here
"""
_GROUP = 3  # bytes that become four characters of base64
_AROUND = 8192
"""How many characters of base64 to read on either side of a value."""
_CHARACTER = re.compile(r"%2[BbFf]|\\/|[A-Za-z0-9+/_-]")
_BASE64 = re.compile(r"((?:%2[BbFf]|\\/|[A-Za-z0-9+/_-]++)*+)(?:=|%3[Dd]|\\u003d){0,2}")
_BASE64_END = re.compile(r"(?:%2[BbFf]|\\/|[A-Za-z0-9+/_-])+\Z")
_PLAIN = {"%2b": "+", "%2f": "/", "\\/": "/", "-": "+", "_": "/"}


def is_sought(value: str) -> bool:
    """Tell whether *value* is sought wherever it may appear."""
    return len(value) >= SHORTEST and value.lower() not in _ORDINARY.split()


def forms(value: str) -> frozenset[str]:
    """Return every spelling of *value* that is sought."""
    data = value.encode("utf-8", "surrogatepass")
    found = {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value)[1:-1])[1:-1],
        json.dumps(json.dumps(value, ensure_ascii=False)[1:-1], ensure_ascii=False)[
            1:-1
        ],
        html.escape(value),
        html.escape(value, quote=False),
        data.hex(),
        data.hex().upper(),
        *_quoted(value),
        *_in_base64(data),
    }
    # Bodies are searched as they are sent: with a character for each byte.
    sent = {one.encode("utf-8", "surrogatepass").decode("latin-1") for one in found}
    return frozenset(one for one in found | sent if len(one) >= SHORTEST)


class Sought:
    """Finds values in all their forms, and says what to write in their place."""

    __slots__ = ("_forms", "_in_base64", "names")

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = {value: name for value, name in names.items() if is_sought(value)}
        """Value → what is written."""
        self._forms = {
            form: name for value, name in self.names.items() for form in forms(value)
        }
        self._in_base64 = frozenset(
            form
            for value in self.names
            for form in _in_base64(value.encode("utf-8", "surrogatepass"))
        )

    @property
    def forms(self) -> Collection[str]:
        """Every spelling that is sought."""
        return self._forms.keys()

    def knowing(self, names: Mapping[str, str]) -> Sought:
        """Return one that finds the values of *names*, too."""
        more, both = Sought(names), Sought({})
        both.names = {**self.names, **more.names}
        both._forms = {**more._forms, **self._forms}
        both._in_base64 = self._in_base64 | more._in_base64
        return both

    def find(self, text: str) -> Iterator[tuple[int, int, str, str]]:
        """Yield where values are in *text*, what to write there, and by which name."""
        for start, form in _sticking_out(self._forms, text):
            stop, name = start + len(form), self._forms[form]
            if form in self._in_base64:
                yield (*self._around(text, start, stop, name), name)
            else:
                yield start, stop, name, name

    def _around(
        self, text: str, start: int, stop: int, name: str
    ) -> tuple[int, int, str]:
        """Return the extent of the base64 around a value, and what to write there.

        Neighbours share characters with the value, which would give it away.
        """
        before = _BASE64_END.search(text, max(0, start - _AROUND), start)
        ahead = (
            [*_CHARACTER.finditer(text, start - len(before[0]), start)]
            if before
            else []
        )
        ahead = ahead[len(ahead) % 4 :]
        first = ahead[0].start() if ahead else start
        run = cast("re.Match[str]", _BASE64.match(text, first, stop + _AROUND))
        found = [*_CHARACTER.finditer(text, first, run.end(1))]
        found = found[: len(found) - (len(found) % 4 == 1)]
        last = run.end() if found[-1].end() == run.end(1) else found[-1].end()
        letters = "".join(_PLAIN.get(one[0].lower(), one[0]) for one in found)
        data = base64.b64decode(letters + "=" * (-len(letters) % 4), b"+/")
        said = data.decode("latin-1")
        at, told = 0, ""
        for begin, end, inner, _ in self.find(said):
            told += quote(data[at:begin], safe="") + inner
            at = max(at, end)
        if not at:
            return first, last, name
        return first, last, f"[base64:{told}{quote(data[at:], safe='')}]"


def _sticking_out(forms: Iterable[str], text: str) -> Iterator[tuple[int, str]]:
    """Yield from left to right where *forms* are in *text*, also where they overlap.

    A form that lies within another one adds nothing, and is left out.
    """
    ahead = {form: at for form in forms if (at := text.find(form)) >= 0}
    end = 0
    while ahead:
        start, length, form = min((at, -len(one), one) for one, at in ahead.items())
        if start - length > end:
            yield start, form
            end = start - length
        for one in [one for one, at in ahead.items() if at == start]:
            ahead[one] = text.find(one, start + 1)
            if ahead[one] < 0:
                del ahead[one]


def _quoted(value: str) -> Iterator[str]:
    """Yield how a URL or a form spells *value*: some quote more than others."""
    try:
        spelt = [quote(value, safe=""), quote(value), quote_plus(value)]
    except UnicodeEncodeError:
        return
    for one in spelt:
        yield one
        yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), one)


def _in_base64(data: bytes) -> Iterator[str]:
    for before in range(_GROUP):
        begin = -before % _GROUP  # of these bytes, characters depend on neighbours
        whole = data[begin : begin + (len(data) - begin) // _GROUP * _GROUP]
        plain = base64.b64encode(whole).decode()
        yield from (plain, plain.replace("/", "\\/"), quote(plain, safe=""))
        yield quote(plain, safe="").replace("%2B", "%2b").replace("%2F", "%2f")
        yield base64.urlsafe_b64encode(whole).decode()
