"""How the first edition judged a claim, so that its runs replay as they were judged.

    {"name": "muniment:meets-claim/1"}

Rules:

- Its verdicts never change: runs of the first edition are judged by it, for ever. New
  plans name `judgement`.
- It states the improvement of the mean, tests whether there is any improvement at all,
  and judges over whichever replicates have the metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from muniment.programs.stable_names import stable_name
from muniment_plugins.harness.claim import Claim
from muniment_plugins.harness.statistics.criteria import (
    DIRECTIONS,
    Criteria,
    number,
    refuse_claim,
    wanted_of,
)
from muniment_plugins.harness.statistics.first_statistics import (
    Pairs,
    bootstrap_interval,
    paired_p_value,
)
from muniment_plugins.harness.statistics.samples import Measured, paired

__all__ = ["judge_claim"]

_CRITERIA = (
    *("equals", "max_value", "metric"),
    *("min_improvement_pct", "min_value", "must_pass"),
)
_refuse = refuse_claim
_wanted = partial(wanted_of, criteria=_CRITERIA)


@stable_name("muniment:meets-claim/1")
def judge_claim(  # noqa: PLR0913 - what may be set, by name
    baseline: Measured,
    condition: Measured,
    *,
    claim: Claim,
    seed: int,
    metric: str | None = None,
    min_improvement_pct: float | None = None,
    direction: str = "decrease",
    alpha: float | None = None,
) -> dict[str, object]:
    """Say whether each criterion holds, and whether all do.

    Args:
        baseline: what the condition is compared with.
        condition: what is judged.
        claim: the claim, with its acceptance.
        seed: from which the p-value and the interval draw.
        metric: which one, if the claim leaves it open.
        min_improvement_pct: how much better, if the claim leaves it open.
        direction: ``decrease`` or ``increase``: which way is better.
        alpha: the largest p-value that an improvement may have; any by default.

    Raises:
        HarnessRefused: it cannot be judged; see the module's rules.

    """
    given = {"metric": metric, "min_improvement_pct": min_improvement_pct}
    wanted = _wanted(claim, {key: one for key, one in given.items() if one is not None})
    if direction not in DIRECTIONS:
        _refuse(f"{direction!r} is not a direction", f"give {' or '.join(DIRECTIONS)}")
    judge = _Judge(baseline, condition, wanted, direction, alpha, seed)
    return judge.verdict()


@dataclass(frozen=True, slots=True)
class _Judge(Criteria):
    """The criteria of one claim, over one condition."""

    @property
    def known(self) -> Mapping[str, Callable[[object], dict[str, object]]]:
        """Those of all editions, and the improvement of the mean."""
        # A slotted dataclass cannot call `super` without arguments.
        others = super(_Judge, self).known
        return {**others, "min_improvement_pct": self._improvement}

    def _improvement(self, wanted: object) -> dict[str, object]:
        least = number(wanted, "min_improvement_pct")
        if self.baseline is self.condition:
            refuse_claim(
                "the baseline cannot improve over itself",
                "add a .treatment(…), or claim max_value, min_value or equals",
                "harness/vacuous",
            )
        name = self.metric()
        both = paired(self.baseline, self.condition, name)
        pairs = [(number(a, name), number(b, name)) for a, b in both]
        pct = self._pct(pairs)
        if pct is None:
            refuse_claim(
                f"no percentage can be told of {name}",
                "measure it in both conditions, with a baseline that is not 0",
            )
        enough = pct >= least or math.isclose(pct, least, rel_tol=1e-9)
        told: dict[str, object] = {"pct_improvement": pct, "metric": name}
        told |= {"direction": self.direction, "pairs": len(pairs)}
        p_value, interval = self._chance(pairs)
        told |= {"p_value": p_value, "interval_95": interval, "seed": self.seed}
        if self.alpha is not None:
            enough = enough and p_value is not None and p_value <= self.alpha
        return {"holds": enough, **told}

    def _chance(self, pairs: Pairs) -> tuple[float | None, list[float] | None]:
        """Return p-value and interval; None for one replicate, which tells nothing."""
        if len(pairs) == 1:
            return None, None
        better = [(a - b) * self.sign for a, b in pairs]
        interval = bootstrap_interval(pairs, self._pct, self.seed)
        p_value = paired_p_value(better, self.seed)
        return p_value, None if interval is None else list(interval)

    def _pct(self, pairs: Pairs) -> float | None:
        """Return how much better the condition is, in percent of the baseline."""
        before = math.fsum(a for a, _ in pairs)
        if not before:
            return None
        apart = before - math.fsum(b for _, b in pairs)
        pct = 100 * self.sign * apart / abs(before)
        return pct if math.isfinite(pct) else None
