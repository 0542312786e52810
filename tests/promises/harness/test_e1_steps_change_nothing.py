"""What functions of the user do to what they are given changes no record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess, harness_ledger
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Experiment,
    Result,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from muniment_plugins.harness.statistics.verifiers import Verifier
from muniment_plugins.harness.steps.custom import Custom
from spoiling_functions import (
    CODE,
    KINDS,
    SPOILED,
    altered,
    asked,
    content,
    copied,
    judged,
    proposed,
    returning,
    rows,
    spoiling,
    treated,
)

PLACES = {
    *("datasource: ctx, mine", "datasource: ctx, changed", "treatment: ctx, mine"),
    *("step: data", "step: value of the context", "step: parameter"),
    *("step: ctx, data", "step: ctx, mine", "step: ctx, changed"),
    *("model: data", "model: ctx, data", "model: ctx, mine", "model: ctx, changed"),
    *("transform: data", "verifier: setting"),
}
"""Where a value is given to functions as the user gave it."""


class Watching(InProcess):
    """Keeps what the code is given, as a record would hold it."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[bytes] = []

    @hookimpl
    def execute_code(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Run the code."""
        self.given.append(content(request["data"]))
        return super().execute_code(request)


@pytest.fixture
def watching() -> Watching:
    """Return what runs the code of a test."""
    return Watching()


@pytest.fixture
def ledger(tmp_path: Path, watching: Watching) -> Iterator[Ledger]:
    """Give the test a ledger whose capsule is watched."""
    with harness_ledger(tmp_path / "ledger.db", watching) as made:
        yield made


def pristine() -> bytes:
    """Return the content of the value as the user gave it."""
    return content(SPOILED.make())


def plan(kind: str) -> ExperimentBuilder:
    """Return a plan that gives values of *kind* to functions in all places."""
    SPOILED.begin(kind)
    mine = SPOILED.value()
    judge = Verifier.of(judged)(given=SPOILED.value())
    return (
        Experiment.builder("spoiled")
        .datasource(rows)
        .initial_ctx({"mine": mine})
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(spoiling(given=SPOILED.value()))
        .add_step(generate_spec(llm=proposed))
        .add_step(bounded_synthesis(llm=asked))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(transforms={"turn": altered}))
        .treatment("told", treated)
        .treatment("fixed", {"changed": mine})
        .hypothesis("one", verifier=judge)
        .hypothesis("two", verifier=judge)
    )


def run(builder: ExperimentBuilder, ledger: Ledger, executor: str) -> Result:
    """Run it, while the user goes on changing their own objects."""
    experiment = builder.build()
    SPOILED.change_all()
    result = experiment.run(replicates=2, ledger=ledger, executor=executor)
    SPOILED.change_all()
    assert result.errors == ()
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_every_function_is_given_what_was_recorded(
    ledger: Ledger, watching: Watching, kind: str
) -> None:
    """At each place each call sees the value as it was given, and so does the code.

    Data stays what the datasource gave; metrics and verdicts are those returned.
    """
    result = run(plan(kind), ledger, "serial")
    assert SPOILED.seen == {place: {pristine()} for place in PLACES}
    assert pristine() in watching.given
    assert set(watching.given) == {pristine(), content({"other": "data"})}
    require_recorded(ledger, result)
    report = replay(ledger, result.run_id)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert report.result_digest == result.result_digest
    assert SPOILED.seen == {place: {pristine()} for place in PLACES}


def test_a_plan_of_the_first_edition_keeps_its_rule(
    ledger: Ledger, watching: Watching
) -> None:
    """There a copy was other data; a replay of such a record says so, too."""
    SPOILED.begin("rows")
    del watching
    copying = replace(copied(), by_content=False)

    def built(step: Custom) -> Experiment:
        return (
            Experiment.builder("first")
            .datasource(rows)
            .add_step(specify_claim(claim={"id": "c", "text": "t"}))
            .add_step(generate_spec(spec={}))
            .add_step(bounded_synthesis(code=CODE))
            .add_step(step)
            .add_step(execute_capsule())
            .build()
        )

    experiment = built(copying)
    assert "compared" not in str(experiment.program.describe())
    result = experiment.run(ledger=ledger)
    (applied,) = ledger.events(run=result.run_id, type="step.applied")
    assert content(ledger.resolve(applied)["data"]) == pristine()
    for program in (None, built(copied()).program):
        report = replay(ledger, result.run_id, program)
        assert (report.verdict, report.findings) == ("acceptable", ())
    now = built(copied()).run(ledger=ledger)
    (applied,) = ledger.events(run=now.run_id, type="step.applied")
    assert "data" not in ledger.resolve(applied)


def require_recorded(ledger: Ledger, result: Result) -> None:
    """Require that the record says what the functions gave and returned."""
    data = ledger.events(run=result.run_id, type="data.completed")
    outcomes = [one for one in data if "/@" not in str(one.scope)]
    given = [ledger.resolve(one)["value"] for one in outcomes]
    sources = [
        one for one in given if not isinstance(one, dict) or "changed" not in one
    ]
    assert {content(one) for one in sources} == {pristine()}
    applied = ledger.events(run=result.run_id, type="step.applied")
    facts = [ledger.resolve(one) for one in applied]
    assert facts == [{"step": "spoiling", "metrics": {"m": [1]}}] * 6
    for hypothesis in result.metrics.hypotheses:
        seen = ["m", "n", "turn_pass"]
        results: list[Any] = [*hypothesis.results.values()]
        judged = [one["seen"] for one in results]
        assert judged == [[seen, seen, seen]] * 2


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"index of a frame"}))
def test_data_changed_in_place_and_returned_is_other_data(
    ledger: Ledger, watching: Watching, kind: str
) -> None:
    """What the code got is what the record says, as it was when it was returned."""
    SPOILED.begin(kind)
    builder = (
        Experiment.builder("returned")
        .datasource(rows)
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(spec={}))
        .add_step(bounded_synthesis(code=CODE))
        .add_step(returning())
        .add_step(execute_capsule())
    )
    result = run(builder, ledger, "serial")
    changed = SPOILED.make()
    SPOILED.change(changed)
    applied = ledger.events(run=result.run_id, type="step.applied")
    recorded = [content(ledger.resolve(one)["data"]) for one in applied]
    assert set(recorded) == set(watching.given) != {pristine()}
    assert replay(ledger, result.run_id).verdict == "acceptable"
