"""Flows under the judge: terms of the manifest and the policy, pins, a second run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.judgement.application import (
    judge_runs,
    judged_replay,
    terms_of,
)
from muniment_plugins.governance.judgement.judge import Judgement
from muniment_plugins.governance.judgement.terms import Terms

BOUNDED: dict[str, Any] = {
    "replay_mode": "bounded",
    "replay_acceptability": "statistically_bounded",
    "replay_envelope": {
        "min_claim_overlap": 0.5,
        "max_contradiction_delta": 1,
        "metric_tolerances": {"total": 0.5},
    },
}
OWN = Terms("bounded", "statistically_bounded", 0.5, 1, {"total": 0.5})
DATA = {
    "dataset_id": "corpus",
    "tenant_id": "tenant-a",
    "dataset_version": "1",
    "dataset_hash": "b1946ac92492d2347c6235b4d2611184",
    "dataset_state": "experimental",
    "storage_uri": "file://corpus.txt",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a folder for a flow; forget the module of its functions at the end."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    sys.modules.pop("agents", None)
    yield folder
    sys.modules.pop("agents", None)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with the plugin."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=("governance",)
    ) as made:
        yield made


def _started(book: Ledger, place: Path, **members: object) -> str:
    done = start_flow(book, load_flow(write_flow(place, sum_document(**members))))
    assert done.ok, done.error
    return done.run_id


def _about(said: Judgement) -> set[str]:
    return {one.about for one in said.differences}


def test_a_flow_is_judged_by_its_manifest(book: Ledger, place: Path) -> None:
    """Its mode, its acceptability and its envelope, without being told again."""
    run = _started(book, place, **BOUNDED)
    assert terms_of(book, run) == OWN
    said = judged_replay(book, run).judgement
    assert (said.terms, said.verdict) == (OWN, "acceptable")
    assert said.confidence == "exact_match"
    assert said.compared["effects"] == 1


def test_what_a_policy_says_counts_before_it(book: Ledger, place: Path) -> None:
    """Term by term: what the policy leaves out is the manifest's."""
    flow = load_flow(write_flow(place, sum_document(**BOUNDED)))
    policy = load_policy(write_policy(place, replay_mode="observational"))
    done = start_flow(book, flow, policy)
    assert done.ok, done.error
    own = terms_of(book, done.run_id)
    assert own is not None
    assert (own.mode, own.acceptability) == ("observational", OWN.acceptability)
    assert own.metric_tolerances == OWN.metric_tolerances


@pytest.mark.parametrize("mode", ["strict", "bounded", "observational"])
def test_other_data_is_another_dataset(book: Ledger, place: Path, mode: str) -> None:
    """A replay looks at the data that is there now; what it was told is no excuse."""
    (place / "corpus.txt").write_text("hello\n")
    run = _started(book, place, **BOUNDED, dataset=DATA)
    (place / "corpus.txt").write_text("hallo\n")
    terms = Terms(mode, "statistically_bounded")  # type: ignore[arg-type]
    said = judged_replay(book, run, terms).judgement
    assert said.ok is (mode == "observational")
    assert said.first_divergence is not None
    assert (said.first_divergence.about, said.first_divergence.field) == (
        "dataset",
        "dataset.sha256",
    )


def test_data_that_is_gone_cannot_be_judged(book: Ledger, place: Path) -> None:
    """Nothing was shown to differ: that is *cannot tell*."""
    (place / "corpus.txt").write_text("hello\n")
    run = _started(book, place, dataset=DATA)
    (place / "corpus.txt").unlink()
    with pytest.raises(CannotTellError):
        judged_replay(book, run)


def test_another_environment(
    book: Ledger, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the level compares rejects, in a replay and between two runs alike."""
    run = _started(book, place, **BOUNDED, determinism_level="bounded")
    monkeypatch.setattr("platform.python_version", lambda: "2.7.18")
    said = judged_replay(book, run).judgement
    assert said.verdict == "unacceptable"
    assert said.decisive is not None
    assert (said.decisive.about, said.decisive.got) == ("environment", "2.7.18")
    again = _started(book, place, **BOUNDED, determinism_level="bounded")
    both = judge_runs(book, run, again, OWN)
    assert both.verdict == "unacceptable"
    assert {one.about for one in both.blocking} == {"environment"}


def test_an_environment_that_its_level_does_not_compare(
    book: Ledger, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unconstrained flow may run under another Python; with its seed contents differ."""
    free = {**BOUNDED, "determinism_level": "unconstrained"}
    run = _started(book, place, **free)
    monkeypatch.setattr("platform.python_version", lambda: "2.7.18")
    assert judged_replay(book, run).judgement.verdict == "acceptable"
    said = judge_runs(book, run, _started(book, place, **free), OWN)
    assert said.verdict == "acceptable_with_warnings"
    assert "surroundings" in _about(said)
    assert not _about(said) & {"environment", "params", "plan"}


def test_another_manifest_is_another_plan(book: Ledger, place: Path) -> None:
    """Two flows are no measure for each other, however much the envelope allows."""
    one = _started(book, place, **BOUNDED)
    other = _started(book, place, **BOUNDED, inputs={"more": 1})
    said = judge_runs(book, one, other, OWN)
    assert said.verdict == "unacceptable"
    assert "plan" in {each.about for each in said.blocking}


def test_two_runs_of_a_flow(book: Ledger, place: Path) -> None:
    """They are acceptable for each other under the strictest terms."""
    runs = [_started(book, place, **BOUNDED) for _ in range(2)]
    said = judge_runs(book, runs[0], runs[1], Terms())
    assert (said.verdict, said.differences) == ("acceptable", ())
