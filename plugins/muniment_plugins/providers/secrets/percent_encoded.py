"""Secrets in texts that are percent-encoded: a URL in a parameter of another, JSON in one.

    ?next=http%3A%2F%2Fh%2F%3Fapi_key%3D8c41…%26page%3D2
    ?q=%7B%22token%22%3A%20%228c41…%22%7D

Rules: text that is encoded several times is decoded as often, up to `DEEP` times. The
encoded secret is hidden; quotation marks put there are encoded like their neighbours.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from muniment_plugins.providers.secrets.places import Span

__all__ = ["DEEP", "in_encoded"]

DEEP = 3

_RUN = re.compile(r"[^\s\"'<>&;\\]+")
_CODE = re.compile(r"%([0-9A-Fa-f]{2})")


def in_encoded(
    text: str, find: Callable[[str], Iterable[Span]], deep: int = DEEP
) -> Iterator[Span]:
    """Yield what *find* finds in the percent-encoded parts of *text*, decoded."""
    if not deep or not _CODE.search(text):
        return
    for run in _RUN.finditer(text):
        plain = _CODE.sub(_character, run[0])
        if plain == run[0]:
            continue
        found = [*find(plain), *in_encoded(plain, find, deep - 1)]
        if "+" in run[0]:  # a space, in forms
            found += find(_CODE.sub(_character, run[0].replace("+", " ")))
        if not found:
            continue
        places = _places(run[0])
        for one in found:
            start, stop = places[one.start], places[one.stop]
            yield one._replace(
                start=run.start() + start,
                stop=run.start() + stop,
                quote=quote(one.quote, safe=""),
            )


def _character(code: re.Match[str]) -> str:
    return chr(int(code[1], 16))


def _places(text: str) -> array[int]:
    """Return where in *text* each decoded character begins, and the end."""
    places = array("L")
    at = 0
    for code in _CODE.finditer(text):
        places.extend(range(at, code.start() + 1))
        at = code.end()
    places.extend(range(at, len(text) + 1))
    return places
