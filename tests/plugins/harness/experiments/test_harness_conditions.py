"""Treatments change anything; own steps take what they need; builders refuse early."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import executor_functions
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.programs.references import Function
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.harness import (
    Claim,
    Experiment,
    Spec,
    Treatment,
    execute_capsule,
    metamorphic,
    pipeline_step,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.statistics.verifiers import Hypothesis, Verifier
from small_experiment import small

CODE = "def fit_and_eval(data): return {'total': sum(data), 'n': len(data)}"
NOISY = "def fit_and_eval(data): return {'total': 1 + data[0] * 1e-3, 'n': 1}"

pytestmark = pytest.mark.in_process


def builder(*more: Any, code: str = CODE) -> ExperimentBuilder:
    """Return a builder with the usual steps, and *more* before the execution."""
    made = Experiment.builder("conditions").datasource(executor_functions.rows)
    return made.pipeline(small(*more, code=code))


@pytest.mark.parametrize(
    ("changes", "metrics"),
    [
        ({"code": NOISY}, {"total": [1.001], "n": [1], "perm_pass": [False]}),
        (
            {"code": NOISY, "tolerance": 1.0},
            {"total": [1.001], "n": [1], "perm_pass": [True]},
        ),
        ({"data": [5, 6]}, {"total": [11], "n": [2], "perm_pass": [True]}),
        ({"spec": Spec()}, {"total": [10], "n": [5]}),
        (
            {"code": CODE.replace("fit_and_eval", "go"), "entrypoint": "go"},
            {"total": [10], "n": [5], "perm_pass": [True]},
        ),
        (
            {"llm": executor_functions.model},
            {"total": [10], "n": [5], "perm_pass": [True]},
        ),
        (
            {"claim": Claim("d", "Another")},
            {"total": [10], "n": [5], "perm_pass": [True]},
        ),
    ],
)
def test_a_treatment_changes_anything(
    ledger: Ledger, changes: dict[str, object], metrics: dict[str, object]
) -> None:
    """Claim, spec, model, code, data, entrypoint, tolerance; the baseline stays."""
    result = builder().treatment("other", changes).build().run(ledger=ledger)
    assert result.errors == ()
    assert result.metrics.baseline.metrics["total"] == [10]
    assert result.metrics.treatments["other"].metrics == metrics
    (applied,) = ledger.events(run=result.run_id, type="treatment.applied")
    assert applied.data["treatment"] == "other"
    assert applied.scope == "other/replicate/0"
    claims = list(ledger.events(run=result.run_id, type="claim.stated"))
    assert claims[1].data["id"] == ("d" if "claim" in changes else "c")
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_replicates_are_pairs(ledger: Ledger) -> None:
    """One replicate has one seed in all conditions, another replicate another."""
    code = "def fit_and_eval(data): return {'seed': seed, 'total': 1}"
    built = builder(code=code).treatment("same", {"note": 1}).build()
    result = built.run(replicates=3, ledger=ledger)
    seeds = result.metrics.baseline.metrics["seed"]
    assert len(set(seeds)) == 3
    assert result.metrics.treatments["same"].metrics["seed"] == seeds


def test_a_function_may_say_what_changes(ledger: Ledger) -> None:
    """It is asked once for each replicate; a replay is answered from the record."""
    asked: list[int] = []

    def changes(ctx: Mapping[str, Any]) -> dict[str, object]:
        asked.append(ctx["replicate"])
        return {"data": [ctx["replicate"], 5]}

    built = builder().treatments([Treatment("drawn", changes)]).build()
    result = built.run(replicates=2, ledger=ledger)
    assert result.metrics.treatments["drawn"].metrics["total"] == [5, 6]
    assert replay(ledger, result.run_id).verdict == "acceptable"
    assert asked == [0, 1]


def reversed_rows(data: list[int]) -> list[int]:
    """Return the rows the other way round."""
    return data[::-1]


def test_a_treatment_may_bring_functions(ledger: Ledger) -> None:
    """A transform of one's own stands in a treatment as it does in a step."""
    own = Spec(properties=[{"name": "own", "transform": "turn", "metric": "total"}])
    changes = {"spec": own, "transforms": {"turn": reversed_rows}}
    result = builder().treatment("turned", changes).build().run(ledger=ledger)
    assert result.errors == ()
    assert result.metrics.treatments["turned"].metrics["own_pass"] == [True]


@pytest.mark.parametrize(
    "name", ["", "baseline", "../../evil", "a/b", "plugin", "@x", "..", "a\0b"]
)
def test_a_treatment_needs_a_name_of_its_own(name: str) -> None:
    """A name that would leave its directory or its scope is refused."""
    with pytest.raises(UsageError, match="is not a name of a treatment"):
        Treatment(name, {"data": [1]})


def test_what_a_plan_cannot_carry_is_refused() -> None:
    """An object without a form is refused when it is given, with its name."""
    with pytest.raises(UsageError, match="treatment odd, thing"):
        Treatment("odd", {"thing": object()})
    with pytest.raises(UsageError, match="initial_ctx, thing"):
        builder().initial_ctx({"thing": object()})


def test_names_stand_once() -> None:
    """Two treatments or hypotheses of one name are refused, and so is a missing part."""
    made = builder().treatment("a", {"n": 1})
    with pytest.raises(UsageError, match="two treatments are called a"):
        made.treatment("a", {"n": 2})
    with pytest.raises(UsageError, match="two hypotheses are called h"):
        made.hypotheses([Hypothesis("h", metamorphic), Hypothesis("h", metamorphic)])
    with pytest.raises(UsageError, match="nobody judges h"):
        made.hypothesis("h")
    with pytest.raises(UsageError, match="there is no datasource"):
        Experiment.builder().add_step(execute_capsule()).build()
    with pytest.raises(UsageError, match="there are no steps"):
        Experiment.builder().datasource(executor_functions.rows).build()
    with pytest.raises(UsageError, match="0 replicates are none"):
        made.replicates(0)


def test_builders_change_nothing() -> None:
    """Each method returns another builder, so that one may be the base of several."""
    base = builder()
    base.treatment("a", {"n": 1})
    assert base.build().program.treatments == ()


@pipeline_step
def scaled(data: list[int], ctx: Mapping[str, Any], factor: int = 1) -> object:
    """Scale the rows, and measure what the context says."""
    return [row * factor for row in data], {"seen": ctx["weight"]}


@pipeline_step()
def needing(data: list[int], *, something: int) -> list[int]:
    """Need what nobody has."""
    return [*data, something]


@pipeline_step
def opaque(data: list[int]) -> object:
    """Return what has no form."""
    del data
    return object()


def test_a_step_of_ones_own(ledger: Ledger) -> None:
    """It takes parameters, context and defaults; treatments change them by name."""
    made = builder(scaled(factor=2)).initial_ctx({"weight": 7})
    built = made.treatments({"ten": {"factor": 10}, "eight": {"weight": 8}}).build()
    result = built.run(ledger=ledger)
    assert result.errors == ()
    assert result.metrics.baseline.metrics["total"] == [20]
    assert result.metrics.baseline.metrics["seen"] == [7]
    assert result.metrics.treatments["ten"].metrics["total"] == [100]
    assert result.metrics.treatments["eight"].metrics["seen"] == [8]
    (applied, *_) = ledger.events(run=result.run_id, type="step.applied")
    assert ledger.resolve(applied)["data"] == [2, 4, 6, 8, 0]
    executions = list(ledger.events(run=result.run_id, type="execution.requested"))
    request = ledger.resolve(executions[0])["request"]
    assert isinstance(request, dict)
    assert request["inputs"] == [{"of": {"step": "scaled"}}]


def test_what_a_step_needs_has_to_be_there(ledger: Ledger) -> None:
    """A parameter that nobody gives is refused by name, one that is unknown at once."""
    with pytest.raises(HarnessRefused, match="needing needs something"):
        builder(needing()).build()
    given = builder(needing()).initial_ctx({"something": 5}).build()
    assert given.run(ledger=ledger).metrics.baseline.metrics["n"] == [6]
    with pytest.raises(UsageError, match="Unknown parameters: other"):
        needing(other=1)


def test_what_a_step_returns_has_to_have_a_form(ledger: Ledger) -> None:
    """Data that cannot be recorded is refused, naming the step."""
    result = builder(opaque()).build().run(ledger=ledger)
    assert "what opaque returned cannot be recorded" in result.errors[0].message
    assert result.errors[0].rule == "harness/step"


def test_declared_outputs_have_to_come(ledger: Ledger) -> None:
    """A replicate whose code does not return them fails."""
    assert builder().outputs(["total"]).build().run(ledger=ledger).ok
    with pytest.raises(HarnessRefused, match="the code returns no rmse"):
        builder().outputs(["total", "rmse"]).build()
    code = "def fit_and_eval(data): return dict(total=1, n=1)"
    written = builder().outputs(["rmse"]).treatment("written", {"code": code})
    with pytest.raises(HarnessRefused, match="the code returns no rmse"):
        written.build()
    model = builder().initial_ctx({"llm": lambda *_: code}).outputs(["rmse"])
    result = model.build().run(ledger=ledger)
    assert "the code returns no rmse" in result.errors[0].message


def test_hypotheses_with_treatments(ledger: Ledger) -> None:
    """Verdicts are keyed by condition; one that compares judges treatments alone."""

    def fewer(baseline: Any, condition: Any) -> dict[str, object]:
        apart = sum(baseline["n"]) - sum(condition["n"])
        return {"passed": apart > 0, "p_value": 1 / (1 + apart)}

    judges: dict[str, Verifier | Function] = {
        "metamorphic": metamorphic,
        "fewer": fewer,
    }
    built = (
        builder()
        .treatments({"two": {"data": [1, 2]}, "one": {"data": [1, 0, 3]}})
        .hypotheses(judges)
        .build()
    )
    result = built.run(ledger=ledger)
    every, compared = result.metrics.hypotheses
    assert set(every.results) == {"baseline", "two", "one"}
    assert set(compared.results) == {"two", "one"}
    assert compared.passed is True
    assert compared.ranking.best == "two"
    assert [name for name, _ in compared.ranking.ranked] == ["two", "one"]
    assert result.hypothesis("fewer") == compared


def test_results_in_other_forms(ledger: Ledger, tmp_path: Path) -> None:
    """A frame with a row per replicate, a bundle per condition, a verdict on the file."""
    pandas = pytest.importorskip("pandas")
    built = builder().treatment("two", {"data": [1, 2]}).build()
    result = built.run(replicates=2, ledger=ledger)
    frame = result.to_df()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["condition"]) == ["baseline"] * 2 + ["two"] * 2
    assert list(frame["total"]) == [10, 11, 3, 3]
    files = result.bundle(tmp_path / "bundles")
    assert [one.parts[-3] for one in files] == ["baseline", "two"]
    assert result.verify().ok
    assert verify(ledger.path).ok


def test_an_experiment_is_awaited(ledger: Ledger) -> None:
    """``arun`` awaits models on the caller's loop, and gives the same digest."""
    loops: list[object] = []

    async def model(*_: object) -> str:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return CODE

    built = builder().treatment("asked", {"llm": model}).build()

    async def main() -> tuple[object, str]:
        result = await built.arun(replicates=2, executor="threads", ledger=ledger)
        assert result.errors == ()
        return asyncio.get_running_loop(), result.result_digest

    loop, digest = asyncio.run(main())
    assert loops == [loop, loop]
    assert built.run(replicates=2, ledger=ledger).result_digest == digest


def test_a_cancelled_experiment_can_be_resumed(ledger: Ledger) -> None:
    """Cancelling the task interrupts the run before its next step."""
    started = asyncio.Event()
    calls: list[int] = []

    async def model(*_: object) -> str:
        calls.append(1)
        started.set()
        await asyncio.sleep(0 if len(calls) > 1 else 60)
        return CODE

    built = builder().treatment("asked", {"llm": model}).build()

    async def main() -> None:
        task = asyncio.ensure_future(built.arun(replicates=2, ledger=ledger))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (event,) = ledger.events(type="run.interrupted")
    assert event.data["reason"] == "Unfinished"
    result = built.run(replicates=2, strategy="resume", ledger=ledger)
    assert (result.run_id, result.errors) == (event.run, ())
    assert len(calls) == 3


def test_a_model_may_time_out_by_itself(ledger: Ledger) -> None:
    """A timeout of the model's own is its failure, and not that of the caller."""

    async def model(*_: object) -> str:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)
        return CODE

    built = builder().treatment("asked", {"llm": model}).build()
    result = asyncio.run(built.arun(ledger=ledger))
    assert [one.error_type for one in result.errors] == ["TimeoutError"]


def test_an_experiment_runs_inside_a_loop(ledger: Ledger) -> None:
    """As in a notebook: ``run`` works where a loop is running already."""

    async def main() -> object:
        built = builder().treatment("asked", {"llm": executor_functions.amodel}).build()
        return built.run(ledger=ledger).errors

    assert asyncio.run(main()) == ()
