"""Where only claim or verifier changed, nothing is asked and nothing is executed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess, harness_ledger
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Claim,
    Experiment,
    Result,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder

CODE = "def fit_and_eval(data): return {'total': sum(data), 'n': len(data)}"
PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}
ASKED: list[str] = []
DOWN: list[None] = []


def rows(ctx: Mapping[str, Any]) -> list[int]:
    """Return rows, and say that they were asked for."""
    ASKED.append("rows")
    return [1, 2, ctx["replicate"]]


def model(claim: Claim, spec: Spec, ctx: Mapping[str, Any]) -> object:
    """Write the code, at some cost."""
    del spec, ctx
    ASKED.append("model")
    if DOWN:
        raise ConnectionError("the model is down")
    return f"# {claim.id}\n{CODE}", {"llm_call": {"model": "m"}}


def told(ctx: Mapping[str, Any]) -> dict[str, object]:
    """Say what a treatment changes."""
    ASKED.append("treatment")
    return {"data": [7, ctx["replicate"]]}


def plan(most: float = 9, text: str = "t", **other: Any) -> ExperimentBuilder:
    """Return a plan whose claim says *most*."""
    claim = Claim("c", text, {"metric": "total", "max_value": most})
    return (
        Experiment.builder("judged")
        .datasource(rows)
        .add_step(specify_claim(claim=claim))
        .add_step(generate_spec(spec=Spec(properties=[PERM], **other)))
        .add_step(bounded_synthesis(llm=model))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2))
        .treatment("told", told)
        .hypothesis("claimed", verifier=meets_claim)
    )


@pytest.fixture
def capsule() -> InProcess:
    """Return what counts executions."""
    ASKED.clear()
    DOWN.clear()
    return InProcess()


@pytest.fixture
def ledger(tmp_path: Path, capsule: InProcess) -> Iterator[Ledger]:
    """Give the test a ledger with that capsule."""
    with harness_ledger(tmp_path / "ledger.db", capsule) as made:
        yield made


def run(builder: ExperimentBuilder, ledger: Ledger, strategy: Any = "resume") -> Result:
    """Run two replicates of it."""
    return builder.build().run(replicates=2, strategy=strategy, ledger=ledger)


CHANGES: dict[str, Callable[[], ExperimentBuilder]] = {
    "the bound of the claim": lambda: plan(most=2),
    "the text of the claim": lambda: plan(text="another text"),
    "another verifier": lambda: plan().hypothesis("tested", verifier=metamorphic),
    "the claim of a treatment": lambda: plan().initial_ctx(
        {
            "claim": {
                "id": "d",
                "text": "t",
                "acceptance": {"max_value": 1, "metric": "n"},
            }
        }
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_done_again(ledger: Ledger, capsule: InProcess, change: str) -> None:
    """The new run is answered by the old one, says so, and replays by itself."""
    before = run(plan(), ledger)
    asked, executed = [*ASKED], capsule.executed
    assert (asked.count("model"), executed >= 8) == (4, True)
    after = run(CHANGES[change](), ledger)
    assert after.errors == ()
    assert after.run_id != before.run_id
    assert (asked, executed) == (ASKED, capsule.executed)
    assert after.metrics.baseline.metrics == before.metrics.baseline.metrics
    taken = list(ledger.events(run=after.run_id, type="answer.taken"))
    performed = ledger.events(run=after.run_id)
    outcomes = [one for one in performed if one.type.endswith(".completed")][:-1]
    assert len(taken) == len(outcomes)
    for one in taken:
        answer = ledger.event(int(str(one.data["event"])))
        assert (answer.run, one.data["run"]) == (before.run_id, before.run_id)
        assert str(one.scope).startswith(f"{answer.scope}/@")
    levels = {hypothesis.level for hypothesis in after.metrics.hypotheses}
    assert levels == {"none"}
    assert after.integrity.status != "valid"
    report = replay(ledger, after.run_id)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert capsule.executed == 2 * executed
    again = run(CHANGES[change](), ledger)
    assert again.run_id == after.run_id


def test_the_verdict_is_that_of_the_new_claim(ledger: Ledger) -> None:
    """It is judged by what is claimed now."""
    before, after = (run(plan(most=most), ledger) for most in (9, 2))
    assert [one.metrics.hypotheses[0].passed for one in (before, after)] == [
        True,
        False,
    ]


OTHERS: dict[str, Callable[[], ExperimentBuilder]] = {
    "bounds": lambda: plan(allowed_imports=["math"]),
    "a treatment": lambda: plan().treatment("more", {"data": [1, 2]}),
    "a value of the context": lambda: plan().initial_ctx({"mine": 1}),
    "a step": lambda: plan().add_step(run_metamorphic_tests(permutations=3)),
    "another name": lambda: replace(plan(), name="other"),
}


@pytest.mark.parametrize("change", OTHERS)
def test_another_measurement_is_measured(
    ledger: Ledger, capsule: InProcess, change: str
) -> None:
    """What was asked under another plan answers nothing of this one."""
    run(plan(), ledger)
    executed = capsule.executed
    after = run(OTHERS[change](), ledger)
    assert after.errors == ()
    assert capsule.executed > executed
    assert not [*ledger.events(run=after.run_id, type="answer.taken")]


def test_who_wants_it_anew_says_so(ledger: Ledger, capsule: InProcess) -> None:
    """By default everything is asked and executed."""
    run(plan(), ledger)
    executed = capsule.executed
    after = run(plan(most=2), ledger, "rerun")
    assert capsule.executed == 2 * executed
    assert not [*ledger.events(run=after.run_id, type="answer.taken")]


def test_what_failed_is_performed(ledger: Ledger) -> None:
    """A model that was down is asked; what was answered is taken."""
    DOWN.append(None)
    assert len(run(plan(), ledger).errors) == 4
    DOWN.clear()
    ASKED.clear()
    after = run(plan(most=2), ledger)
    assert after.errors == ()
    assert ASKED == ["model"] * 4
    taken = ledger.events(run=after.run_id, type="answer.taken")
    assert {str(one.scope).rpartition("@")[2].partition(":")[0] for one in taken}
