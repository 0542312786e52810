"""The variants of the data on which a property is tested: all that differ.

Rule: values are the same if type and content are; 1 and 1.0 differ, NaN is NaN, and the
order of a mapping's keys does not count. A variant that equals the data, or an earlier
variant, tests nothing and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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

__all__ = ["Own", "different", "same"]


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
    transform: Transform, data: object, draw: Draw, count: int
) -> list[Variant]:
    """Return variants of *data* that differ from it and from each other.

    An empty list means that *transform* changed nothing.
    """
    made = transform.variants(data, draw, count)
    if isinstance(transform, Identity):
        return made
    kept: list[Variant] = []
    for variant in made:
        others = [data, *(one.data for one in kept)]
        if not any(same(variant.data, other) for other in others):
            kept.append(variant)
    return kept


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same; see the module's rule."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        items = cast("list[object]", one)
        return len(items) == len(other) and all(map(same, items, other))
    if isinstance(one, Mapping):
        members = cast("Mapping[object, object]", one)
        return members.keys() == other.keys() and all(
            same(value, other[key]) for key, value in members.items()
        )
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
