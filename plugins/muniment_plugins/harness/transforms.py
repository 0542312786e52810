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
- What changes values stands in `alterations`, and is loaded when a spec names it.
- Data without rows, numbers, labels or columns, where they are needed, is refused;
  nothing is passed on as it was by accident.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

from muniment_plugins.harness.requiring import refuse_unknown
from muniment_plugins.harness.tables import refuse_data, take

__all__ = [
    "BUILT_IN",
    "Draw",
    "Identity",
    "Permute",
    "PermuteAligned",
    "Transform",
    "Variant",
    "built_in",
    "permuted",
]

Draw = Callable[[], int]
Expect = Callable[[object], object]

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


class Identity:
    """The data as it is: a test of repetition."""

    relations: ClassVar[tuple[str, ...]] = ("invariant",)
    direction: ClassVar[str | None] = None

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return *data*, once."""
        del draw, count
        return [Variant(data)]


class Permute:
    """A permutation of rows; of each table of a tuple another one."""

    relations: ClassVar[tuple[str, ...]] = ("invariant", "equivariant")
    direction: ClassVar[str | None] = None
    aligned: ClassVar[bool] = False

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the reversal and *count* - 1 permutations from drawn seeds."""
        seeds = [draw() for _ in range(count - 1)]
        return [self._variant(data, seed) for seed in (None, *seeds)]

    def _variant(self, data: object, seed: int | None) -> Variant:
        orders: list[list[int]] = []

        def order(length: int) -> list[int]:
            # One generator for each seed and length: equal lengths, equal orders.
            own = 0 if self.aligned else len(orders)
            orders.append(permuted(length, None if seed is None else seed + own))
            return orders[-1]

        other = take(data, order, aligned=self.aligned)
        one = all(each == orders[0] for each in orders)
        return Variant(other, seed, _reordered(orders[0]) if one else None)


class PermuteAligned(Permute):
    """A permutation of rows that all tables of a tuple share."""

    aligned: ClassVar[bool] = True


BUILT_IN: Mapping[str, str] = {
    "add_noise": "AddNoise",
    "column_permute": "ColumnPermute",
    "drop_rows": "DropRows",
    "duplicate_rows": "DuplicateRows",
    "identity": "Identity",
    "permute_rows": "Permute",
    "permute_rows_aligned": "PermuteAligned",
    "relabel": "Relabel",
    "scale": "Scale",
    "shift": "Shift",
}
"""The transforms that every spec may name, and their classes."""

_HERE: Mapping[str, Callable[..., Transform]] = {
    one.__name__: one for one in (Identity, Permute, PermuteAligned)
}


def built_in(name: str, arguments: Mapping[str, object], place: str) -> Transform:
    """Return the transform *name* with its *arguments*; unknown ones are refused."""
    make = _HERE.get(BUILT_IN[name])
    if make is None:
        from muniment_plugins.harness import alterations  # noqa: PLC0415 - when named

        make = cast("Callable[..., Transform]", getattr(alterations, BUILT_IN[name]))
    known = cast("Mapping[str, object]", getattr(make, "__dataclass_fields__", {}))
    refuse_unknown(arguments, known, f"{place}.arguments")
    return make(**arguments)


def permuted(length: int, seed: int | None) -> list[int]:
    """Return the positions from 0 to *length* in another order; None reverses them."""
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
