"""Where two measurements differ, number by number, however each number is recorded.

    1.1                     as it is
    {"$float": "1.0"}       a float that is whole, which JSON would take for an integer

Rule: a number is one value, and differs as a whole from another. ``1`` and ``1.0`` are two
values, and 0 apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode
from muniment.errors import WrongError
from muniment.recorded.compare import differences

__all__ = ["metric_differences", "number_of"]

_TAGS = ("$float", "$int")


@dataclass(frozen=True, slots=True)
class _Number:
    """A number under a tag, as one value."""

    tag: str
    text: str


def metric_differences(
    expected: Mapping[str, JsonValue], got: Mapping[str, JsonValue]
) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yield path, expected and got of each value in which two measurements differ."""
    for path, was, now in differences(_folded({**expected}), _folded({**got})):
        yield path, _unfolded(was), _unfolded(now)


def number_of(value: JsonValue) -> int | float | None:
    """Return the number that *value* holds under a tag; None if it holds none."""
    if not isinstance(_folded(value), _Number):
        return None
    try:
        return cast("int | float", decode(value))
    except WrongError:
        return None


def _folded(value: JsonValue) -> JsonValue:
    """Return *value* with one value in place of each number under a tag."""
    if isinstance(value, list):
        return [_folded(one) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, text),) = value.items()
        if tag in _TAGS and isinstance(text, str):
            return cast("JsonValue", _Number(tag, text))
    return {name: _folded(one) for name, one in value.items()}


def _unfolded(value: JsonValue) -> JsonValue:
    one: object = value
    if isinstance(one, _Number):
        return {one.tag: one.text}
    if isinstance(value, list):
        return [_unfolded(each) for each in value]
    if isinstance(value, dict):
        return {name: _unfolded(each) for name, each in value.items()}
    return value
