"""Sums on a page are the same wherever it is written and compared."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.verification.page.quotes import total

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(
    -(2**80), 2**80
)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([0.1] * 10, 1.0),
        ([1e16, 1.0, -1e16], 1.0),
        ([2**53 + 1, 0.5], 2.0**53 + 2),
        ([1e308, 1e308], math.inf),
        ([-1e308, -1e308, 1.0], -math.inf),
        ([10**299, 1], 10**299 + 1),
    ],
)
def test_known_sums(numbers: list[float], said: float) -> None:
    """What `sum` says of the first two depends on the version of Python."""
    assert {total(order) for order in itertools.permutations(numbers[:6])} == {
        total(numbers[:6])
    }
    assert total(numbers) == said


@given(
    st.lists(NUMBERS, max_size=6).flatmap(
        lambda x: st.tuples(st.just(x), st.permutations(x))
    )
)
def test_no_order_changes_a_sum(pair: tuple[list[float], list[float]]) -> None:
    """Events may be read in any order; integers among themselves stay exact."""
    numbers, other = pair
    assert total(numbers) == total(other)
    if all(isinstance(one, int) for one in numbers):
        assert total(numbers) == sum(numbers)


@given(st.lists(NUMBERS | st.just(math.inf) | st.just(math.nan), min_size=1))
def test_what_is_no_number_is_not_passed_over(numbers: list[float]) -> None:
    """One infinity or NaN makes the sum one, too."""
    if not all(map(math.isfinite, numbers)):
        assert not math.isfinite(total(numbers))
