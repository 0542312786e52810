"""Another copy of a value that came out of a record: equal and independent.

    given = duplicate(rows)     given == rows, and changing it does not change rows

Rules:

- The copy is what ``decode(encode(value))`` gives, types and layout of arrays included;
  a list that occurs twice in the value becomes two lists.
- Plain data and arrays are copied in memory: writing a million rows and reading them
  again takes ten times as long. Everything else is encoded and decoded.
- Immutable values are not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from muniment.encoding.codec import settle
from muniment.encoding.registry import ValueTypes
from muniment.encoding.scalars import SCALARS_BY_CLASS
from muniment.lazy import loaded

__all__ = ["duplicate"]

_FIXED: frozenset[type[object]] = frozenset(
    {bool, float, int, str, type(None), *SCALARS_BY_CLASS}
)
_NO_TYPES = ValueTypes()


def duplicate(value: object, types: ValueTypes = _NO_TYPES) -> object:
    """Return another copy of *value*.

    Raises:
        ValueRefused: it has no exact form, so it cannot have come from a record.

    """
    kind: type[object] = type(value)
    if kind in _FIXED:
        return value
    copier = _COPIERS.get(kind)
    if copier is not None:
        return copier(value, types)
    if kind is loaded("numpy", "ndarray") and not cast("Any", value).dtype.hasobject:
        return _array(value)
    return settle(value, types)


def _list(value: Any, types: ValueTypes) -> object:
    if _FIXED.issuperset(map(type, value)):
        return value.copy()
    return [duplicate(item, types) for item in value]


def _tuple(value: Any, types: ValueTypes) -> object:
    return tuple(duplicate(item, types) for item in value)


def _dict(value: Any, types: ValueTypes) -> object:
    if not _FIXED.issuperset(map(type, value)):
        return settle(value, types)
    return {key: duplicate(item, types) for key, item in value.items()}


def _array(value: Any) -> object:
    """Return a copy in the order that ``.npy`` keeps: Fortran's if it has no other."""
    flags = value.flags
    return value.copy("F" if flags.f_contiguous and not flags.c_contiguous else "C")


_COPIERS: Mapping[type[object], Callable[[Any, ValueTypes], object]] = {
    dict: _dict,
    list: _list,
    tuple: _tuple,
}
