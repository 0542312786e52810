"""What pairs of cases show: an exact sign test, and an interval that keeps its level.

    sign_test(better=7, worse=1)            0.0703125
    rate_interval(7, 1, 40)                 (-0.004…, 0.290…)

Rules:

- Pairs that came out the same say nothing of the direction: the test is of the others. With
  one run for each case and side it is McNemar's exact test (Liddell, 1983).
- The interval of the difference of two paired rates is that of Bonett and Price (2012):
  adjusted by two pairs, so that it holds for few of them, too. ``tools/coverage.py`` has
  that of ratios; a test draws how often this one covers the truth.
- Of numbers, such as costs, signs of the differences are flipped (`paired_p_value`), and the
  interval of their ratio is Fieller's (`ratio_interval`): both are the harness's own.
- Fewer pairs that differ than `least_pairs` cannot show anything at that level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from muniment_plugins.harness.statistics.intervals import ratio_interval
from muniment_plugins.harness.statistics.permutation_test import paired_p_value

__all__ = ["ALPHA", "change_of", "least_pairs", "rate_interval", "sign_test"]

ALPHA = 0.05
_SEED = 7


def sign_test(better: int, worse: int) -> float | None:
    """Return the two-sided p-value of so many pairs either way; None without any."""
    count = better + worse
    if not count:
        return None
    fewer = min(better, worse)
    tail = sum(math.comb(count, number) for number in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << count))


def least_pairs(alpha: float = ALPHA) -> int:
    """Return how many pairs have to differ, all one way, to show anything."""
    return math.ceil(1 - math.log2(alpha))


def rate_interval(
    better: int, worse: int, pairs: int, level: float = 1 - ALPHA
) -> tuple[float, float] | None:
    """Return the interval of the difference of two rates, from -1 to 1.

    Args:
        better: pairs that passed only on the newer side.
        worse: pairs that passed only on the older side.
        pairs: all of them.
        level: how often it is to cover the truth.

    """
    if not pairs:
        return None
    up, down = (better + 1) / (pairs + 2), (worse + 1) / (pairs + 2)
    middle = up - down
    wide = NormalDist().inv_cdf((1 + level) / 2)
    half = wide * math.sqrt(max(0.0, up + down - middle**2) / (pairs + 2))
    return max(-1.0, middle - half), min(1.0, middle + half)


def change_of(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return how numbers changed: means, p-value, interval in percent of the older mean.

    Args:
        pairs: the older and the newer number of each case, finite.

    """
    count = len(pairs)
    row: dict[str, Any] = {"pairs": count}
    if not count:
        return row
    older, newer = (math.fsum(side) / count for side in zip(*pairs, strict=True))
    row |= {"older_mean": older, "newer_mean": newer}
    differences = [b - a for a, b in pairs]
    if not any(differences) or count == 1:
        return row
    magnitude = math.fsum(abs(one) for pair in pairs for one in pair)
    sides = [
        paired_p_value([sign * one for one in differences], _SEED, magnitude)
        for sign in (1, -1)
    ]
    row["p_value"] = min(1.0, 2 * min(sides))
    found = ratio_interval([(b - a, a) for a, b in pairs], 1 - ALPHA)
    if found is not None:
        row["change_pct"] = [100 * one for one in found]
    return row
