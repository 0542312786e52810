"""How likely chance alone is: a paired permutation test over signs.

    paired_p_value([0.2, 0.1, 0.3], seed=7)             0.125

Rules:

- The test flips the signs of the pairs' differences: in all ways if there are few
  pairs, otherwise in drawn ones. The data's own signs count as one of them (add-one),
  so that no p-value is 0 (Phipson and Smyth, 2010).
- Sums are equal if rounding can explain their difference: 0.1 + 0.2 and 0.3 tie.
- All draws follow from the seed alone.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

__all__ = ["EXHAUSTED", "least_p_value", "paired_p_value"]

EXHAUSTED = 13
"""Up to this many pairs, all ways to flip their signs are tried."""

_FLIPS = 9999
_ROUNDING = 2.0**-40
"""The largest share of all magnitudes together that rounding may have changed."""
_BITS = bytes.maketrans(b"01", b"\0\1")


def paired_p_value(
    differences: Sequence[float], seed: int, magnitude: float = 0.0
) -> float:
    """Return how often chance alone would give a sum as large as that of *differences*.

    One-sided: small if the differences are positive.

    Args:
        differences: one for each pair, finite.
        seed: from which flips are drawn.
        magnitude: the sum of the absolute values from which the differences were taken;
            rounding is proportional to it.

    """
    count = len(differences)
    # Flipping a difference subtracts it twice.
    slack = _ROUNDING * max(magnitude, math.fsum(map(abs, differences))) / 2
    if count <= EXHAUSTED:
        # The data's own signs, with none flipped, are among them.
        every = 1 << count
        return sum(_as_large(differences, one, slack) for one in range(every)) / every
    source = random.Random(seed)  # noqa: S311 - a sample, no secret
    drawn = (source.getrandbits(count) for _ in range(_FLIPS))
    found = sum(_as_large(differences, one, slack) for one in drawn)
    return (1 + found) / (1 + _FLIPS)


def least_p_value(count: int) -> float:
    """Return the smallest p-value that *count* pairs can have."""
    return 2.0**-count if count <= EXHAUSTED else 1 / (1 + _FLIPS)


def _as_large(differences: Sequence[float], mask: int, slack: float) -> bool:
    """Tell whether the sum is as large with signs flipped where *mask* has a 1."""
    bits = f"{mask:0{len(differences)}b}".encode().translate(_BITS)
    return math.fsum(itertools.compress(differences, bits)) <= slack
