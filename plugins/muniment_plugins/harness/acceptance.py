"""How the first edition judged a claim, by which its runs replay as they were judged.

    {"import": "muniment_plugins.harness.acceptance:judge_claim", "source": "sha256:…"}

Rules:

- Plans of the first edition name `judge_claim` by its import path and the digest of its
  source. Not a character of it changes; what new plans name is `judgement`.
- It says an improvement where the mean shows one, tests that there is any at all, and
  judges over whatever replicates have the metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from muniment_plugins.harness.claims import Claim
from muniment_plugins.harness.criteria import (
    DIRECTIONS,
    Criteria,
    number,
    refuse_claim,
    wanted_of,
)
from muniment_plugins.harness.first_statistics import (
    Pairs,
    bootstrap_interval,
    paired_p_value,
)
from muniment_plugins.harness.samples import Measured, paired

__all__ = ["judge_claim"]

_CRITERIA = (
    *("equals", "max_value", "metric"),
    *("min_improvement_pct", "min_value", "must_pass"),
)
_refuse = refuse_claim
_wanted = partial(wanted_of, criteria=_CRITERIA)


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
    """Say of each criterion if it holds, and if all do.

    Args:
        baseline: what the improvement is over.
        condition: what is judged.
        claim: what was stated, with its acceptance.
        seed: of what the p-value and the interval draw.
        metric: which one, where the claim leaves it open.
        min_improvement_pct: how much better, where the claim leaves it open.
        direction: ``decrease`` or ``increase``: which way is better.
        alpha: the largest p-value that an improvement may have; any by default.

    Raises:
        HarnessRefused: it cannot be judged; see the module's rules.

    """
    given = {"metric": metric, "min_improvement_pct": min_improvement_pct}
    wanted = _wanted(claim, {key: one for key, one in given.items() if one is not None})
    if direction not in DIRECTIONS:
        _refuse(f"{direction!r} is no direction", f"give {' or '.join(DIRECTIONS)}")
    judge = _Judge(baseline, condition, wanted, direction, alpha, seed)
    return judge.verdict()


@dataclass(frozen=True, slots=True)
class _Judge(Criteria):
    """The criteria of one claim, over one condition."""

    @property
    def known(self) -> Mapping[str, Callable[[object], dict[str, object]]]:
        """Those of all editions, and the improvement of the mean."""
        # No `super` without arguments in a class that has slots.
        others = super(_Judge, self).known
        return {**others, "min_improvement_pct": self._improvement}

    def _improvement(self, wanted: object) -> dict[str, object]:
        least = number(wanted, "min_improvement_pct")
        if self.baseline is self.condition:
            refuse_claim(
                "the baseline cannot improve over itself",
                "add a .treatment(…), or claim max_value, min_value or equals",
                "vacuous",
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
        """Return p-value and interval; None where one replicate tells nothing."""
        if len(pairs) == 1:
            return None, None
        better = [(a - b) * self.sign for a, b in pairs]
        interval = bootstrap_interval(pairs, self._pct, self.seed)
        p_value = paired_p_value(better, self.seed)
        return p_value, None if interval is None else list(interval)

    def _pct(self, pairs: Pairs) -> float | None:
        """Return by how much the condition is better, in percent of the baseline."""
        before = math.fsum(a for a, _ in pairs)
        if not before:
            return None
        apart = before - math.fsum(b for _, b in pairs)
        pct = 100 * self.sign * apart / abs(before)
        return pct if math.isfinite(pct) else None
