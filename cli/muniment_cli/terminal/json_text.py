"""Any value as a text of JSON.

Rules:

- The text is JSON, whatever the value is: every reader takes it. A number that JSON lacks
  is ``{"$float": "nan"}``, as in events; bytes are hexadecimal, sets are sorted lists,
  names of members are texts, and what is nothing of JSON is written as Python writes it.
- What JSON has is written as it is.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

__all__ = ["json_text", "plain_json"]


def json_text(value: object, indent: int | None = None) -> str:
    """Return *value* as JSON, on one line unless *indent* is given."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(
            value,
            default=plain_json,
            allow_nan=False,
            ensure_ascii=False,
            indent=indent,
            separators=separators,
        )
    except (TypeError, ValueError):  # it has something that JSON lacks, somewhere
        return json.dumps(
            _sound(value), ensure_ascii=False, indent=indent, separators=separators
        )


def _sound(value: object) -> object:
    """Return *value* with JSON in place of all that JSON lacks."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {_name(key): _sound(one) for key, one in members.items()}
    if isinstance(value, list | tuple):
        return [_sound(one) for one in cast("list[object]", value)]
    return _sound(plain_json(value))


def _name(key: object) -> str:
    return key if isinstance(key, str) else str(key)


def plain_json(value: object) -> object:
    """Return a JSON value in place of one that JSON lacks."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: cast("object", getattr(value, one.name))
            for one in dataclasses.fields(value)
        }
    match value:
        case bytes():
            return value.hex()
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case set() | frozenset():
            return _sorted(cast("frozenset[object]", value))
        case _:
            return str(value)


def _sorted(values: frozenset[object]) -> list[object]:
    try:
        return [*sorted(cast("frozenset[str]", values))]
    except TypeError:  # of several types, which have no order
        return sorted(values, key=lambda one: (type(one).__name__, repr(one)))
