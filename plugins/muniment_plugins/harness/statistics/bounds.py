"""Whether replicates show a claimed bound: tests whose null is the bound, not zero.

    Bound.better(15.0)      the mean is better by at least 15 %: superiority by a margin
    Bound.better(-5.0)      it is worse by at most 5 %: non-inferiority
    Bound.within(5.0)       it is neither: equivalence, by two one-sided tests

Rules:

- Differences are taken to the bound. A test that rejects the bound shows the claim; one
  that rejects the other side refutes it. If neither does, the replicates cannot decide,
  and the reason is stated.
- A percentage is relative to the baseline's mean.
- Copies of a replicate count as one replicate; one says nothing about chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from muniment_plugins.harness.statistics.permutation_test import (
    least_p_value,
    paired_p_value,
)

__all__ = ["Bound", "Shown"]

Numbers = Sequence[tuple[float, float]]
"""Baseline and condition of each pair."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What pairs show about a bound: True, False or nothing, p-value and reason."""

    holds: bool | None
    p_value: float | None
    why: str | None = None
    """Why nothing is decided."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits of an improvement in percent of the baseline: over *low*, under *high*."""

    low: float
    high: float | None = None

    @classmethod
    def better(cls, least: float) -> Self:
        """Return the bound of an improvement by at least *least* percent."""
        return cls(least)

    @classmethod
    def within(cls, most: float) -> Self:
        """Return the bounds of a change by at most *most* percent either way."""
        return cls(-most, most)

    def test(
        self,
        pairs: Numbers,
        sign: int,
        seed: int,
        alpha: float | None,
        copies: int = 0,
    ) -> Shown:
        """Return what *pairs* without copies show.

        Args:
            pairs: baseline and condition.
            sign: 1 if less is better, -1 if more is.
            seed: from which flips are drawn.
            alpha: the largest p-value that shows anything; with None the mean decides,
                which says nothing about chance.
            copies: how many replicates were left out as copies.

        """
        if alpha is None:
            holds = self._mean_holds(pairs, sign)
            return Shown(
                holds, self._shown(pairs, sign, seed)[0] if pairs[1:] else None
            )
        if len(pairs) == 1:
            return Shown(None, None, _one(copies))
        shown, refuted = self._shown(pairs, sign, seed)
        if shown <= alpha:
            return Shown(True, shown)
        if refuted <= alpha:
            return Shown(False, shown)
        return Shown(None, shown, _open(len(pairs), copies, shown, alpha))

    def _shown(self, pairs: Numbers, sign: int, seed: int) -> tuple[float, float]:
        """Return the p-values of the claim and of its refutation."""
        magnitude = math.fsum(abs(one) for pair in pairs for one in pair)
        over = _beyond(pairs, sign, self.low)
        sides = [over]
        if self.high is not None:
            sides.append([-one for one in _beyond(pairs, sign, self.high)])
        shown = [paired_p_value(side, seed, magnitude) for side in sides]
        refuted = [
            paired_p_value([-one for one in side], seed, magnitude) for side in sides
        ]
        # Either side may refute the claim, so each has a share of the level.
        return max(shown), min(1.0, min(refuted) * len(sides))

    def _mean_holds(self, pairs: Numbers, sign: int) -> bool:
        slack = 1e-9 * math.fsum(abs(one) for pair in pairs for one in pair)
        low = math.fsum(_beyond(pairs, sign, self.low)) >= -slack
        if self.high is None:
            return low
        return low and math.fsum(_beyond(pairs, sign, self.high)) <= slack


def _beyond(pairs: Numbers, sign: int, bound: float) -> list[float]:
    """Return how much better each pair is than *bound* percent of its baseline."""
    side = -1 if math.fsum(a for a, _ in pairs) < 0 else 1
    share = bound / 100 * side
    return [sign * (a - b) - share * a for a, b in pairs]


def _one(copies: int) -> str:
    if not copies:
        return "one pair tells nothing of chance"
    return (
        f"{copies + 1} replicates with the same data came out the same: they are one, "
        "which tells nothing of chance"
    )


def _open(count: int, copies: int, p_value: float, alpha: float) -> str:
    beside = f", {copies} copies aside" if copies else ""
    if least_p_value(count) > alpha:
        return (
            f"{count} pairs{beside} cannot have a p-value below "
            f"{least_p_value(count):g}; alpha is {alpha:g}"
        )
    return (
        f"the p-value {p_value:.3g} of {count} pairs{beside} neither shows nor refutes "
        f"it; alpha is {alpha:g}"
    )
