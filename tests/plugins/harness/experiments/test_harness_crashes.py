"""An experiment that is killed goes on where it was, and asks no model twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import executor_functions
from children import Report, die, start
from in_process import InProcess, harness_ledger
from muniment.replays.replay import replay
from muniment.runs.executors import Executor
from muniment.verification.verify import verify
from muniment_plugins.executors import Processes, Serial, Threads
from muniment_plugins.harness import Experiment, metamorphic
from small_experiment import small


def experiment() -> Experiment:
    """Return an experiment with two conditions that ask a model."""
    return (
        Experiment.builder("killed")
        .datasource(executor_functions.rows)
        .pipeline(small(llm=executor_functions.model))
        .treatment("other", {"note": "nothing"})
        .hypothesis("metamorphic", verifier=metamorphic)
        .build()
    )


def run_until(place: Path, commits: int, executor: Executor) -> int:
    """Run the experiment in a child that dies after so many commits; its exit code."""

    def body(_: Report) -> None:
        left = [commits]
        with harness_ledger(place) as ledger:

            def step(label: str) -> None:
                left[0] -= label == "committed"
                if left[0] < 0:
                    die()

            ledger.store.step = step
            experiment().run(replicates=2, executor=executor, ledger=ledger)

    code, said = start(body).end()
    assert code in (0, -9), said
    return code


@pytest.mark.parametrize(
    ("executor", "every"),
    [
        (Serial(), 9),
        (Threads(workers=4), 9),
        pytest.param(Serial(), 1, marks=pytest.mark.slow),
        pytest.param(Threads(workers=4), 3, marks=pytest.mark.slow),
        pytest.param(Processes(workers=2), 5, marks=pytest.mark.slow),
    ],
)
def test_killed_at_every_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: Executor, every: int
) -> None:
    """Wherever it dies, it is resumed to the same digest, no answered call made again.

    A call that another thread was in the middle of is in doubt, and its kind says
    repeat: the record holds a second request for it.
    """
    with harness_ledger(tmp_path / "whole" / "ledger.db") as ledger:
        whole = experiment().run(replicates=2, ledger=ledger)
    commits, code = 0, -9
    while code == -9:
        place = tmp_path / f"{commits}" / "ledger.db"
        calls = tmp_path / f"{commits}.calls"
        calls.touch()
        monkeypatch.setenv(executor_functions.CALLS, str(calls))
        harness_ledger(place).close()
        code = run_until(place, commits, executor)
        with harness_ledger(place) as ledger:
            again = experiment().run(
                replicates=2, executor=executor, strategy="resume", ledger=ledger
            )
            assert again.errors == ()
            assert again.result_digest == whole.result_digest
            assert again.metrics == whole.metrics
            assert len(list(ledger.events(type="run.started"))) == 1
            assert replay(ledger, again.run_id).verdict == "acceptable"
            asked = Counter(
                str(event.scope).replace("/replicate/", " ") + " 1"
                for event in ledger.events(type="llm.requested")
            )
        made = Counter(calls.read_text().splitlines())
        assert made.keys() == asked.keys()
        assert len(made) == 4
        assert sum(made.values()) - len(made) < executor.lanes
        assert all(made[place] <= asked[place] for place in made)
        assert verify(place).ok
        commits += every
    assert commits > 20 // every


def test_an_all_failed_experiment_can_be_resumed(tmp_path: Path) -> None:
    """What failed by an effect is performed again; what was asked before is not."""
    capsule = InProcess()
    capsule.fails = {1, 2, 3, 4}
    with harness_ledger(tmp_path / "ledger.db", capsule) as ledger:
        failed = experiment().run(replicates=2, ledger=ledger)
        assert (failed.status, failed.exit_code) == ("failed", 1)
        assert failed.metrics.baseline.metrics == {}
        assert [one.place for one in failed.errors] == [
            "baseline, replicate 0, execute_capsule",
            "baseline, replicate 1, execute_capsule",
            "other, replicate 0, execute_capsule",
            "other, replicate 1, execute_capsule",
        ]
        assert {one.rule for one in failed.errors} == {"capsule/cpu"}
        asked = len(list(ledger.events(type="llm.requested")))
        resumed = experiment().run(replicates=2, strategy="resume", ledger=ledger)
        assert resumed.run_id == failed.run_id
        assert (resumed.errors, resumed.status) == ((), "completed")
        assert len(list(ledger.events(type="llm.requested"))) == asked
        assert resumed.metrics.baseline.metrics["n"] == [5, 5]
        assert replay(ledger, resumed.run_id).verdict == "acceptable"
    with harness_ledger(tmp_path / "other" / "ledger.db") as other:
        whole = experiment().run(replicates=2, ledger=other)
        assert whole.result_digest == resumed.result_digest


def test_a_resume_that_fails_again_can_be_resumed_again(tmp_path: Path) -> None:
    """Failures of one replicate, then of another, are gone on from one by one."""
    capsule = InProcess()
    capsule.fails = {1, 4}
    with harness_ledger(tmp_path / "ledger.db", capsule) as ledger:
        first = experiment().run(replicates=2, ledger=ledger)
        assert len(first.errors) == 2
        capsule.fails = {capsule.executed + 1}
        second = experiment().run(replicates=2, strategy="resume", ledger=ledger)
        assert [one.place for one in second.errors] == [
            "baseline, replicate 0, execute_capsule"
        ]
        third = experiment().run(replicates=2, strategy="resume", ledger=ledger)
        assert third.errors == ()
        assert replay(ledger, third.run_id).verdict == "acceptable"


def test_a_complete_run_is_not_run_again(tmp_path: Path) -> None:
    """To resume what completed gives its result, with nothing executed or written."""
    capsule = InProcess()
    with harness_ledger(tmp_path / "ledger.db", capsule) as ledger:
        first = experiment().run(replicates=2, ledger=ledger)
        executed, size = capsule.executed, ledger.head.size
        again = experiment().run(replicates=2, strategy="resume", ledger=ledger)
        assert (again.run_id, again.result_digest) == (
            first.run_id,
            first.result_digest,
        )
        assert again.metrics == first.metrics
        assert (capsule.executed, ledger.head.size) == (executed, size)
        more = experiment().run(replicates=3, strategy="resume", ledger=ledger)
        assert more.run_id != first.run_id


def test_a_run_without_its_plan_is_not_resumed(tmp_path: Path) -> None:
    """Of a run that was cut off, and whose parameters were erased, nobody knows the plan."""
    place = tmp_path / "ledger.db"
    harness_ledger(place).close()
    assert run_until(place, 0, Serial()) == -9
    with harness_ledger(place) as ledger:
        (cut,) = ledger.runs()
        ledger.erase(cut.id, reason="asked for")
        again = experiment().run(replicates=2, strategy="resume", ledger=ledger)
        assert again.run_id != cut.id
        assert again.errors == ()
