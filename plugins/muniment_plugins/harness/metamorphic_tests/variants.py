"""The variants of the data on which a property is tested: all that differ.

Rules:

- Data is alike if its values are: 1 and 1.0 are one value, and so are those of an array
  of integers and of one of floats. NaN is NaN, a truth value is no number, and the order
  of a mapping's keys does not count. A variant that is like the data, or like an earlier
  variant, tests nothing and is left out.
- Until the third edition of plans, values were the same only if their types were, so
  that 1 and 1.0 differed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, cast

from muniment_plugins.harness.frozen import freeze, thaw_members
from muniment_plugins.harness.functions.handouts import handed, kept
from muniment_plugins.harness.metamorphic_tests.transforms import (
    Draw,
    Identity,
    Transform,
    Variant,
)
from muniment_plugins.harness.surroundings import here

__all__ = ["Own", "alike", "different", "same"]


@dataclass(frozen=True, slots=True)
class Own:
    """A user's transform, which gets a copy of the data."""

    relations: ClassVar[tuple[str, ...]] = ("invariant", "monotone")
    direction: ClassVar[str | None] = None
    function: Callable[..., object]
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return what the function returns."""
        del draw, count
        types = here().values
        thawed = thaw_members(self.arguments)
        arguments = cast("Mapping[str, object]", freeze(handed(thawed, types)))
        made = self.function(handed(data, types, "the data"), **arguments)
        return [Variant(kept(made, types))]


def different(
    transform: Transform,
    data: object,
    draw: Draw,
    count: int,
    *,
    by_value: bool = True,
) -> list[Variant]:
    """Return variants of *data* that differ from it and from each other.

    An empty list means that *transform* changed nothing. *by_value* is False for the rule
    of earlier editions.
    """
    equal = alike if by_value else same
    made = transform.variants(data, draw, count)
    if isinstance(transform, Identity):
        return made
    kept: list[Variant] = []
    for variant in made:
        others = [data, *(one.data for one in kept)]
        if not any(equal(variant.data, other) for other in others):
            kept.append(variant)
    return kept


def alike(one: Any, other: Any) -> bool:
    """Tell whether the values in two data sets are the same; see the module's rules."""
    if _is_number(one) and _is_number(other):
        return bool(one == other) or bool(one != one and other != other)  # noqa: PLR0124 - NaN
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple | Mapping):
        return _same_members(one, other, alike)
    parts, others = _parts(one), _parts(other)
    if parts is None or others is None:
        return bool(one == other)
    return same(one, other) or alike(parts, others)


def _is_number(value: object) -> bool:
    return type(value) is not bool and isinstance(value, Real)


def _parts(table: Any) -> list[object] | None:
    """Return what an array or a table consists of, as lists; None of other values."""
    if hasattr(table, "to_pydict"):
        return [list(table.column_names), [one.to_pylist() for one in table.columns]]
    if hasattr(table, "itertuples"):
        return [table.columns.tolist(), *map(list, table.itertuples())]
    if hasattr(table, "tolist") and hasattr(table, "shape"):
        index = getattr(table, "index", None)
        named: list[object] = [] if index is None else index.tolist()
        return [list(table.shape), named, table.tolist()]
    return None


def _same_members(one: Any, other: Any, equal: Callable[[Any, Any], bool]) -> bool:
    """Tell whether two lists, or two mappings, have *equal* members."""
    if isinstance(one, Mapping):
        members = cast("Mapping[object, object]", one)
        return members.keys() == other.keys() and all(
            equal(value, other[key]) for key, value in members.items()
        )
    return len(one) == len(other) and all(map(equal, one, other))


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same, and of the same type."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple | Mapping):
        return _same_members(one, other, same)
    if hasattr(one, "equals"):
        return bool(one.equals(other))
    if hasattr(one, "dtype"):
        return _same_array(one, other)
    return bool(one == other) or _is_nan(one, other)


def _same_array(one: Any, other: Any) -> bool:
    return bool(
        one.shape == other.shape
        and one.dtype == other.dtype
        and one.tobytes() == other.tobytes()
    )


def _is_nan(one: object, other: object) -> bool:
    if not isinstance(one, float) or not isinstance(other, float):
        return False
    return math.isnan(one) and math.isnan(other)
