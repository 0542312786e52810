"""The statistics of the first edition, so that its runs replay as they were judged.

    paired_p_value([0.2, 0.1, 0.3], seed=7)             0.125
    bootstrap_interval([(1.0, 0.8), …], improvement, 7) (12.1, 27.9)

Rules:

- Nothing here changes, and nothing new is judged by it; new plans use
  `permutation_test` and `intervals`.
- The test flips the signs of the pairs' differences: in all ways if there are few
  pairs, otherwise in drawn ones. The data's own signs count as one of them (add-one),
  so that no p-value is 0 (Phipson and Smyth, 2010).
- All draws follow from the seed alone.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence

__all__ = ["Pairs", "bootstrap_interval", "paired_p_value"]

Pairs = Sequence[tuple[float, float]]

_EXHAUSTED = 13
_FLIPS = 9999
_RESAMPLES = 2000
_BITS = bytes.maketrans(b"01", b"\0\1")


def paired_p_value(differences: Sequence[float], seed: int) -> float:
    """Return how often chance alone would give a sum as large as that of *differences*.

    One-sided: small if the differences are positive.
    """
    count = len(differences)
    if count <= _EXHAUSTED:
        # The data's own signs, with none flipped, are among them.
        every = 1 << count
        return sum(_as_large(differences, mask) for mask in range(every)) / every
    source = random.Random(seed)  # noqa: S311 - a sample, no secret
    drawn = (source.getrandbits(count) for _ in range(_FLIPS))
    return (1 + sum(_as_large(differences, mask) for mask in drawn)) / (1 + _FLIPS)


def bootstrap_interval(
    pairs: Pairs,
    statistic: Callable[[Pairs], float | None],
    seed: int,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """Return the percentile interval of *statistic* over resampled *pairs*.

    None if *statistic* returns None for every sample.
    """
    source = random.Random(seed)  # noqa: S311 - a sample, no secret
    resamples = (source.choices(pairs, k=len(pairs)) for _ in range(_RESAMPLES))
    said = (statistic(one) for one in resamples)
    values = sorted(one for one in said if one is not None)
    if not values:
        return None
    cut = (1 - level) / 2
    low = values[math.floor(cut * (len(values) - 1))]
    return low, values[math.ceil((1 - cut) * (len(values) - 1))]


def _as_large(differences: Sequence[float], mask: int) -> bool:
    """Tell whether the sum is as large with signs flipped where *mask* has a 1."""
    bits = f"{mask:0{len(differences)}b}".encode().translate(_BITS)
    return math.fsum(itertools.compress(differences, bits)) <= 0
