"""Which values are JSON as they are, and come back as they were.

    is_plain({"n": [1, 2.5, "x"]}, 0)     True: `muniment.encoding.codec` leaves it alone
    is_plain({"n": 3.0}, 0)               False: JSON has one kind of number

Rule: nearly all values take this path, so it looks at each value once, and at many of
one class together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import repeat
from operator import itemgetter
from typing import Any, cast

import orjson

from muniment.encoding.canonical import MAX_DEPTH, MAX_INTEGER, parse
from muniment.encoding.scan import MANY, are_fractions, fits

__all__ = ["as_it_is", "is_plain", "reread"]

_FLAT: frozenset[type[object]] = frozenset({bool, float, int, str, type(None)})
_LONG = 64 * 1024
"""From this many bytes on, looking for lists that can be copied pays off."""


def as_it_is(value: object) -> bytes | None:
    """Return *value* as JSON in its own order, or None if JSON does not preserve it."""
    if not fits([value], MAX_DEPTH, _are_names, are_fractions):
        return None
    return _text(value)


def is_plain(value: object, depth: int) -> bool:
    """Tell whether JSON holds *value* as it is; the path of nearly all values."""
    kind: type[object] = type(value)
    if kind is str:
        return _is_utf8(cast("str", value))
    if kind is dict or kind is list:
        return depth < MAX_DEPTH and _is_plain_inside(value, depth + 1)
    if kind is int:
        return -MAX_INTEGER <= cast("int", value) <= MAX_INTEGER
    if kind is float:
        number = cast("float", value)
        return math.isfinite(number) and not number.is_integer()
    return kind is bool or value is None


def reread(value: object, data: bytes) -> object:
    """Return the value of *data*, the canonical bytes of the plain *value*.

    A list of scalars is copied, and so are columns of them: reading a million takes
    longer than writing them.
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
        return None  # RFC 8785 orders by UTF-16 units, Python by characters
    return {
        name: [*cast("list[object]", column)] if type(column) is list else column
        for name, column in sorted(columns.items(), key=itemgetter(0))
    }


def _is_flat(value: object, data: bytes) -> bool:
    """Tell whether *value* is a list without containers; its *data* may show it."""
    if type(value) is not list:
        return False
    if data and b"{" not in data and data.find(b"[", 1) < 0:
        return True
    return _FLAT.issuperset(map(type, cast("list[object]", value)))


def _is_plain_inside(container: Any, depth: int) -> bool:
    if type(container) is list:
        return _is_plain_list(cast("list[object]", container), depth)
    for key, item in container.items():
        if type(key) is not str or key[:1] == "$" or not _is_utf8(key):
            return False
        # Most are short texts, which are checked without another call.
        if not (type(item) is str and item.isascii()) and not is_plain(item, depth):
            return False
    return True


def _is_plain_list(items: list[Any], depth: int) -> bool:
    if len(items) < MANY:
        for item in items:
            if not (type(item) is str and item.isascii()) and not is_plain(item, depth):
                return False
        return True
    room = MAX_DEPTH - depth
    return fits(items, room, _are_names, are_fractions) and _text(items) is not None


def _are_names(names: Iterable[str]) -> bool:
    return not any(map(str.startswith, names, repeat("$")))


def _text(value: object) -> bytes | None:
    """Return the JSON; None for an integer beyond 53 bits, or a lone surrogate.

    Writing them all is faster than looking at each.
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
