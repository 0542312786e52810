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
from typing import Any, cast

import orjson

from muniment.bulk import MANY, are_fractions, fits
from muniment.canonical import MAX_DEPTH, MAX_INTEGER

__all__ = ["as_it_is", "is_plain"]


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
