"""Transforms of the data, after which the code runs on it again.

    permute_rows           another order of the rows; each table of a tuple has its own
    permute_rows_aligned   one other order for all tables or columns
    identity               the same again

Rules:

- A permutation is never only one reversal: the reversal is the first of several, and
  the others are drawn from recorded seeds, like everything that is drawn.
- A transform names its relations, and says what it expects of an equivariant metric.
- Transforms that change values are in `alterations`; `built_in_transforms` names all.
- Data that lacks the rows, numbers, labels or columns that a transform needs is
  refused; nothing is passed on unchanged by accident.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

from muniment_plugins.harness.tables import refuse_data, take

__all__ = [
    "Draw",
    "Identity",
    "Permute",
    "PermuteAligned",
    "Transform",
    "Variant",
    "permuted",
]

Draw = Callable[[], int]
Expect = Callable[[object], object]

_SHUFFLED = 4096


@dataclass(frozen=True, slots=True)
class Variant:
    """Transformed data, the seed that made it, if any, and what is expected of it.

    ``expected`` maps an equivariant metric, such as one with a value for each row, to
    what it must be now; None if the transform cannot say.
    """

    data: object
    seed: int | None = None
    expected: Expect | None = None


class Transform(Protocol):
    """A way to change data: its relations, the usual one first, and its variants."""

    relations: ClassVar[tuple[str, ...]]
    direction: ClassVar[str | None]

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the variants of *data*: *count* of them if a seed decides."""
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
    """A permutation of rows; each table of a tuple has its own."""

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


def permuted(length: int, seed: int | None) -> list[int]:
    """Return the positions from 0 to *length* in another order; None reverses them."""
    positions = list(range(length))
    if seed is None:
        return positions[::-1]
    source = random.Random(seed)  # noqa: S311 - an order, no secret
    if length <= _SHUFFLED:
        source.shuffle(positions)
        return positions
    # Shuffling a million takes a second. A grid with shuffled rows and columns, read
    # down the columns, separates all neighbours as well.
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
