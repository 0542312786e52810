"""What is said of failures: which, how often, where, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import executor_functions
from in_process import InProcess, harness_ledger
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Experiment,
    ExperimentFailed,
    Spec,
    pipeline_step,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from muniment_plugins.harness.experiment.failures import Failure, summed_up
from small_experiment import small


def builder() -> ExperimentBuilder:
    """Return the builder of an experiment without tests."""
    pipeline = small(spec=Spec(resources={"time_s": 0.5}))
    return (
        Experiment.builder("fails")
        .datasource(executor_functions.rows)
        .pipeline(pipeline)
    )


@pipeline_step
def fussy(data: object, ctx: Mapping[str, Any]) -> object:
    """Fail in every replicate but the first."""
    if ctx["replicate"]:
        raise ValueError("too odd")
    return data


def test_failures_are_counted_and_summed_up(tmp_path: Path) -> None:
    """What struck several replicates is one line that names them."""
    built = builder().add_step(fussy()).build()
    with harness_ledger(tmp_path / "ledger.db") as ledger:
        result = built.run(replicates=12, ledger=ledger)
        assert replay(ledger, result.run_id).ok
    with pytest.raises(ExperimentFailed, match="11 failures") as failed:
        result.raise_for_errors()
    first, *kinds = str(failed.value).splitlines()
    assert f"`muniment runs explain {result.run_id}` says what to do" in first
    (kind,) = kinds
    where = "baseline, fussy (11 replicates: 1, 2, 3, 4, 5, 6, 7, 8, …)"
    assert kind.strip() == f"{where}: ValueError: too odd"


def test_many_kinds_of_failures_are_cut() -> None:
    """An error says ten kinds; a long message is shortened, the others are counted."""
    failures = [
        Failure(f"t{n}, replicate {n}, fussy", "ValueError", "long\n" * 999)
        for n in range(12)
    ]
    kinds = tuple(summed_up(failures))
    assert len(kinds) == 12
    text = str(ExperimentFailed("12 failures", rule="harness/failed", kinds=kinds))
    assert len(text.splitlines()) == 12
    assert text.endswith("and 2 more kinds; result.errors has all")
    assert all(len(line) < 400 for line in text.splitlines())


def test_a_remedy_stands_beside_its_failure(tmp_path: Path) -> None:
    """What an error says to do is a member of the failure, and is said with it."""
    code = "def fit_and_eval(data): return dict(fine_pass=True)"
    built = builder().initial_ctx({"code": code}).build()
    with harness_ledger(tmp_path / "ledger.db") as ledger:
        result = built.run(ledger=ledger)
    (failure,) = result.errors
    assert failure.remedy == "name the metric without _pass"
    (said,) = summed_up([failure])
    assert said.startswith("baseline, execute_capsule (replicate 0): HarnessRefused: ")
    assert said.endswith(f"only a test may say [harness/metric]; {failure.remedy}")


def test_a_timeout_says_which_limit_it_was(tmp_path: Path) -> None:
    """Its message has the limit, and the remedy where to raise it."""
    capsule = InProcess()
    capsule.fails = {1}
    with harness_ledger(tmp_path / "ledger.db", capsule) as ledger:
        (failure,) = builder().build().run(ledger=ledger).errors
    assert "CPU time is over; the limit is time_s=0.5" in failure.message
    assert failure.remedy == 'raise time_s: Spec(resources={"time_s": …})'


def test_the_evidence_of_an_execution_says_how_it_ended(ledger: Ledger) -> None:
    """Each run of the code has its exit beside what it printed; stderr if any."""
    code = "def fit_and_eval(data):\n    while True: pass"
    built = builder().treatment("endless", {"code": code}).build()
    result = built.run(ledger=ledger)
    first, second = ledger.events(run=result.run_id, type="execution.measured")
    assert first.raw["exits"] == ["answered"]
    assert second.raw["exits"] == ["SIGPROF"]
    assert "stderr" not in first.raw
    assert replay(ledger, result.run_id).ok
