"""What an acceptance may say: a bound that bounds nothing shows nothing."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.harness import (
    Claim,
    Experiment,
    HarnessRefused,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    specify_claim,
)
from muniment_plugins.harness.statistics.criteria import BOUNDS
from muniment_plugins.harness.statistics.judgement import judge_acceptance

CODE = "def fit_and_eval(data): return {'m': float(sum(data)), 'n': 1.0}"
MEANS = {
    "min_improvement_pct": lambda pct, bound: pct >= bound - 1e-6,
    "max_change_pct": lambda pct, bound: abs(pct) <= bound + 1e-6,
}
NOTHING = [math.nan, math.inf, -math.inf, 10**400, "5", None, True, [1], b"5"]
"""No bounds: nothing is beyond them, or nothing within, or they are no numbers."""


def measured(*values: float) -> dict[str, list[object]]:
    """Return these values of the metric."""
    return {"m": [*values]}


@pytest.mark.parametrize("key", MEANS)
@given(
    bound=st.floats(),
    better=st.lists(st.floats(-50, 150), min_size=2, max_size=8),
    alpha=st.sampled_from([None, 0.05, 0.5]),
)
def test_what_holds_is_so(
    key: str, bound: float, better: list[float], alpha: float | None
) -> None:
    """Whatever float the bound is, a claim that holds is true of the means.

    A bound of which that cannot be said is refused.
    """
    before = [100.0 + number for number in range(len(better))]
    after = [one * (1 - pct / 100) for one, pct in zip(before, better, strict=True)]
    claim = Claim("c", "It is better.", {"metric": "m", key: bound})
    said: dict[str, object] = {}
    with suppress(HarnessRefused):
        said = judge_acceptance(
            measured(*before), measured(*after), claim=claim, seed=1, alpha=alpha
        )
    can_be = math.isfinite(bound) and (key != "max_change_pct" or bound > 0)
    assert bool(said) == can_be
    if said and said["meets_claim"]:
        pct = cast("float", said["pct_improvement"])
        assert MEANS[key](pct, bound), (pct, bound)


@pytest.mark.parametrize("value", NOTHING, ids=repr)
@pytest.mark.parametrize("key", BOUNDS)
def test_no_bound_is_refused_as_the_plan_is_made(key: str, value: object) -> None:
    """Before anything runs, and by the judgement itself."""
    acceptance = {"metric": "m", key: value}
    refused(acceptance)


@pytest.mark.parametrize("value", [7, None, ["m"], "", b"m", True], ids=repr)
def test_a_metric_is_a_name(value: object) -> None:
    """A metric that is no text is not passed over in favour of another."""
    refused({"metric": value, "max_value": 300})


def test_nothing_equals_nan() -> None:
    """A claim that nothing can meet is refused."""
    refused({"metric": "m", "equals": math.nan})


def refused(acceptance: dict[str, object]) -> None:
    """Require that a plan, and the judgement, refuse the *acceptance*."""
    claim = Claim("c", "It holds.", acceptance)
    with pytest.raises(HarnessRefused, match="harness/claim"):
        planned(claim).build()
    with pytest.raises(HarnessRefused, match="harness/claim"):
        judge_acceptance(measured(1.0), measured(1.0, 2.0), claim=claim, seed=1)


def planned(claim: Claim) -> Any:
    """Return the builder of an experiment with a treatment."""
    return (
        Experiment.builder("acceptances")
        .datasource(numbers)
        .add_step(specify_claim(claim=claim))
        .add_step(generate_spec(spec={}))
        .add_step(bounded_synthesis(code=CODE))
        .add_step(execute_capsule())
        .treatment("same", {"code": CODE + "\n"})
        .hypothesis("holds", verifier=meets_claim)
    )


def numbers(ctx: dict[str, int]) -> list[float]:
    """Return other data for each replicate."""
    return [10.0 + ctx["replicate"]]
