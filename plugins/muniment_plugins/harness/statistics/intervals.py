"""The interval of an improvement: Fieller's interval of a ratio of means.

    ratio_interval([(20.0, 1.0), (15.0, 0.9), …])       (12.1, 27.9)

Rules:

- The interval contains every ratio that a paired t-test at the same level would not
  reject (Fieller, 1954). It follows from the pairs alone; nothing is drawn.
- None if no interval is bounded: for one pair, or a denominator that may be 0.
- ``tools/coverage.py`` measures how often it covers the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

__all__ = ["ratio_interval", "t_quantile"]

_LARGE = 1000
"""From this many degrees of freedom, the normal distribution replaces Student's."""
_HALVINGS = 200


def ratio_interval(
    pairs: Sequence[tuple[float, float]], level: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of mean numerator over mean denominator of *pairs*."""
    count = len(pairs)
    if count < 2:  # noqa: PLR2004 - one tells nothing of the spread
        return None
    top, bottom = (math.fsum(column) / count for column in zip(*pairs, strict=True))
    apart = [(a - top, b - bottom) for a, b in pairs]
    scale = count * (count - 1)
    wide = t_quantile((1 + level) / 2, count - 1) ** 2
    across = bottom**2 - wide * math.fsum(b * b for _, b in apart) / scale
    if across <= 0:
        return None
    middle = top * bottom - wide * math.fsum(a * b for a, b in apart) / scale
    least = top**2 - wide * math.fsum(a * a for a, _ in apart) / scale
    root = math.sqrt(max(0.0, middle**2 - across * least))
    return (middle - root) / across, (middle + root) / across


def t_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's distribution; *probability* is above a half."""
    if freedom >= _LARGE:
        return NormalDist().inv_cdf(probability)
    inside, low, high = 2 * probability - 1, 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        if _within(angle, freedom) < inside:
            low = angle
        else:
            high = angle
    return math.tan(high) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """Return P(|t| < tan(angle) √freedom): Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for step in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (step - 1) / step
    if not odd:
        return sine * total
    return 2 / math.pi * (angle + sine * total)
