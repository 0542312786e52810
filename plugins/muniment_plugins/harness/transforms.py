"""What data is turned into before the code runs on it again.

    permute_rows           another order of the rows; of each table of a tuple its own
    permute_rows_aligned   one other order for all tables or columns
    identity               the same again
    scale, shift           every number times ``factor``, plus ``by``
    duplicate_rows         every row ``times`` times
    drop_rows              without ``count`` rows
    add_noise              every number plus a normal one of deviation ``sd``
    relabel                the labels renamed, each to another one of them
    column_permute         another order of the columns

Rules:

- A permutation is never one reversal: the reversal is the first of several, the others
  are drawn from recorded seeds; so is everything else that is drawn.
- A transform says what its relation is, and what it can tell of an equivariant metric.
- Data without rows, numbers, labels or columns, where they are needed, is refused;
  nothing is passed on as it was by accident.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol, cast

from muniment.canonical import canonical
from muniment.values import encode
from muniment_plugins.harness.requiring import is_amount, refuse, refuse_unknown
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

__all__ = ["BUILT_IN", "Draw", "Transform", "Variant", "built_in"]

Draw = Callable[[], int]
Expect = Callable[[object], object]

_NUMBERS = "iuf"
_LABELS = "biuU"
_SHUFFLED = 4096


@dataclass(frozen=True, slots=True)
class Variant:
    """Transformed data, the seed that made it where one did, and what it tells.

    ``expected`` gives what a metric with a value for each row, or one that goes with
    the data, must be now; None where the transform cannot say.
    """

    data: object
    seed: int | None = None
    expected: Expect | None = None


class Transform(Protocol):
    """A way to change data: its relations, the usual one first, and its variants."""

    relations: ClassVar[tuple[str, ...]]
    direction: ClassVar[str | None]

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return what *data* is turned into: *count* times where a seed decides."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """The data as it is: a test of repetition."""

    relations: ClassVar[tuple[str, ...]] = ("invariant",)
    direction: ClassVar[str | None] = None

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return *data*, once."""
        del draw, count
        return [Variant(data)]


@dataclass(frozen=True, slots=True)
class Permute:
    """A permutation of rows, ``aligned`` across the tables of a tuple or not."""

    relations: ClassVar[tuple[str, ...]] = ("invariant", "equivariant")
    direction: ClassVar[str | None] = None
    aligned: bool = False

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the reversal and *count* - 1 permutations from drawn seeds."""
        seeds = [draw() for _ in range(count - 1)]
        return [self._variant(data, seed) for seed in (None, *seeds)]

    def _variant(self, data: object, seed: int | None) -> Variant:
        orders: list[list[int]] = []

        def order(length: int) -> list[int]:
            # One generator for each seed and length: equal lengths, equal orders.
            own = 0 if self.aligned else len(orders)
            orders.append(_permuted(length, None if seed is None else seed + own))
            return orders[-1]

        permuted = take(data, order, aligned=self.aligned)
        one = all(other == orders[0] for other in orders)
        return Variant(permuted, seed, _reordered(orders[0]) if one else None)


@dataclass(frozen=True, slots=True)
class Scale:
    """Every number, or those of one part, times ``factor``."""

    relations: ClassVar[tuple[str, ...]] = ("equivariant", "invariant", "monotone")
    direction: ClassVar[str | None] = "increasing"
    factor: float = 2
    part: object = None

    def __post_init__(self) -> None:
        _require_number(self.factor, "scale.factor")

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

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the shifted data."""
        del draw, count

        def shift(value: object) -> object:
            return value + self.by if _is_number(value) else value  # type: ignore[operator]

        changed = _with_numbers(data, self.part, shift)
        return [Variant(changed, expected=_each(shift))]


@dataclass(frozen=True, slots=True)
class DuplicateRows:
    """All rows, ``times`` times one after the other."""

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
        """Return the data without rows that are drawn, *count* times."""
        return [self._without(data, draw()) for _ in range(count)]

    def _without(self, data: object, seed: int) -> Variant:
        def order(length: int) -> list[int]:
            if length <= self.count:
                refuse_data(f"of {length} rows {self.count} cannot be dropped")
            return sorted(_permuted(length, seed)[self.count :])

        return Variant(take(data, order, aligned=True), seed)


@dataclass(frozen=True, slots=True)
class AddNoise:
    """Every number, or those of one part, plus noise of deviation ``sd``."""

    relations: ClassVar[tuple[str, ...]] = ("invariant", "monotone")
    direction: ClassVar[str | None] = None
    sd: float = 1e-9
    part: object = None

    def __post_init__(self) -> None:
        if not is_amount(self.sd) or not self.sd:
            refuse(f"{self.sd!r} is no deviation", "add_noise.sd", "give > 0")

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
    """The labels, in the last part of a tuple or in ``part``, renamed among them."""

    relations: ClassVar[tuple[str, ...]] = ("invariant",)
    direction: ClassVar[str | None] = None
    part: object = None

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the data with other names for its labels, *count* times."""
        return [self._renamed(data, draw()) for _ in range(count)]

    def _renamed(self, data: object, seed: int) -> Variant:
        part = self.part
        if part is None and tables_of(data) is not None:
            part = -1

        def rename(labels: object) -> object:
            known = _labels(labels)
            order = _permuted(len(known), seed)
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
        """Return the reversal of the columns and *count* - 1 drawn orders."""
        seeds = [None, *(draw() for _ in range(count - 1))]
        return [Variant(self._permuted(data, seed), seed) for seed in seeds]

    def _permuted(self, data: object, seed: int | None) -> object:
        part = self.part
        if part is None and tables_of(data) is not None:
            part = 0

        def permute(table: object) -> object:
            width = width_of(table)
            if width is None:
                refuse_data(f"a {type(table).__name__} has no columns that have orders")
            return take_columns(table, _permuted(width, seed))

        return map_part(data, part, permute)


BUILT_IN: Mapping[str, Callable[..., Transform]] = {
    "add_noise": AddNoise,
    "column_permute": ColumnPermute,
    "drop_rows": DropRows,
    "duplicate_rows": DuplicateRows,
    "identity": Identity,
    "permute_rows": lambda: Permute(aligned=False),
    "permute_rows_aligned": lambda: Permute(aligned=True),
    "relabel": Relabel,
    "scale": Scale,
    "shift": Shift,
}
"""The transforms that every spec may name."""


def built_in(name: str, arguments: Mapping[str, object], place: str) -> Transform:
    """Return the transform *name* with its *arguments*; unknown ones are refused."""
    make = BUILT_IN[name]
    known = [one.name for one in fields(make)] if isinstance(make, type) else []
    refuse_unknown(arguments, known, f"{place}.arguments")
    return make(**arguments)


def _permuted(length: int, seed: int | None) -> list[int]:
    positions = list(range(length))
    if seed is None:
        return positions[::-1]
    source = random.Random(seed)  # noqa: S311 - an order, no secret
    if length <= _SHUFFLED:
        source.shuffle(positions)
        return positions
    # Shuffling a million takes a second. A grid with its rows and its columns shuffled,
    # read down the columns, separates all neighbours as well.
    width = math.isqrt(length)
    rows, columns = list(range(0, length, width)), list(range(width))
    source.shuffle(rows)
    source.shuffle(columns)
    return [at for column in columns for row in rows if (at := row + column) < length]


def _reordered(order: list[int]) -> Expect:
    def expected(value: object) -> object:
        items = cast("list[object]", value) if isinstance(value, list) else []
        if len(items) != len(order):
            refuse_data("an equivariant metric of rows is a list of one value for each")
        return [items[position] for position in order]

    return expected


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
            refuse_data(f"{one!r} is a {kind.__name__}, and no label")
    return sorted(found, key=lambda one: canonical(encode(one[1])))


def _require_number(value: object, place: str) -> None:
    if not is_amount(abs(value) if _is_number(value) else value):  # type: ignore[arg-type]
        refuse(f"{value!r} is no finite number", place, "give one")


def _require_count(value: object, least: int, place: str) -> None:
    if type(value) is not int or value < least:
        refuse(f"{value!r} is no such count", place, f"give {least} or more")
