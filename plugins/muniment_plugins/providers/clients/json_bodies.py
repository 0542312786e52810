r"""JSON bodies, parsed only if parsing loses nothing.

    {"b": 1, "a": [2.50]}        parsed: white space, order and zeros say nothing
    {"a": 1, "a": 2}             kept: which of them counts is up to the reader
    {"a": 0.1000000000000000055}, 1e400, -0      kept: no number of ours is that value
    NaN, "\ud800", UTF-16, a mark at the beginning, 100 brackets deep      kept

Rules:

- A body is parsed if what is recorded of it says exactly the same: it is JSON in UTF-8
  (RFC 8259), no object has a member twice, every number has its value, every text is
  Unicode. Everything else is kept as the bytes that were sent.
- So two bodies that say different things are never recorded as one.
- To *recognise* a body, it may be read loosely: its receiver may do so too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import NoReturn, cast

from muniment.encoding.codec import encode
from muniment.errors import ValueRefused
from muniment_plugins.providers.secrets.masking import cut
from muniment_plugins.providers.secrets.places import Span
from muniment_plugins.providers.secrets.wide_texts import wide_text

__all__ = ["VOLATILE", "Path", "exactly", "loosely", "without"]

VOLATILE = "[volatile]"
"""What replaces a value that differs between equal requests."""

Path = tuple[str, ...]
"""The member names that lead to a value; lists on the way do not count."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)


def exactly(body: bytes) -> object:
    """Return the value that *body* says, if a record can say exactly the same.

    Raises:
        ValueError: it cannot, or *body* is not JSON.

    """
    try:
        value: object = json.loads(
            body.decode(),
            object_pairs_hook=_once,
            parse_float=_float,
            parse_int=_integer,
            parse_constant=_refused,
        )
        encode({"body": {"json": value}})  # nested as deep as in the record
    except (RecursionError, ValueRefused, ArithmeticError) as error:
        raise ValueError(str(error)) from None
    return value


def loosely(body: bytes) -> object:
    """Return what most readers take *body* for; if too deep, its outermost texts.

    Raises:
        ValueError: it is not JSON.

    """
    try:
        return cast("object", json.loads(body, parse_int=float))
    except RecursionError:
        text = body.decode("utf-8", "replace")
        return {
            path[0]: _text(text[start:stop])
            for path, start, stop in _members(text, 1)
            if text[start] == '"'
        }


def without(body: bytes, paths: Collection[Path]) -> bytes:
    """Return *body* without the values at *paths*, if it is JSON in any spelling."""
    if not paths:
        return body
    try:
        loosely(body)
    except ValueError:
        return body
    wide = wide_text(body)
    text = body.decode("utf-8", "surrogateescape") if wide is None else wide.text
    spans: list[Span] = []
    found = _members(text, max(map(len, paths)))
    for path, start, stop in sorted(found, key=lambda one: one[1]):
        within = bool(spans) and start < spans[-1].stop
        if path in paths and not within:
            spans.append(Span(start, stop, written=f'"{VOLATILE}"'))
    if not spans:
        return body
    if wide is None:
        return cut(text, spans).encode("utf-8", "surrogateescape")
    return cut(body.decode("latin-1"), map(wide.placed, spans)).encode("latin-1")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands there twice")
    return members


def _float(text: str) -> float:
    value = float(text)
    shortest = repr(value)
    if shortest != text and Decimal(shortest) != Decimal(text):
        raise ValueError("a number that no float is")
    return value


def _integer(text: str) -> int:
    if text == "-0":
        raise ValueError("a zero with a sign")
    return int(text)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _members(text: str, deepest: int) -> Iterator[tuple[Path, int, int]]:
    """Yield path, begin and end of members in *text*, up to *deepest* names deep.

    Without recursion, since the sender decides how deep a body is nested.
    """
    opened: list[tuple[str, int]] = []  # each bracket, and where it is
    path: list[str] = []
    names = False  # whether the next text is a name
    for token in _TOKEN.finditer(text):
        sign, start = token[0], token.start()
        if sign in ("{", "["):
            opened.append((sign, start))
            names = sign == "{"
            continue
        if sign == ",":
            names = bool(opened) and opened[-1][0] == "{"
            continue
        if sign == ":":
            continue
        if names and sign.startswith('"'):
            path.append(_text(sign))
            names = False
            continue
        if sign in ("}", "]"):
            if not opened:
                return
            names = False
            _, start = opened.pop()
        if path and opened and opened[-1][0] == "{":
            if len(path) <= deepest:
                yield (*path,), start, token.end()
            path.pop()


def _text(token: str) -> str:
    try:
        return cast("str", json.loads(token, strict=False))
    except ValueError:
        return token
