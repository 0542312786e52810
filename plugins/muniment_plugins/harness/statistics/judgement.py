"""Whether the measurements meet a claim's acceptance.

    Claim("c", "…", {"metric": "rmse", "min_improvement_pct": 15.0})

    metric               the metric of the other criteria; by default the only one
    min_improvement_pct  its mean is better than the baseline's by at least this much
    max_change_pct       its mean differs from the baseline's by at most this much
    max_value, min_value it is never above, or below, in any replicate
    equals               it is this in every replicate
    must_pass            True for every tested property, or the names of some

Rules:

- The rules of `criteria` hold. Every replicate counts: if one lacks the metric, nothing
  is judged.
- The replicates decide about a mean: a claim holds if its bound is rejected as the null
  at the level ``alpha``, is refuted if the other side is, and is otherwise undecided.
  ``alpha=None`` lets the mean itself decide.
- ``direction`` says which way is better: ``decrease`` by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from muniment.programs.stable_names import stable_name
from muniment_plugins.harness.claim import Claim
from muniment_plugins.harness.statistics.bounds import Bound
from muniment_plugins.harness.statistics.criteria import (
    Criteria,
    number,
    refuse_claim,
    require_bounds,
    require_direction,
    wanted_of,
)
from muniment_plugins.harness.statistics.intervals import ratio_interval
from muniment_plugins.harness.statistics.samples import Measured, Samples, pairs_of
from muniment_plugins.harness.statistics.verifiers import Verifier

__all__ = [
    "CRITERIA",
    "change_in",
    "judge_acceptance",
    "meets_claim",
    "refuse_alone",
    "require_level",
]

CRITERIA = (
    *("equals", "max_change_pct", "max_value", "metric"),
    *("min_improvement_pct", "min_value", "must_pass"),
)
"""The keys that an acceptance may have."""


@stable_name("muniment:meets-claim/2")
def judge_acceptance(  # noqa: PLR0913 - what may be set, by name
    baseline: Measured,
    condition: Measured,
    *,
    claim: Claim,
    seed: int,
    metric: str | None = None,
    min_improvement_pct: float | None = None,
    direction: str = "decrease",
    alpha: float | None = 0.05,
) -> dict[str, object]:
    """Say whether each criterion holds, and whether all do; None if it is undecided.

    Args:
        baseline: what the condition is compared with.
        condition: what is judged.
        claim: the claim, with its acceptance.
        seed: from which the p-value draws.
        metric: which one, if the claim leaves it open.
        min_improvement_pct: how much better, if the claim leaves it open.
        direction: ``decrease`` or ``increase``: which way is better.
        alpha: the largest p-value that shows an improvement; None lets the mean decide.

    Raises:
        HarnessRefused: it cannot be judged; see the module's rules.

    """
    given = {"metric": metric, "min_improvement_pct": min_improvement_pct}
    said = {key: one for key, one in given.items() if one is not None}
    wanted = wanted_of(claim, said, CRITERIA)
    require_bounds(wanted)
    require_direction(direction)
    require_level(alpha)
    return _Judge(baseline, condition, wanted, direction, alpha, seed).verdict()


meets_claim = Verifier(judge_acceptance)
"""Used as it is, or called with settings that the claim leaves open."""


@dataclass(frozen=True, slots=True)
class _Judge(Criteria):
    """The criteria of one claim, with those about means."""

    @property
    def known(self) -> Mapping[str, Callable[[object], dict[str, object]]]:
        """Every criterion."""
        # A slotted dataclass cannot call `super` without arguments.
        others = super(_Judge, self).known
        means = {
            "max_change_pct": self._change,
            "min_improvement_pct": self._improvement,
        }
        return {**others, **means}

    def values(self, name: str) -> Sequence[object]:
        """Return the measured values of *name*, of every replicate."""
        found = super(_Judge, self).values(name)
        if isinstance(self.condition, Samples):
            pairs_of(self.condition, self.condition, name)
        return found

    def _improvement(self, wanted: object) -> dict[str, object]:
        least = number(wanted, "min_improvement_pct")
        return self._mean(Bound.better(least))

    def _change(self, wanted: object) -> dict[str, object]:
        return self._mean(Bound.within(change_in(wanted)))

    def _mean(self, bound: Bound) -> dict[str, object]:
        if self.baseline is self.condition:
            refuse_alone()
        name = self.metric()
        self._require_both(name)
        found = pairs_of(self.baseline, self.condition, name)
        values = [self._finite(pair, name) for pair in found.values]
        pct = self._pct(values)
        apart = [self._finite(pair, name) for pair in found.apart]
        shown = bound.test(apart, self.sign, self.seed, self.alpha, found.copies)
        told: dict[str, object] = {"pct_improvement": pct, "metric": name}
        told |= {"direction": self.direction, "pairs": len(apart)}
        told |= {"p_value": shown.p_value, "interval_95": self._interval(apart)}
        told |= {"alpha": self.alpha, "seed": self.seed}
        copies = {"copies": found.copies} if found.copies else {}
        why = {"undecided": shown.why} if shown.why else {}
        return {"holds": shown.holds, **told, **copies, **why}

    def _require_both(self, name: str) -> None:
        if not self.baseline.get(name) or not self.condition.get(name):
            _refuse_percentage(name)

    def _finite(self, pair: tuple[object, object], name: str) -> tuple[float, float]:
        first, second = number(pair[0], name), number(pair[1], name)
        if not math.isfinite(first) or not math.isfinite(second):
            refuse_claim(
                f"{name} is not finite in a replicate", "mend what measures it"
            )
        return first, second

    def _interval(self, pairs: Sequence[tuple[float, float]]) -> list[float] | None:
        side = -1 if math.fsum(a for a, _ in pairs) < 0 else 1
        parts = [(100 * self.sign * (a - b), side * a) for a, b in pairs]
        found = ratio_interval(parts)
        return None if found is None else list(found)

    def _pct(self, pairs: Sequence[tuple[float, float]]) -> float:
        """Return how much better the condition is, in percent of the baseline."""
        before = math.fsum(a for a, _ in pairs)
        if not before:
            _refuse_percentage(self.metric())
        apart = before - math.fsum(b for _, b in pairs)
        pct = 100 * self.sign * apart / abs(before)
        if not math.isfinite(pct):
            _refuse_percentage(self.metric())
        return pct


def require_level(alpha: float | None) -> None:
    """Refuse what is no level of significance; None is none.

    Raises:
        HarnessRefused: it is not a number between 0 and 1.

    """
    if alpha is not None and not 0 < number(alpha, "alpha") < 1:
        refuse_claim(f"alpha {alpha!r} is not a level", "give a number between 0 and 1")


def change_in(wanted: object) -> float:
    """Return the largest change that ``max_change_pct`` allows.

    Raises:
        HarnessRefused: it is not a number above 0.

    """
    most = number(wanted, "max_change_pct")
    if most <= 0:
        refuse_claim("no change is as small as that", "give more than 0")
    return most


def refuse_alone() -> NoReturn:
    """Refuse to compare the baseline with itself.

    Raises:
        HarnessRefused: always.

    """
    refuse_claim(
        "the baseline cannot improve over itself",
        "add a .treatment(…), or claim max_value, min_value or equals",
        "harness/vacuous",
    )


def _refuse_percentage(name: str) -> None:
    refuse_claim(
        f"no percentage can be told of {name}",
        "measure it in both conditions, with a baseline that is not 0",
    )
