"""What data is turned into before the code runs on it again.

    permute_rows           another order of the rows; of each table of a tuple its own
    permute_rows_aligned   one other order for all tables or columns
    identity               the same again

Rules:

- A permutation is never one reversal: the reversal is the first of several, the others
  are drawn from recorded seeds.
- Data without rows, and columns of unequal length where they must stay aligned, are
  refused; nothing is passed on as it was by accident.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from muniment.canonical import canonical
from muniment.values import encode
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["BUILT_IN", "Permute", "Variant", "variants"]

Draw = Callable[[], int]
Order = Callable[[int], list[int]]


class _Array(Protocol):
    """What NumPy arrays offer: a shape, and rows by a list of positions."""

    shape: tuple[int, ...]

    def __getitem__(self, rows: list[int]) -> object: ...


@dataclass(frozen=True, slots=True)
class Variant:
    """Transformed data, and the seed that made it where one did."""

    data: object
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Permute:
    """A permutation of rows, ``aligned`` across the parts of the data or not."""

    aligned: bool

    def variants(self, data: object, draw: Draw, count: int) -> list[Variant]:
        """Return the reversal and *count* - 1 permutations from drawn seeds."""
        seeds = [draw() for _ in range(count - 1)]
        reversal = Variant(self._apply(data, _reversed))
        return [reversal, *(self._seeded(data, seed) for seed in seeds)]

    def _seeded(self, data: object, seed: int) -> Variant:
        def order(length: int) -> list[int]:
            # One generator for each seed and length: equal lengths, equal orders.
            return _shuffled(length, seed)

        if self._keeps(data):
            return Variant(self._apply(data, order), seed)
        parts = iter(range(1_000_000))
        return Variant(
            self._apply(data, lambda length: _shuffled(length, seed + next(parts))),
            seed,
        )

    def _keeps(self, data: object) -> bool:
        """Tell whether the parts of *data* stay aligned; columns of a table always."""
        return self.aligned or isinstance(data, Mapping)

    def _apply(self, data: object, order: Order) -> object:
        parts = _parts(data)
        if parts is None:
            return _rows(data, order)
        lengths = {_length(part) for part in parts}
        if self._keeps(data) and len(lengths) > 1:
            counts = ", ".join(map(str, sorted(lengths)))
            raise _refused(f"parts of {counts} rows cannot stay aligned")
        return _with_parts(data, [_rows(part, order) for part in parts])


BUILT_IN: Mapping[str, Permute | None] = {
    "identity": None,
    "permute_rows": Permute(aligned=False),
    "permute_rows_aligned": Permute(aligned=True),
}
"""The transforms that every spec may name; None leaves the data as it is."""


def variants(
    transform: Permute | Callable[[object], object] | None,
    data: object,
    draw: Draw,
    count: int,
) -> list[Variant]:
    """Return what *transform* makes of *data*: different from it, and from each other.

    An empty list says that the transform changed nothing.
    """
    if transform is None:
        return [Variant(data)]
    if isinstance(transform, Permute):
        made = transform.variants(data, draw, count)
    else:
        made = [Variant(transform(copy.deepcopy(data)))]
    seen = {canonical(encode(data))}
    different: list[Variant] = []
    for variant in made:
        form = canonical(encode(variant.data))
        if form not in seen:
            seen.add(form)
            different.append(variant)
    return different


def _reversed(length: int) -> list[int]:
    return list(range(length))[::-1]


def _shuffled(length: int, seed: int) -> list[int]:
    rows = list(range(length))
    random.Random(seed).shuffle(rows)  # noqa: S311 - a permutation, no secret
    return rows


def _parts(data: object) -> Sequence[object] | None:
    """Return the tables of a tuple or the columns of a mapping; None for one table."""
    if isinstance(data, Mapping):
        return list(cast("Mapping[object, object]", data).values())
    if isinstance(data, tuple):
        items = cast("tuple[object, ...]", data)
        return items if items and all(map(_has_rows, items)) else None
    return None


def _with_parts(data: object, parts: list[object]) -> object:
    if isinstance(data, Mapping):
        names = cast("Mapping[object, object]", data)
        return dict(zip(names, parts, strict=True))
    return tuple(parts)


def _has_rows(part: object) -> bool:
    return isinstance(part, list | tuple) or hasattr(part, "shape")


def _length(part: object) -> int:
    if isinstance(part, list | tuple):
        return len(cast("Sequence[object]", part))
    if hasattr(part, "shape"):
        return (*cast("_Array", part).shape, 0)[0]
    raise _refused(f"a {type(part).__name__} has no rows")


def _rows(part: object, order: Order) -> object:
    positions = order(_length(part))
    if isinstance(part, list | tuple):
        items = cast("Sequence[object]", part)
        permuted = [items[position] for position in positions]
        return tuple(permuted) if isinstance(part, tuple) else permuted
    return cast("_Array", part)[positions]


def _refused(message: str) -> HarnessRefused:
    return HarnessRefused(
        message,
        rule="harness/transform",
        place="permute_rows",
        remedy="pass rows as lists, tuples or arrays, or give a transform of your own",
    )
