"""Which values are JSON as they are, and come back as they were.

    is_plain({"n": [1, 2.5, "x"]}, 0)     True: `muniment.values` leaves it alone
    is_plain({"n": 3.0}, 0)               False: JSON has one kind of number

Rule: nearly all values take this path, so that it looks at each once, and at many of one
kind together.
"""

from __future__ import annotations

import math
from typing import Any, cast

import orjson

from muniment.canonical import MAX_DEPTH, MAX_INTEGER

__all__ = ["is_plain"]


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
    """Tell it of many rows without a call for each: most lists hold one kind."""
    kinds: set[type[object]] = set(map(type, items))
    if kinds == {int}:
        return _are_small(items)
    if kinds == {float}:
        finite = all(map(math.isfinite, items))
        return finite and not any(map(float.is_integer, items))
    return all(is_plain(item, depth) for item in items)


def _are_small(integers: list[int]) -> bool:
    """Tell whether all are within ±(2^53 - 1): writing them takes less than a loop."""
    try:
        orjson.dumps(integers, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:
        return False
    return True


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
