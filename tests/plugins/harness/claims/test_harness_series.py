"""Runs of experiments are counted in series, and verdicts stand on that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import muniment
from editions import first_edition, first_programs
from in_process import harness_ledger
from moves import Plan
from muniment.ledger import Ledger
from muniment.verification.verify import verify


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Open a ledger whose capsule is in process."""
    with harness_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def counted(ledger: Ledger, run: str | None) -> dict[str, int]:
    """Return the numbers that the start of *run* has, by the beginnings of the keys."""
    (started,) = ledger.events(run=run, type="run.started")
    return {one.key.rpartition("/")[0]: one.count for one in started.series}


def test_the_start_of_a_run_is_of_its_series(ledger: Ledger) -> None:
    """It is counted by the experiment's name, by each claim, and by its datasource."""
    runs = [Plan().build().run(replicates=1, ledger=ledger) for _ in range(2)]
    other = Plan(name="other").build().run(replicates=1, ledger=ledger)
    names = ("experiment", "experiment.claim", "experiment.data")
    assert counted(ledger, runs[0].run_id) == dict.fromkeys(names, 1)
    assert counted(ledger, runs[1].run_id) == dict.fromkeys(names, 2)
    assert counted(ledger, other.run_id) == dict(zip(names, (1, 3, 3), strict=True))
    (keyed,) = {
        one.key
        for event in ledger.events(run=other.run_id, type="run.started")
        for one in event.series
        if one.key.startswith("experiment/")
    }
    assert [one.run for one in ledger.events(series=keyed)] == [other.run_id]
    assert verify(ledger.path, home=ledger.home).integrity == "intact"


def test_each_statement_of_a_claim_is_counted(ledger: Ledger) -> None:
    """Every replicate states its claim: the claim's series has them all."""
    result = Plan().build().run(replicates=3, ledger=ledger)
    stated = list(ledger.events(run=result.run_id, type="claim.stated"))
    assert [one.series[0].count for one in stated] == list(range(1, len(stated) + 1))
    assert {one.series[0].key for one in stated} == {f"claim/{stated[0].data['id']}"}


def test_a_run_that_never_registered_is_counted(ledger: Ledger) -> None:
    """Who stops a run before it says what it will do has tried all the same."""
    Plan().build().run(replicates=1, ledger=ledger)
    plan = Plan().build()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(plan.program), "conduct", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            plan.run(replicates=1, ledger=ledger)
    third = Plan().build().run(replicates=1, ledger=ledger)
    assert third.hypothesis("better").denominator == {"claim": 3, "experiment": 3}


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_program_run_by_hand_is_counted(ledger: Ledger) -> None:
    """No way of beginning a run of an experiment leads past its series."""
    program = Plan().build().program
    plan = {**program.describe(), "replicates": 1}
    done = ledger.execute(program, params={"plan": plan})
    assert counted(ledger, done.run_id)["experiment"] == 1


def test_runs_with_several_claims_are_counted_once_each(ledger: Ledger) -> None:
    """The denominator counts runs that share a claim, not claims."""
    accepted = {"metric": "total", "min_improvement_pct": 15.0}
    two = {"b": {"claim": {"id": "d", "text": "another", "acceptance": accepted}}}
    both: Mapping[str, Any] = {"treatments": two}
    Plan(name="x", claim="d").build().run(replicates=1, ledger=ledger)
    Plan(name="y", **both).build().run(replicates=1, ledger=ledger)
    last = Plan(name="z", **both).build().run(replicates=1, ledger=ledger)
    assert last.integrity.denominator == {"claim": 3, "experiment": 1}


def test_ledgers_of_before_count_what_was_registered(tmp_path: Path) -> None:
    """There runs have no series; an experiment runs, resumes and counts as it did."""
    kept = first_edition("experiment", tmp_path)
    first_programs()
    with muniment.open(kept.path) as ledger:
        result = Plan().build().run(replicates=1, ledger=ledger)
        again = Plan().build().run(replicates=1, ledger=ledger)
        (started,) = ledger.events(run=again.run_id, type="run.started")
        assert started.series == ()
    assert result.hypothesis("better").denominator == {"claim": 1, "experiment": 1}
    assert again.hypothesis("better").denominator == {"claim": 2, "experiment": 2}
    assert verify(kept.path).integrity == "intact"
