"""What permutations keep, for all data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.harness.transforms import BUILT_IN, Permute, variants

PERMUTE, ALIGNED = Permute(aligned=False), Permute(aligned=True)


def draws() -> Iterator[int]:
    """Yield the seeds 0, 1, 2 and so on."""
    return itertools.count()


@given(st.lists(st.integers()))
def test_rows_are_kept_and_moved(rows: list[int]) -> None:
    """A permutation has the same rows, in another order than the data and each other."""
    made = variants(PERMUTE, rows, draws().__next__, 8)
    orders = [variant.data for variant in made]
    assert all(sorted(order) == sorted(rows) for order in orders)  # type: ignore[call-overload]
    assert rows not in orders
    assert len(orders) == len({str(order) for order in orders})
    assert bool(orders) == (len(set(rows)) > 1)


@given(st.lists(st.tuples(st.integers(), st.text()), min_size=2))
def test_aligned_parts_keep_their_pairs(pairs: list[tuple[int, str]]) -> None:
    """Parts that are permuted together still pair the same elements."""
    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    for variant in variants(ALIGNED, (left, right), draws().__next__, 4):
        assert isinstance(variant.data, tuple)
        first, second = variant.data
        assert sorted(zip(first, second, strict=True)) == sorted(pairs)


@given(st.lists(st.integers(), min_size=3, unique=True))
def test_the_reversal_is_among_them(rows: list[int]) -> None:
    """The guide's reversal is tried first, before any drawn order."""
    first = variants(PERMUTE, rows, draws().__next__, 2)[0]
    assert (first.data, first.seed) == (rows[::-1], None)


def test_columns_stay_aligned_and_arrays_keep_their_type() -> None:
    """Columns of a mapping are one table; an array stays an array."""
    table = {"x": [1, 2, 3], "y": np.array([10, 20, 30])}
    for variant in variants(PERMUTE, table, draws().__next__, 4):
        assert isinstance(variant.data, dict)
        assert (variant.data["y"] == np.array(variant.data["x"]) * 10).all()


def test_the_guides_transforms_are_there() -> None:
    """The names that the guide lists are those that a spec may use."""
    assert sorted(BUILT_IN) == ["identity", "permute_rows", "permute_rows_aligned"]
