"""Whether a claim's acceptance holds of what was measured.

    Claim("c", "…", {"metric": "rmse", "min_improvement_pct": 15.0})

    metric               which metric the others are about; the only one by default
    min_improvement_pct  its mean is better than the baseline's by at least this much
    max_value, min_value it is never above, or below, in any replicate
    equals               it is this in every replicate
    must_pass            True for every tested property, or the names of some

Rules:

- A key that nobody documented is refused by name, and so are no criteria at all, a
  metric that is missing, and a number that is none: nothing is accepted unread.
- What a verifier is given must not contradict what the claim said before.
- ``direction`` says which way is better: ``decrease`` unless it is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

from muniment_plugins.harness.claims import Claim
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.resampling import (
    Pairs,
    bootstrap_interval,
    paired_p_value,
)
from muniment_plugins.harness.samples import Measured, paired
from muniment_plugins.harness.verifiers import Verifier

__all__ = ["CRITERIA", "DIRECTIONS", "judge_claim", "meets_claim"]

CRITERIA = (
    *("equals", "max_value", "metric"),
    *("min_improvement_pct", "min_value", "must_pass"),
)
DIRECTIONS = ("decrease", "increase")
_PASS = "_pass"  # noqa: S105 - the end of a metric's name


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


meets_claim = Verifier(judge_claim)
"""Used as it is, or called with what the claim leaves open."""


@dataclass(frozen=True, slots=True)
class _Judge:
    """The criteria of one claim, over one condition."""

    baseline: Measured
    condition: Measured
    wanted: Mapping[str, object]
    direction: str
    alpha: float | None
    seed: int

    def verdict(self) -> dict[str, object]:
        """Return what every criterion says, and the verdict of all."""
        known: Mapping[str, Callable[[object], dict[str, object]]] = {
            "equals": self._equals,
            "max_value": self._max_value,
            "min_improvement_pct": self._improvement,
            "min_value": self._min_value,
            "must_pass": self._must_pass,
        }
        asked = {key: one for key, one in self.wanted.items() if key in known}
        if not asked:
            _refuse("the claim accepts nothing", f"give one of {', '.join(known)}")
        said: dict[str, object] = {}
        held: dict[str, object] = {}
        for key, wanted in asked.items():
            told = known[key](wanted)
            held[key] = told.pop("holds")
            said |= told
        return {"meets_claim": all(held.values()), **said, "criteria": held}

    def _metric(self) -> str:
        named = self.wanted.get("metric")
        if isinstance(named, str):
            return named
        numbers = [
            name
            for name, values in self.condition.items()
            if not name.endswith(_PASS) and all(map(_is_number, values))
        ]
        if len(numbers) != 1:
            names = ", ".join(sorted(numbers)) or "none"
            _refuse(f"it is open which metric is meant: {names}", "name metric")
        return numbers[0]

    def _values(self) -> Sequence[object]:
        name = self._metric()
        if not self.condition.get(name):
            known = ", ".join(sorted(self.condition))
            beside = f"but {known}" if known else "nor anything else"
            _refuse(f"no {name} was measured, {beside}", "name what the code returns")
        return self.condition[name]

    def _numbers(self) -> list[float]:
        return [_number(one, self._metric()) for one in self._values()]

    def _equals(self, wanted: object) -> dict[str, object]:
        return {"holds": all(_equal(one, wanted) for one in self._values())}

    def _max_value(self, wanted: object) -> dict[str, object]:
        most = _number(wanted, "max_value")
        return {"holds": all(one <= most for one in self._numbers())}

    def _min_value(self, wanted: object) -> dict[str, object]:
        least = _number(wanted, "min_value")
        return {"holds": all(one >= least for one in self._numbers())}

    def _must_pass(self, wanted: object) -> dict[str, object]:
        tested = [name for name in self.condition if name.endswith(_PASS)]
        names = tested if wanted is True else _names(wanted)
        missing = sorted({*names} - {*tested})
        if missing or not names:
            told = ", ".join(missing) or "no property"
            _refuse(f"{told}: not tested", "give the spec the property", "vacuous")
        return {"holds": all(all(self.condition[name]) for name in names)}

    def _improvement(self, wanted: object) -> dict[str, object]:
        least = _number(wanted, "min_improvement_pct")
        if self.baseline is self.condition:
            _refuse(
                "the baseline cannot improve over itself",
                "add a .treatment(…), or claim max_value, min_value or equals",
                "vacuous",
            )
        name = self._metric()
        both = paired(self.baseline, self.condition, name)
        pairs = [(_number(a, name), _number(b, name)) for a, b in both]
        pct = self._pct(pairs)
        if pct is None:
            _refuse(
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
        better = [(a - b) * self._sign for a, b in pairs]
        interval = bootstrap_interval(pairs, self._pct, self.seed)
        p_value = paired_p_value(better, self.seed)
        return p_value, None if interval is None else list(interval)

    @property
    def _sign(self) -> int:
        return 1 if self.direction == "decrease" else -1

    def _pct(self, pairs: Pairs) -> float | None:
        """Return by how much the condition is better, in percent of the baseline."""
        before = math.fsum(a for a, _ in pairs)
        if not before:
            return None
        apart = before - math.fsum(b for _, b in pairs)
        pct = 100 * self._sign * apart / abs(before)
        return pct if math.isfinite(pct) else None


def _wanted(claim: Claim, given: Mapping[str, object]) -> dict[str, object]:
    unknown = sorted(claim.acceptance.keys() - set(CRITERIA))
    if unknown:
        names, known = ", ".join(unknown), ", ".join(CRITERIA)
        _refuse(f"{names} means nothing in an acceptance", f"known: {known}")
    for key in given.keys() & claim.acceptance.keys():
        if given[key] != claim.acceptance[key]:
            _refuse(
                f"the claim says {key} {claim.acceptance[key]!r}, the verifier "
                f"{given[key]!r}",
                "say it once",
            )
    return {**claim.acceptance, **given}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: object, what: str) -> float:
    if not _is_number(value):
        kind = type(value).__name__
        _refuse(f"{what} is of type {kind} and not a number", "give or return a number")
    return cast("float", value)


def _equal(one: object, wanted: object) -> bool:
    same = isinstance(one, bool) == isinstance(wanted, bool)
    return same and bool(one == wanted)


def _names(wanted: object) -> list[str]:
    if not isinstance(wanted, list | tuple):
        _refuse(f"must_pass {wanted!r} names no property", "give True, or names")
    names = [str(one) for one in cast("list[object]", wanted)]
    return [one if one.endswith(_PASS) else f"{one}{_PASS}" for one in names]


def _refuse(message: str, remedy: str, rule: str = "claim") -> NoReturn:
    raise HarnessRefused(
        message, rule=f"harness/{rule}", place="meets_claim", remedy=remedy
    )
