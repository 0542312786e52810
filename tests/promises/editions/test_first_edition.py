"""Ledgers of the first edition verify, list, replay and resume by today's code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment
from editions import FIRST, Kept, first_edition, first_programs, first_refusals
from muniment.queries.run_summary import RunSummaries
from muniment.verification.verify import verify

MUNIMENT = str(Path(sys.executable).with_name("muniment"))


def run(kept: Kept, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ``muniment`` beside the ledger."""
    return subprocess.run(
        [MUNIMENT, *arguments],
        cwd=kept.path.parent.parent,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("fast", [False, True])
def test_it_is_intact(name: str, fast: bool, tmp_path: Path) -> None:
    """Nothing is wrong with it, and nothing is left out."""
    kept = first_edition(name, tmp_path, owned=False)
    report = verify(kept.path, keys=[kept.root], fast=fast)
    assert (report.integrity, report.authenticity, report.exit_code) == (
        "intact",
        "pinned",
        0,
    ), str(report)
    assert report.size == int(kept.facts["size"])


@pytest.mark.parametrize("name", FIRST)
def test_it_is_listed(name: str, tmp_path: Path) -> None:
    """Each run is listed with the end that it had."""
    kept = first_edition(name, tmp_path)
    listed = run(kept, "runs", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    assert kept.facts["completed"] in listed.stdout


def test_every_end_is_read(tmp_path: Path) -> None:
    """A run is what its last end says."""
    kept = first_edition("kernel", tmp_path)
    with muniment.open(kept.path, readonly=True) as ledger:
        found = {
            name: ledger.project(RunSummaries, run=kept.facts[name]).status
            for name in ("completed", "failed", "failed-twice", "interrupted", "open")
        }
        again = ledger.project(RunSummaries, run=kept.facts["resumed"]).status
    assert found == {
        "completed": "completed",
        "failed": "failed",
        "failed-twice": "failed",
        "interrupted": "interrupted",
        "open": "open",
    }
    assert again == "completed"


@pytest.mark.parametrize("name", ["completed", "failed", "resumed", "long"])
def test_a_run_is_replayed(name: str, tmp_path: Path) -> None:
    """The record answers the program that it was taken from."""
    kept, programs = first_edition("kernel", tmp_path), first_programs()
    program = programs.lengthy if name == "long" else programs.triage
    with muniment.open(kept.path) as ledger:
        report = muniment.replay(ledger, kept.facts[name], program=program)
    assert report.verdict == "acceptable", report


@pytest.mark.parametrize("name", ["failed", "interrupted", "open"])
def test_a_run_is_resumed(name: str, tmp_path: Path) -> None:
    """A run that did not complete goes on, and the ledger holds afterwards."""
    kept, programs = first_edition("kernel", tmp_path), first_programs()
    with muniment.open(kept.path) as ledger:
        done = ledger.resume(
            kept.facts[name],
            programs.triage,
            take_over=True,
            repeat=["human", "tool"],
        )
    assert done.status == "completed"
    report = verify(kept.path)
    assert report.exit_code == 0, str(report)


def test_an_experiment_is_replayed(tmp_path: Path) -> None:
    """Code runs again in the capsule, and comes to the same.

    From Python 3.12 on, `sum` adds numbers otherwise than it did when that was recorded:
    then the last digit is a difference, and named.
    """
    kept, programs = first_edition("experiment", tmp_path), first_programs()
    with muniment.open(kept.path) as ledger:
        report = muniment.replay(
            ledger, kept.facts["completed"], program=programs.robust().program
        )
    if sys.version_info < (3, 12):
        assert report.verdict == "acceptable", report
    else:
        (found,) = report.findings
        assert (found.what, found.field) == ("outcome", "value[0].metrics.estimate")
        assert found.got == pytest.approx(found.expected, rel=1e-14)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize(
    ("name", "build"), [("completed", "repaired"), ("failed", "refused")]
)
def test_what_was_refused_is_refused(
    name: str, build: str, given: bool, tmp_path: Path
) -> None:
    """What was refused for a ``try`` is refused in a replay, though specs are wide now.

    By the program as it stands, and by what the events say.
    """
    kept, programs = first_edition("refusals", tmp_path), first_refusals()
    program = getattr(programs, build)().program if given else None
    assert all(one.spec.syntax == "wide" for one in issued_by(program))
    with muniment.open(kept.path) as ledger:
        report = muniment.replay(ledger, kept.facts[name], program=program)
        tried = [
            one.data.get("rule")
            for one in ledger.events(run=kept.facts[name], type="synthesis.attempted")
        ]
    assert report.verdict == "acceptable", report
    assert "capsule/try" in tried


def test_a_refused_experiment_is_found_again(tmp_path: Path) -> None:
    """Who resumes it gets the run that completed, and nothing is asked."""
    kept, programs = first_edition("refusals", tmp_path), first_refusals()
    with muniment.open(kept.path) as ledger:
        result = programs.repaired().run(strategy="resume", ledger=ledger)
    assert result.run_id == kept.facts["completed"]


def issued_by(program: Any) -> list[Any]:
    """Return the steps of *program* that issue a spec."""
    steps = [] if program is None else program.pipeline
    return [one for one in steps if one.name == "generate_spec"]


def test_a_recorded_program_is_replayed(tmp_path: Path) -> None:
    """The program gets the answers that it got, and nobody is asked."""
    kept = first_edition("recorded", tmp_path)
    replayed = run(
        kept,
        *("replay", kept.facts["completed"], "--", "python3", "agent.py"),
        BASE=kept.facts["base"],
    )
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "acceptable" in replayed.stdout


def test_contents_that_were_erased_are_gone(tmp_path: Path) -> None:
    """An erasure of then is one of now."""
    kept = first_edition("kernel", tmp_path)
    assert verify(kept.path).erased


def test_another_python_is_named(tmp_path: Path) -> None:
    """A replay that finds a difference says which Python recorded, if it is another."""
    kept = first_edition("kernel", tmp_path)
    changed = tmp_path / "changed.py"
    changed.write_text("def triage(run, **params):\n    return None\n")
    replayed = run(
        kept,
        *("replay", kept.facts["completed"], "--no-record"),
        *("--program", f"{changed}:triage"),
    )
    assert replayed.returncode == 1, replayed.stdout + replayed.stderr
    other = sys.version_info[:2] != (3, 11)
    assert ("recorded under Python 3.11" in replayed.stderr) == other
