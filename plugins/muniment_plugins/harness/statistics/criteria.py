"""The criteria of a claim's acceptance that hold or fail without regard to chance.

    Claim("c", "…", {"metric": "rmse", "max_value": 1.5})

    metric               the metric of the other criteria; by default the only one
    max_value, min_value it is never above, or below, in any replicate
    equals               it is this in every replicate
    must_pass            True for every tested property, or the names of some

Rules:

- An unknown key is refused by name. So are a claim without criteria, a missing metric,
  and a value that should be a number: nothing is accepted unread.
- A bound that is not finite is refused: nothing can be beyond it, or nothing within.
- A verifier's settings must not contradict the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

from muniment_plugins.harness.claim import Claim
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.statistics.samples import Measured

__all__ = [
    "DIRECTIONS",
    "Criteria",
    "asked_in",
    "names_in",
    "number",
    "refuse_claim",
    "refuse_untested",
    "require_bounds",
    "require_direction",
    "wanted_of",
]

DIRECTIONS = ("decrease", "increase")
BOUNDS = ("max_change_pct", "max_value", "min_improvement_pct", "min_value")
_PASS = "_pass"  # noqa: S105 - the end of a metric's name


@dataclass(frozen=True, slots=True)
class Criteria:
    """The criteria of one claim, over one condition."""

    baseline: Measured
    condition: Measured
    wanted: Mapping[str, object]
    direction: str
    alpha: float | None
    seed: int

    @property
    def known(self) -> Mapping[str, Callable[[object], dict[str, object]]]:
        """Key of an acceptance → function that says whether it ``holds``, and more."""
        return {
            "equals": self._equals,
            "max_value": self._max_value,
            "min_value": self._min_value,
            "must_pass": self._must_pass,
        }

    def verdict(self) -> dict[str, object]:
        """Return what each criterion says, and the verdict of all."""
        known = self.known
        asked = asked_in(self.wanted, known)
        said: dict[str, object] = {}
        held: dict[str, object] = {}
        for key, wanted in asked.items():
            told = known[key](wanted)
            held[key] = told.pop("holds")
            said |= told
        return {"meets_claim": _all(held.values()), **said, "criteria": held}

    @property
    def sign(self) -> int:
        """1 if less is better, -1 if more is."""
        return 1 if self.direction == "decrease" else -1

    def metric(self) -> str:
        """Return the name of the metric to judge."""
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
            refuse_claim(f"it is open which metric is meant: {names}", "name metric")
        return numbers[0]

    def values(self, name: str) -> Sequence[object]:
        """Return the measured values of *name*."""
        if not self.condition.get(name):
            known = ", ".join(sorted(self.condition))
            beside = f"but {known}" if known else "nor anything else"
            refuse_claim(
                f"no {name} was measured, {beside}", "name what the code returns"
            )
        return self.condition[name]

    def _numbers(self) -> list[float]:
        name = self.metric()
        return [number(one, name) for one in self.values(name)]

    def _equals(self, wanted: object) -> dict[str, object]:
        values = self.values(self.metric())
        return {"holds": all(_equal(one, wanted) for one in values)}

    def _max_value(self, wanted: object) -> dict[str, object]:
        most = number(wanted, "max_value")
        return {"holds": all(one <= most for one in self._numbers())}

    def _min_value(self, wanted: object) -> dict[str, object]:
        least = number(wanted, "min_value")
        return {"holds": all(one >= least for one in self._numbers())}

    def _must_pass(self, wanted: object) -> dict[str, object]:
        tested = [name for name in self.condition if name.endswith(_PASS)]
        names = tested if wanted is True else names_in(wanted)
        refuse_untested(names, tested)
        return {"holds": all(all(self.values(name)) for name in names)}


def wanted_of(
    claim: Claim, given: Mapping[str, object], criteria: Iterable[str]
) -> dict[str, object]:
    """Return the acceptance of *claim* with the settings *given* to a verifier.

    Raises:
        HarnessRefused: they contradict each other, or a key is not in *criteria*.

    """
    unknown = sorted(claim.acceptance.keys() - set(criteria))
    if unknown:
        names, known = ", ".join(unknown), ", ".join(criteria)
        refuse_claim(f"{names} means nothing in an acceptance", f"known: {known}")
    for key in given.keys() & claim.acceptance.keys():
        if given[key] != claim.acceptance[key]:
            refuse_claim(
                f"the claim says {key} {claim.acceptance[key]!r}, the verifier "
                f"{given[key]!r}",
                "say it once",
            )
    return {**claim.acceptance, **given}


def require_bounds(wanted: Mapping[str, object]) -> None:
    """Refuse an acceptance whose metric is no name, or whose bounds bound nothing.

    Raises:
        HarnessRefused: the metric is not a text, a bound is not a finite number, or
            what the metric should equal is not a number.

    """
    metric, equals = wanted.get("metric", "m"), wanted.get("equals")
    if not isinstance(metric, str) or not metric:
        refuse_claim(f"the metric {metric!r} is no name", "name it by a text")
    for key in BOUNDS:
        if key in wanted and not _is_finite(number(wanted[key], key)):
            told = f"{wanted[key]!r:.40}"
            refuse_claim(f"{key} {told} bounds nothing", "give a finite number")
    if isinstance(equals, float) and math.isnan(equals):
        refuse_claim("nothing equals NaN", "give a value that can be measured")


def asked_in(wanted: Mapping[str, object], known: Iterable[str]) -> dict[str, object]:
    """Return the criteria among *wanted*, which are those of *known*.

    Raises:
        HarnessRefused: there is none.

    """
    names = sorted(known)
    asked = {key: one for key, one in wanted.items() if key in names}
    if not asked:
        refuse_claim("the claim accepts nothing", f"give one of {', '.join(names)}")
    return asked


def require_direction(direction: object) -> None:
    """Refuse what does not say which way is better.

    Raises:
        HarnessRefused: it is not one of `DIRECTIONS`.

    """
    if direction not in DIRECTIONS:
        refuse_claim(
            f"{direction!r} is not a direction", f"give {' or '.join(DIRECTIONS)}"
        )


def names_in(wanted: object) -> list[str]:
    """Return the metrics of the properties that ``must_pass`` lists.

    Raises:
        HarnessRefused: it is no list.

    """
    if not isinstance(wanted, list | tuple):
        refuse_claim(f"must_pass {wanted!r} names no property", "give True, or names")
    names = [str(one) for one in cast("list[object]", wanted)]
    return [one if one.endswith(_PASS) else f"{one}{_PASS}" for one in names]


def refuse_untested(names: Sequence[str], tested: Iterable[str]) -> None:
    """Refuse *names* of which one is not in *tested*, or of which there are none.

    Raises:
        HarnessRefused: it names those.

    """
    missing = sorted({*names} - {*tested})
    if missing or not names:
        told = ", ".join(missing) or "no property"
        refuse_claim(
            f"{told}: not tested", "give the spec the property", "harness/vacuous"
        )


def number(value: object, what: str) -> float:
    """Return *value* if it is a number, or refuse it as *what*."""
    if not _is_number(value):
        kind = type(value).__name__
        refuse_claim(
            f"{what} is of type {kind} and not a number", "give or return a number"
        )
    return cast("float", value)


def refuse_claim(message: str, remedy: str, rule: str = "harness/claim") -> NoReturn:
    """Refuse a claim that cannot be judged.

    Raises:
        HarnessRefused: always.

    """
    raise HarnessRefused(message, rule=rule, place="meets_claim", remedy=remedy)


def _all(held: Iterable[object]) -> bool | None:
    """Return False if one is, else None if one is, else True."""
    said = list(held)
    if False in said:
        return False
    return None if None in said else True


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond what measurements can be
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(one: object, wanted: object) -> bool:
    same = isinstance(one, bool) == isinstance(wanted, bool)
    return same and bool(one == wanted)
