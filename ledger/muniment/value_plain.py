"""Which values are JSON as they are, and come back as they were.

    is_plain({"n": [1, 2.5, "x"]}, 0)     True: `muniment.values` leaves it alone
    is_plain({"n": 3.0}, 0)               False: JSON has one kind of number

Rule: nearly all values take this path, so that it looks at each once, and at many of one
kind together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import repeat
from operator import itemgetter
from typing import Any, cast

import orjson

from muniment.bulk import MANY, are_fractions, fits
from muniment.canonical import MAX_DEPTH, MAX_INTEGER, parse

__all__ = ["as_it_is", "is_plain", "reread"]

_FLAT: frozenset[type[object]] = frozenset({bool, float, int, str, type(None)})
_LONG = 64 * 1024
"""From so many bytes on, looking for what can be copied is worth it."""


def as_it_is(value: object) -> bytes | None:
    """Return *value* as JSON, in the order it has, or None where that is not all."""
    if not fits([value], MAX_DEPTH, _are_names, are_fractions):
        return None
    return _text(value)


def is_plain(value: object, depth: int) -> bool:
    """Tell whether *value* is the same on both sides; the path of nearly all values."""
    kind: type[object] = type(value)
    if kind is dict or kind is list:
        return depth < MAX_DEPTH and _is_plain_inside(value, depth + 1)
    if kind is str:
        return _is_utf8(cast("str", value))
    if kind is int:
        return -MAX_INTEGER <= cast("int", value) <= MAX_INTEGER
    if kind is float:
        number = cast("float", value)
        return math.isfinite(number) and not number.is_integer()
    return kind is bool or value is None


def reread(value: object, data: bytes) -> object:
    """Return what reading *data* gives, the canonical bytes of the plain *value*.

    A list of scalars is copied, and so are columns of them: to read a million takes
    longer than to write them.
    """
    copied = _copied(value, data) if len(data) > _LONG else None
    return parse(data) if copied is None else copied


def _copied(value: object, data: bytes) -> object:
    if type(value) is list:
        items = cast("list[object]", value)
        return items.copy() if _is_flat(items, data) else None
    if type(value) is not dict:
        return None
    columns = cast("dict[str, object]", value)
    for column in columns.values():
        if type(column) not in _FLAT and not _is_flat(column, b""):
            return None
    if not all(map(str.isascii, columns)):
        return None  # the canonical order is not that of characters
    return {
        name: [*cast("list[object]", column)] if type(column) is list else column
        for name, column in sorted(columns.items(), key=itemgetter(0))
    }


def _is_flat(value: object, data: bytes) -> bool:
    """Tell whether *value* is a list without containers; its *data* may say so."""
    if type(value) is not list:
        return False
    if data and b"{" not in data and data.find(b"[", 1) < 0:
        return True
    return _FLAT.issuperset(map(type, cast("list[object]", value)))


def _is_plain_inside(container: object, depth: int) -> bool:
    if type(container) is list:
        return _is_plain_list(cast("list[Any]", cast("object", container)), depth)
    for key, item in cast("dict[object, object]", container).items():
        if type(key) is not str or key.startswith("$") or not _is_utf8(key):
            return False
        if not is_plain(item, depth):
            return False
    return True


def _is_plain_list(items: list[Any], depth: int) -> bool:
    if len(items) < MANY:
        return all(is_plain(item, depth) for item in items)
    room = MAX_DEPTH - depth
    return fits(items, room, _are_names, are_fractions) and _text(items) is not None


def _are_names(names: Iterable[str]) -> bool:
    return not any(map(str.startswith, names, repeat("$")))


def _text(value: object) -> bytes | None:
    """Return None if an integer is beyond ±(2^53 - 1), or a text has no UTF-8 form.

    Writing all of them takes less than a look at each.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:
        return None


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
