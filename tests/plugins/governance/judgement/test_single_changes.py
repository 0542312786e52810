"""A record with one change, of every kind, is never taken for the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from judged_runs import Story, judging_plugins, recorded
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.governance.documents.words import ACCEPTABILITIES
from muniment_plugins.governance.judgement.judge import judge
from muniment_plugins.governance.judgement.record import ComparedRun, record_of
from muniment_plugins.governance.judgement.terms import Terms
from single_changes import SingleChange, single_changes


def _busy(run: Run, rounds: int, words: list[str]) -> dict[str, object]:
    """Ask the same twice, fail once, and state equal facts in several scopes."""
    for number in range(rounds):
        with run.scope(f"round/{number}") as lane:
            for word in words:
                lane.record("note.added", {"text": word})
                lane.effect("tool", {"q": word}, lambda asked: {"for": asked})
            lane.record("note.added", {"text": words[0]})
            lane.effect("tool", {"q": words[0]}, lambda asked: {"again": asked})
    try:
        run.effect("llm", {"q": "fail"}, _fail)
    except Exception as error:  # noqa: BLE001 - whatever an effect raises
        return {"failed": type(error).__name__}
    return {}


def _fail(_: object) -> object:
    raise ValueError("no answer")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, ComparedRun]:
    """Give records of three real runs: a flow's, a busy one, and one that failed."""
    place: Path = tmp_path_factory.mktemp("real") / "ledger.db"
    with Ledger.create(place, plugins=judging_plugins()) as ledger:
        params: dict[str, object] = {"rounds": 2, "words": ["a", "b", "a"]}
        busy = ledger.execute(_busy, params=params)
        assert busy.ok
        return {
            "flow": recorded(ledger, Story(contradictions=1)),
            "busy": record_of(ledger, busy.run_id),
            "failed": recorded(ledger, Story(fails=True)),
        }


@pytest.mark.parametrize("name", ["flow", "busy", "failed"])
def test_a_strict_judge_rejects_every_change(
    real: Mapping[str, ComparedRun], name: str
) -> None:
    """Whatever the acceptability, and from either side."""
    run = real[name]
    changes = list(single_changes(run))
    kinds = Counter(one.name.split()[0].rstrip("0123456789") for one in changes)
    assert min(kinds["drop"], kinds["double"]) == len(run.entries)
    assert len(changes) > 80, kinds
    for change in changes:
        for acceptability in ACCEPTABILITIES:
            terms = Terms("strict", acceptability)
            assert not judge(run, change.run, terms).ok, change.name
            assert not judge(change.run, run, terms).ok, change.name


@pytest.mark.parametrize("name", ["flow", "busy", "failed"])
def test_the_first_divergence_is_the_change(
    real: Mapping[str, ComparedRun], name: str
) -> None:
    """The event that was changed is named, and the field where a value was."""
    run = real[name]
    for change in single_changes(run):
        _check(run, change)


def _check(run: ComparedRun, change: SingleChange) -> None:
    first = judge(run, change.run, Terms()).first_divergence
    assert first is not None
    assert first.seq in change.seqs, (change.name, first)
    if change.path:
        assert first.field == change.path, (change.name, first)
    if change.after:
        assert first.what == "extra", change.name
        alike = [one or 0 for one in change.after]
        assert min(alike) <= first.position[0] <= max(alike), change.name


def test_an_honest_second_run_is_accepted(
    tmp_path: Path, real: Mapping[str, ComparedRun]
) -> None:
    """Other ids, times and positions are no changes."""
    stories = {"flow": Story(contradictions=1), "failed": Story(fails=True)}
    with Ledger.create(tmp_path / "ledger.db", plugins=judging_plugins()) as ledger:
        for name, story in stories.items():
            ledger.append("note.added", {"text": "something else"})
            again = recorded(ledger, story)
            assert judge(real[name], again, Terms()).verdict == "acceptable"
