"""An experiment is a run: its evidence, its failures, its replay."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from muniment.encoding.canonical import sha256_tag
from muniment.errors import CannotTellError, MunimentError, UsageError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.harness import (
    Experiment,
    ExperimentFailed,
    HarnessRefused,
    Pipeline,
    Result,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    specify_claim,
)
from muniment_plugins.harness.experiment.program import ExperimentProgram

Make = Callable[..., Experiment]


def test_every_fact_is_in_the_ledger(ledger: Ledger, experiment: Make) -> None:
    """A replicate leaves its data, claim, spec, code, executions, tests and metrics."""
    result = experiment().run(replicates=2, ledger=ledger)
    events = list(ledger.events(run=result.run_id))
    one = [event.type for event in events if event.scope == "baseline/replicate/1"]
    assert one == [
        "replicate.started",
        "data.requested",
        "data.completed",
        "claim.stated",
        "spec.issued",
        "synthesis.attempted",
        "execution.requested",
        "execution.completed",
        "execution.requested",
        "execution.completed",
        "property.tested",
        "metrics.measured",
    ]
    ends = [event.type for event in events if event.scope in ("", "baseline")]
    assert ends == [
        "run.started",
        "experiment.registered",
        "verdict.reached",
        "run.completed",
    ]
    assert result.ok
    assert result.exit_code == 0
    assert result.metrics.baseline.metrics == {
        "total": [15, 15],
        "mean": [3.0, 3.0],
        "perm_pass": [True, True],
    }


def test_equal_experiments_have_equal_results(ledger: Ledger, experiment: Make) -> None:
    """Two runs with the same inputs have one digest; another input has another."""
    first = experiment().run(replicates=2, ledger=ledger)
    second = experiment().run(replicates=2, ledger=ledger)
    assert first.run_id != second.run_id
    assert first.result_digest == second.result_digest
    other = experiment(resources={"time_s": 6}).run(replicates=2, ledger=ledger)
    assert other.result_digest != first.result_digest


def test_a_replay_needs_nothing_but_the_events(
    ledger: Ledger, experiment: Make
) -> None:
    """The verdict is derived again by running the recorded code, nothing else given."""
    result = experiment().run(replicates=1, ledger=ledger)
    report = replay(ledger, result.run_id)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert report.result_digest == result.result_digest


def test_a_replay_runs_the_code_again(
    ledger: Ledger, experiment: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capsule that computes something else now is a divergence that names it."""
    result = experiment().run(ledger=ledger)
    first = ledger.plugins.first

    def other(hook: str, **arguments: object) -> object:
        answer = first(hook, **arguments)
        if hook == "execute_code":
            assert isinstance(answer, dict)
            answer["metrics"] = {**answer["metrics"], "total": 16}
        return answer

    monkeypatch.setattr(ledger.plugins, "first", other)
    report = replay(ledger, result.run_id)
    assert report.verdict == "unacceptable"
    assert report.first_divergence is not None
    assert report.first_divergence.field == "value[0].metrics.total"
    assert (report.first_divergence.expected, report.first_divergence.got) == (15, 16)


def test_a_changed_content_refuses_the_replay(ledger: Ledger, experiment: Make) -> None:
    """Data that was changed in the file is refused, and nothing is derived from it."""
    result = experiment().run(ledger=ledger)
    (data,) = ledger.events(run=result.run_id, type="data.completed")
    digest = bytes.fromhex(data.raw["value"]["$blob"].removeprefix("sha256:"))  # type: ignore[index, call-overload, union-attr]
    path = ledger.path
    ledger.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        texts = dict(
            database.execute("SELECT name, sql FROM sqlite_master WHERE type='trigger'")
        )
        for name in texts:
            database.execute(f"DROP TRIGGER {name}")
        (content,) = database.execute(
            "SELECT data FROM blob WHERE digest = ?", (digest,)
        ).fetchone()
        database.execute(
            "UPDATE blob SET data = ? WHERE digest = ?",
            (content.replace(b"5]", b"6]"), digest),
        )
        for text in texts.values():
            database.execute(text)
    with (
        Ledger.open(path, readonly=True) as changed,
        pytest.raises(MunimentError, match=r"content|commitment|blob"),
    ):
        replay(changed, result.run_id)
    assert verify(path).exit_code == 1


def test_refused_code_leaves_signed_evidence(ledger: Ledger, experiment: Make) -> None:
    """Code out of bounds is in the ledger with rule and line, and the run failed."""
    code = "import os\ndef fit_and_eval(data): return {'total': 1}"
    result = experiment(code).run(replicates=2, ledger=ledger)
    assert not result.ok
    assert (result.status, result.exit_code) == ("failed", 1)
    (first, second) = result.errors
    assert first.place == "baseline, replicate 0, bounded_synthesis"
    assert (first.rule, first.line) == ("capsule/import", 1)
    assert first.message == second.message == "Import not allowed: os"
    attempts = list(ledger.events(run=result.run_id, type="synthesis.attempted"))
    assert [event.data["accepted"] for event in attempts] == [False, False]
    assert attempts[0].data["code"] == code
    (end,) = ledger.events(run=result.run_id, type="run.failed")
    told = ledger.resolve(end)
    assert told["error_type"] == "ExperimentFailed"
    assert "replicate 0, bounded_synthesis: Import not allowed" in str(told["message"])
    assert verify(ledger.path).ok
    with pytest.raises(ExperimentFailed, match="Import not allowed: os, line 1"):
        result.raise_for_errors()


def test_a_failed_experiment_replays_to_its_failure(
    ledger: Ledger, experiment: Make
) -> None:
    """What failed then fails again, equally, and the replay accepts it."""
    code = "def fit_and_eval(data): return {'total': 1 / 0}"
    result = experiment(code).run(ledger=ledger)
    assert "ZeroDivisionError" in result.errors[0].message
    assert experiment(code).run(ledger=ledger).result_digest == result.result_digest
    report = replay(ledger, result.run_id)
    assert report.verdict == "acceptable"
    assert report.result_digest == result.result_digest


def test_stopped_code_is_a_failed_effect(ledger: Ledger, experiment: Make) -> None:
    """An endless loop is stopped, recorded as execution.failed, and replayed so."""
    code = "def fit_and_eval(data):\n    while True: pass"
    stopped = experiment(code, resources={"time_s": 0.3})
    result = stopped.run(ledger=ledger)
    (event,) = ledger.events(run=result.run_id, type="execution.failed")
    assert event.data["error_type"] == "CodeStopped"
    assert "CPU time is over" in result.errors[0].message
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_a_spec_that_opens_the_capsule_is_refused(experiment: Make) -> None:
    """A module that leads outside builds no experiment, by the capsule's rule."""
    with pytest.raises(HarnessRefused, match="would open the capsule") as refused:
        experiment(allowed_imports=["os"])
    assert refused.value.rule == "capsule/dangerous-import"


def test_a_refuted_hypothesis_is_no_failure(ledger: Ledger, experiment: Make) -> None:
    """The run completes, the verdict says no, and so does the exit code."""
    code = "def fit_and_eval(data): return {'total': data[2]}"
    result = experiment(code).run(ledger=ledger)
    assert result.ok
    (judged,) = result.metrics.hypotheses
    assert judged.passed is False
    (fact,) = ledger.events(run=result.run_id, type="property.tested")
    tested = ledger.resolve(fact)
    assert (tested["passed"], tested["metric"]) == (False, "total")
    details = tested["details"]
    assert isinstance(details, dict)
    apart = [one["difference"] for one in details["cases"]]
    seeds = [one["seed"] for one in details["cases"]]
    assert tested["difference"] == max(apart)
    assert seeds[0] is None
    assert len(set(seeds)) == len(seeds) > 4
    assert (result.status, result.exit_code) == ("completed", 1)


def test_an_emptily_asked_hypothesis_fails(ledger: Ledger, experiment: Make) -> None:
    """Zero properties give no metamorphic verdict, but a failure that is recorded."""
    result = experiment(model=True, properties=[]).run(ledger=ledger)
    assert result.metrics.hypotheses == ()
    assert result.errors[0].place == "baseline, hypothesis metamorphic"
    assert result.errors[0].rule == "harness/vacuous"
    (event,) = ledger.events(run=result.run_id, type="hypothesis.unjudged")
    assert event.data["hypothesis"] == "metamorphic"


def test_one_failed_replicate_leaves_the_others(ledger: Ledger) -> None:
    """What was measured before and after a failure is kept, and the run failed."""
    asked: list[object] = []

    def source(_: object) -> list[int]:
        asked.append(None)
        if len(asked) == 2:
            raise RuntimeError("the disk is on fire")
        return [1, 2]

    experiment = (
        Experiment.builder()
        .datasource(source)
        .pipeline(steps("def fit_and_eval(data): return {'n': len(data)}"))
        .build()
    )
    result = experiment.run(replicates=3, ledger=ledger)
    assert result.metrics.baseline.metrics == {"n": [2, 2]}
    (failure,) = result.errors
    assert failure.place == "baseline, replicate 1, datasource"
    assert failure.message == "the disk is on fire"
    # The datasource is a closure: only the record can answer, and it does.
    assert replay(ledger, result.run_id).verdict == "acceptable"
    assert len(asked) == 3


def test_a_model_is_asked_once_and_answered_in_a_replay(ledger: Ledger) -> None:
    """The call of a model is an effect with its answer; a replay asks nobody."""
    asked: list[str] = []

    def model(claim: object, spec: object, ctx: object) -> tuple[str, object]:
        del claim, spec, ctx
        asked.append("once")
        code = "def fit_and_eval(data): return {'n': len(data)}"
        return code, {"llm_call": {"model": "m-1", "prompt": "count"}}

    experiment = (
        Experiment.builder()
        .datasource(lambda _: [1])
        .pipeline(steps(llm=model))
        .build()
    )
    result = experiment.run(ledger=ledger)
    (answer,) = ledger.events(run=result.run_id, type="llm.completed")
    value = ledger.resolve(answer)["value"]
    assert isinstance(value, dict)
    assert value["calls"] == [{"model": "m-1", "prompt": "count"}]
    assert value["digest"] == sha256_tag(value["answer"].encode())
    assert replay(ledger, result.run_id).verdict == "acceptable"
    assert asked == ["once"]


def test_an_interrupted_experiment_is_gone_on_with(ledger: Ledger) -> None:
    """What was measured before is not measured again, and the digest is the same."""
    asked: list[int] = []
    stop = {1}

    def source(about: Mapping[str, int]) -> list[int]:
        asked.append(about["replicate"])
        if about["replicate"] in stop:
            stop.clear()
            raise KeyboardInterrupt
        return [1, 2]

    experiment = (
        Experiment.builder()
        .datasource(source)
        .pipeline(steps("def fit_and_eval(data): return {'n': len(data)}"))
        .build()
    )
    with pytest.raises(KeyboardInterrupt):
        experiment.run(replicates=3, ledger=ledger)
    (started,) = ledger.events(type="run.started")
    assert started.run is not None
    with pytest.raises(CannotTellError, match="cannot be imported"):
        ledger.resume(started.run)
    assert asked == [0, 1]
    done = ledger.resume(started.run, experiment.program)
    assert asked == [0, 1, 1, 2]
    result = Result.of(ledger, done)
    assert result.metrics.baseline.metrics == {"n": [2, 2, 2]}
    again = experiment.run(replicates=3, ledger=ledger)
    assert again.result_digest == result.result_digest


def test_a_verifier_that_cannot_be_found_cannot_be_told(ledger: Ledger) -> None:
    """A closure as a verifier runs, and its replay says what it lacks or is given it."""
    experiment = (
        Experiment.builder()
        .datasource(lambda _: [1])
        .pipeline(steps("def fit_and_eval(data): return {'n': len(data)}"))
        .hypothesis("small", verifier=lambda _, now: {"passed": max(now["n"]) < 2})
        .build()
    )
    result = experiment.run(ledger=ledger)
    assert result.metrics.hypotheses[0].passed
    with pytest.raises(CannotTellError, match="cannot be derived again"):
        replay(ledger, result.run_id)
    assert replay(ledger, result.run_id, program=experiment.program).ok


def test_a_plan_is_the_same_from_everywhere(
    experiment: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the working directory nor the object changes what an experiment is."""
    before = experiment().program.digest
    monkeypatch.chdir(tmp_path)
    assert experiment().program.digest == before


def test_a_changed_program_names_what_changed(ledger: Ledger, experiment: Make) -> None:
    """Another code under the same run is a divergence, in the member of the plan."""
    result = experiment().run(ledger=ledger)
    code = "def fit_and_eval(data): return {'total': 15, 'mean': 3.0}"
    report = replay(ledger, result.run_id, program=experiment(code).program)
    assert report.first_divergence is not None
    assert report.first_divergence.field == "plan.pipeline[2].code"


def test_other_runs_are_not_experiments(ledger: Ledger) -> None:
    """A run of another program is left to whoever knows it."""
    with ledger.run("by hand") as run:
        pass
    given = {"ledger": ledger, "run": run.id, "trust_source": False}
    asked = ledger.plugins.ask("rebuild_program", **given)
    assert {answer for _, answer in asked} == {None}


def test_a_builder_refuses_what_could_not_run() -> None:
    """An experiment without data, steps or replicates is misuse, said at once."""
    with pytest.raises(UsageError, match="no datasource"):
        Experiment.builder().build()
    with pytest.raises(UsageError, match="no steps"):
        Experiment.builder().datasource(lambda _: []).build()
    with pytest.raises(UsageError, match="0 replicates are none"):
        Experiment.builder().replicates(0)
    builder = Experiment.builder().hypothesis("h", verifier=metamorphic)
    with pytest.raises(UsageError, match="two hypotheses are called h"):
        builder.hypothesis("h", verifier=metamorphic)


def test_a_program_is_made_again_from_its_description(experiment: Make) -> None:
    """Describing and making again is the identity, for every step."""
    plan = experiment().program.describe()
    assert ExperimentProgram.from_json(plan).describe() == plan


def steps(code: str | None = None, **given: object) -> Pipeline:
    """Return the steps without tests, with the code or the model *given*."""
    return Pipeline(
        [
            specify_claim(claim={"id": "c", "text": "It counts"}),
            generate_spec(spec={"resources": {"time_s": 5, "mem_mb": 256}}),
            bounded_synthesis(code=code, **given),  # type: ignore[arg-type]
            execute_capsule(),
        ]
    )


def test_results_are_values(ledger: Ledger, experiment: Make) -> None:
    """A result is what the ledger said then, and cannot be changed."""
    result = experiment().run(ledger=ledger)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        result.errors = ()  # type: ignore[misc]


def test_a_ledger_is_made_where_none_is_found(
    tmp_path: Path, experiment: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a ledger one is made in the working directory, and used again."""
    monkeypatch.chdir(tmp_path)
    first = experiment().run()
    assert (tmp_path / ".muniment" / "ledger.db").exists()
    assert experiment().run().ledger_id == first.ledger_id
