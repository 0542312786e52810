"""Refuses data whose order would differ from worker to worker.

    refuse_unordered({1.0, float("nan")})      ValueRefused, capsule/data-order

Rule: text and numbers hash alike everywhere, so that sets of them keep their order. NaN
is hashed by its address, and has no fixed place in a set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.errors import ValueRefused

__all__ = ["refuse_unordered"]

_SETS = (set, frozenset)
_SEQUENCES = (list, tuple, *_SETS)


def refuse_unordered(data: object, place: str = "data") -> None:
    """Refuse a set anywhere in *data* that holds NaN.

    Raises:
        ValueRefused: there is one (rule ``capsule/data-order``).

    """
    if isinstance(data, _SETS) and _holds_nan(data):
        raise ValueRefused(
            f"{place} is a set that holds NaN, whose place in it nobody can tell",
            rule="capsule/data-order",
            place=place,
            remedy="pass a list, or leave NaN out of the set",
        )
    items: Any = ()
    if isinstance(data, Mapping):
        items = ((f"{place}[{key!r}]", item) for key, item in _members(data))
    elif isinstance(data, _SEQUENCES):
        items = ((f"{place}[{number}]", item) for number, item in enumerate(_all(data)))
    for inner, item in items:
        refuse_unordered(item, inner)


def _members(mapping: Any) -> Any:
    return mapping.items()


def _all(items: Any) -> Any:
    return items


def _holds_nan(value: Any) -> bool:
    if isinstance(value, (tuple, *_SETS)):
        return any(_holds_nan(item) for item in _all(value))
    return bool(value != value)  # noqa: PLR0124 - true of NaN alone
