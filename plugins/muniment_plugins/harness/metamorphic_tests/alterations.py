"""Transforms that change values, rows and columns beyond their order.

    scale {"factor": 2}    [1, 2.5]           ->  [2, 5.0]
    shift {"part": "x"}    {"x": [1], "y": …} ->  {"x": [2], "y": …}
    relabel                ([1, 2], ["a", "b"]) ->  ([1, 2], ["b", "a"])

Rules: numbers are int and float, not truth values; labels are texts, integers and
truth values. A transform refuses impossible arguments when it is made.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from muniment.encoding.canonical import canonical
from muniment.encoding.codec import encode
from muniment_plugins.harness.metamorphic_tests.transforms import (
    Draw,
    Variant,
    permuted,
)
from muniment_plugins.harness.requirements import is_amount, refuse
from muniment_plugins.harness.tables import (
    map_part,
    map_values,
    refuse_data,
    tables_of,
    take,
    take_columns,
    values_of,
    width_of,
)

__all__ = [
    "AddNoise",
    "ColumnPermute",
    "DropRows",
    "DuplicateRows",
    "Relabel",
    "Scale",
    "Shift",
]

Expect = Callable[[object], object]

_NUMBERS = "iuf"
_LABELS = "biuU"


@dataclass(frozen=True, slots=True)
class Scale:
    """Every number, or those of one part, times ``factor``."""

    relations: ClassVar[tuple[str, ...]] = ("equivariant", "invariant", "monotone")
    direction: ClassVar[str | None] = "increasing"
    factor: float = 2
    part: object = None

    def __post_init__(self) -> None:
        _require_number(self.factor, "scale.factor")

    @property
    def idle(self) -> bool:
        """Whether it changes no number."""
        return self.factor == 1

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the scaled data."""
        del draw, count

        def scale(value: object) -> object:
            return value * self.factor if _is_number(value) else value  # type: ignore[operator]

        changed = _with_numbers(data, self.part, scale)
        return [Variant(changed, expected=_each(scale))]


@dataclass(frozen=True, slots=True)
class Shift:
    """Every number, or those of one part, plus ``by``."""

    relations: ClassVar[tuple[str, ...]] = ("equivariant", "invariant", "monotone")
    direction: ClassVar[str | None] = "increasing"
    by: float = 1
    part: object = None

    def __post_init__(self) -> None:
        _require_number(self.by, "shift.by")

    @property
    def idle(self) -> bool:
        """Whether it changes no number."""
        return not self.by

    @property
    def demand(self) -> float:
        """By how much every equivariant number has to change."""
        return abs(self.by)

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the shifted data."""
        del draw, count

        def shift(value: object) -> object:
            return value + self.by if _is_number(value) else value  # type: ignore[operator]

        changed = _with_numbers(data, self.part, shift)
        return [Variant(changed, expected=_each(shift))]


@dataclass(frozen=True, slots=True)
class DuplicateRows:
    """All rows, repeated ``times`` times."""

    relations: ClassVar[tuple[str, ...]] = ("invariant", "equivariant", "monotone")
    direction: ClassVar[str | None] = "increasing"
    times: int = 2

    def __post_init__(self) -> None:
        _require_count(self.times, 2, "duplicate_rows.times")

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the longer data."""
        del draw, count

        def order(length: int) -> list[int]:
            return list(range(length)) * self.times

        def expected(value: object) -> object:
            return value * self.times  # type: ignore[operator] # lists grow as well

        return [Variant(take(data, order, aligned=True), expected=expected)]


@dataclass(frozen=True, slots=True)
class DropRows:
    """All rows but ``count`` of them."""

    relations: ClassVar[tuple[str, ...]] = ("monotone", "invariant")
    direction: ClassVar[str | None] = "decreasing"
    count: int = 1

    def __post_init__(self) -> None:
        _require_count(self.count, 1, "drop_rows.count")

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the data without randomly drawn rows, *count* times."""
        return [self._without(data, draw()) for _ in range(count)]

    def _without(self, data: object, seed: int) -> Variant:
        def order(length: int) -> list[int]:
            if length <= self.count:
                refuse_data(f"of {length} rows {self.count} cannot be dropped")
            return sorted(permuted(length, seed)[self.count :])

        return Variant(take(data, order, aligned=True), seed)


@dataclass(frozen=True, slots=True)
class AddNoise:
    """Every number, or those of one part, plus noise of standard deviation ``sd``."""

    relations: ClassVar[tuple[str, ...]] = ("invariant", "monotone")
    direction: ClassVar[str | None] = None
    sd: float = 1e-9
    part: object = None

    def __post_init__(self) -> None:
        if not is_amount(self.sd) or not self.sd:
            refuse(f"{self.sd!r} is not a deviation", "add_noise.sd", "give > 0")

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the noisy data, *count* times."""
        return [self._noisy(data, draw()) for _ in range(count)]

    def _noisy(self, data: object, seed: int) -> Variant:
        source = random.Random(seed)  # noqa: S311 - noise, no secret

        def add(value: object) -> object:
            noise = source.gauss(0, self.sd) if _is_number(value) else 0
            return value + noise if _is_number(value) else value  # type: ignore[operator]

        return Variant(_with_numbers(data, self.part, add), seed)


@dataclass(frozen=True, slots=True)
class Relabel:
    """The labels in the last part of a tuple or in ``part``, exchanged."""

    relations: ClassVar[tuple[str, ...]] = ("invariant",)
    direction: ClassVar[str | None] = None
    part: object = None

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the data with its labels exchanged, *count* times."""
        return [self._renamed(data, draw()) for _ in range(count)]

    def _renamed(self, data: object, seed: int) -> Variant:
        part = self.part
        if part is None and tables_of(data) is not None:
            part = -1

        def rename(labels: object) -> object:
            known = _labels(labels)
            order = permuted(len(known), seed)
            names = {known[at]: known[to] for at, to in enumerate(order)}
            return map_values(labels, lambda one: names[(type(one), one)][1], _LABELS)

        return Variant(map_part(data, part, rename), seed)


@dataclass(frozen=True, slots=True)
class ColumnPermute:
    """Another order of the columns, in the first part of a tuple or in ``part``."""

    relations: ClassVar[tuple[str, ...]] = ("invariant",)
    direction: ClassVar[str | None] = None
    part: object = None

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the reversed columns and *count* - 1 drawn orders."""
        seeds = [None, *(draw() for _ in range(count - 1))]
        return [Variant(self._permuted(data, seed), seed) for seed in seeds]

    def _permuted(self, data: object, seed: int | None) -> object:
        part = self.part
        if part is None and tables_of(data) is not None:
            part = 0

        def permute(table: object) -> object:
            width = width_of(table)
            if width is None:
                refuse_data(
                    f"a value of type {type(table).__name__} has no columns that have orders"
                )
            return take_columns(table, permuted(width, seed))

        return map_part(data, part, permute)


def _each(change: Expect) -> Expect:
    return lambda value: map_values(value, change, _NUMBERS)


def _with_numbers(data: object, part: object, change: Expect) -> object:
    return map_part(data, part, lambda one: map_values(one, change, _NUMBERS))


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _is_label(value: object) -> bool:
    return type(value) in (bool, int, str)


def _labels(part: object) -> list[tuple[type, object]]:
    found = {(type(one), one) for one in values_of(part)}
    for kind, one in found:
        if not _is_label(one):
            refuse_data(f"{one!r} is of type {kind.__name__}, and no label")
    return sorted(found, key=lambda one: canonical(encode(one[1])))


def _require_number(value: object, place: str) -> None:
    if not is_amount(abs(value) if _is_number(value) else value):  # type: ignore[arg-type]
        refuse(f"{value!r} is not a finite number", place, "give one")


def _require_count(value: object, least: int, place: str) -> None:
    if type(value) is not int or value < least:
        refuse(f"{value!r} is no such count", place, f"give {least} or more")
