"""Whether a property's test could have failed, or passes whatever the code returns.

    could_fail(allowed=1e-6, size=15.0, change=…)       True
    could_fail(allowed=20.0, size=15.0, change=…)       False: 0 would pass, and 30

Rules:

- A test could have failed if it allows less than the size of its metrics: otherwise 0
  would have passed in their place, and every number between.
- A metric that is 0, apart from rounding, has no size of its own. Instead the largest
  change that the transform made to a value of the data counts; if that is 0, then 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.tables import values_of

__all__ = ["LARGEST_RTOL", "could_fail", "largest_change"]

LARGEST_RTOL = 1.0
"""From here on, any two numbers of one sign agree."""

_ROUNDING = 1e-9


def could_fail(allowed: float, size: float, change: Callable[[], float]) -> bool:
    """Tell whether a test that allows a difference of *allowed* could have failed.

    Args:
        allowed: the largest absolute difference that passes.
        size: the absolute value of the larger metric.
        change: returns the largest change in a value of the data; called if it matters.

    """
    if allowed < size:
        return True
    moved = change()
    is_zero = size <= _ROUNDING * moved or not size
    return is_zero and allowed < (moved or 1.0)


def largest_change(data: object, made: object) -> float:
    """Return the largest difference between values in the same place of both.

    It is 0 if neither has numbers, or their values cannot be read.
    """
    try:
        both = zip(values_of(data), values_of(made), strict=False)
        moved = (_apart(one, other) for one, other in both)
        return max((one for one in moved if math.isfinite(one)), default=0.0)
    except HarnessRefused:
        return 0.0


def _apart(one: object, other: object) -> float:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return 0.0
    try:
        return float(abs(cast("float", one) - cast("float", other)))
    except OverflowError:
        return 0.0
