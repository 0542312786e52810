"""An id means one claim in all conditions, and a condition is judged by one claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment import replay
from muniment.ledger import Ledger
from muniment_cli.views.claims import claims_tried
from muniment_plugins.harness import (
    Experiment,
    HarnessRefused,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    specify_claim,
)

SAME = "def fit_and_eval(data): return {'m': sum(data)}"
WORSE = "def fit_and_eval(data): return {'m': 1.2 * sum(data)}"
Changes = dict[str, object]


def claim(least: float, name: str = "c", text: str = "It is better.") -> Changes:
    """Return a claim of a least improvement."""
    wanted = {"metric": "m", "min_improvement_pct": least}
    return {"id": name, "text": text, "acceptance": wanted}


def numbers(ctx: dict[str, int]) -> list[float]:
    """Return other data for each replicate."""
    return [10.0 + ctx["replicate"]]


def planned(**treatments: Any) -> Any:
    """Return the builder of an experiment with these treatments."""
    builder = (
        Experiment.builder("claims")
        .datasource(numbers)
        .add_step(specify_claim(claim=claim(30)))
        .add_step(generate_spec(spec={}))
        .add_step(bounded_synthesis(code=SAME))
        .add_step(execute_capsule())
        .hypothesis("better", verifier=meets_claim)
    )
    for name, changes in treatments.items():
        builder = builder.treatment(name, changes)
    return builder


@pytest.mark.parametrize("other", [claim(-50), claim(30, text="It is good.")])
def test_a_plan_with_two_claims_of_one_id_is_refused(other: Changes) -> None:
    """Of the baseline and a treatment, and of two treatments, before anything runs."""
    with pytest.raises(HarnessRefused, match=r"treatment t, .*\[harness/claim\]"):
        planned(t={"claim": other}).build()
    renamed = {**other, "id": "other"}
    both = {"t": {"claim": claim(-50, "other", "x")}, "u": {"claim": renamed}}
    with pytest.raises(HarnessRefused, match="other means two things"):
        planned(**both).build()


def weaker(_: object) -> Changes:
    """Change the claim, and say so only as it runs."""
    return {"claim": claim(-50), "code": WORSE}


def wavering(ctx: dict[str, int]) -> Changes:
    """Change the claim from replicate to replicate."""
    return {"claim": claim(-50 - ctx["replicate"], "other"), "code": WORSE}


@pytest.mark.parametrize("changes", [weaker, wavering])
def test_what_is_said_only_as_it_runs_is_left_open(
    ledger: Ledger, changes: Callable[..., Changes]
) -> None:
    """No verdict is reached on a claim that is another's, or several.

    A replicate that would state another's claim is refused before it asks for code.
    """
    built = planned(t=changes, u={"code": WORSE}).build()
    result = built.run(ledger=ledger, replicates=6)
    reached = list(ledger.events(run=result.run_id, type="verdict.reached"))
    assert ("better", "t") in result.unjudged
    assert "t" not in {one.scope for one in reached}
    assert "claim" in str(result.errors)
    stated = list(ledger.events(run=result.run_id, type="claim.stated"))
    assert any((one.scope or "").startswith("t/") for one in stated) == (
        changes is wavering
    )
    assert result.exit_code == 1
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_a_verdict_counts_for_the_claim_of_its_condition(ledger: Ledger) -> None:
    """A treatment that holds by its own claim says nothing about the other one."""
    built = planned(t={"claim": claim(-50, "other"), "code": WORSE}, u={"code": WORSE})
    run = built.build().run(ledger=ledger, replicates=6)
    assert run.exit_code == 1
    told = {
        one.claim.id: [(v.condition, v.passed) for v in one.verdicts]
        for one in claims_tried(ledger)
    }
    assert told == {"c": [("u", False)], "other": [("t", True)]}
