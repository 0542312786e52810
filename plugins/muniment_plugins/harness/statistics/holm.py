"""P-values of one run, adjusted for their number: Holm's step-down procedure.

    holm([0.01, 0.04, 0.03])                            [0.03, 0.06, 0.06]

Rules:

- The family is what was registered: every hypothesis under every condition that has a
  p-value. One that should have a p-value and could not be judged counts as 1.
- A claim that holds by itself and not within its family is undecided; the verdict says
  why. A user's verifier decides for itself; its adjusted p-value is stated beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

__all__ = ["holm", "in_family"]

Fact = dict[str, object]


def holm(p_values: Sequence[float], size: int | None = None) -> list[float]:
    """Return *p_values* adjusted within a family of *size*; by default their number."""
    count = len(p_values) if size is None else size
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    ranked = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, at in enumerate(ranked):
        largest = max(largest, min(1.0, (count - rank) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def in_family(facts: Sequence[Fact], missing: int = 0) -> list[Fact]:
    """Return *facts* of ``verdict.reached``, adjusted within their family.

    *missing* is how many more were registered and could not be judged.
    """
    tested = [one for one in facts if one["p_value"] is not None]
    size = len(tested) + missing
    values = holm([cast("float", one["p_value"]) for one in tested], size)
    found = {id(one): value for one, value in zip(tested, values, strict=True)}
    return [
        _within(one, found[id(one)], size) if id(one) in found else one for one in facts
    ]


def _within(fact: Fact, adjusted: float, size: int) -> Fact:
    result = cast("Mapping[str, object]", fact["result"])
    alpha = result.get("alpha")
    stated = {**fact, "p_adjusted": adjusted}
    if "meets_claim" not in result or not isinstance(alpha, float | int):
        return stated
    told = {**result, "p_adjusted": adjusted, "family": size}
    if result["meets_claim"] is not True or adjusted <= alpha:
        return {**stated, "result": told}
    criteria = cast("Mapping[str, object]", result["criteria"])
    shown = {
        key: None if key.endswith("_pct") else one for key, one in criteria.items()
    }
    why = (
        f"the p-value {fact['p_value']:.3g} is {adjusted:.3g} among {size} of the run; "
        f"alpha is {alpha:g}"
    )
    told |= {"meets_claim": None, "criteria": shown, "undecided": why}
    return {**stated, "passed": None, "result": told}
