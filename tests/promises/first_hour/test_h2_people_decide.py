"""People decide from homes and machines of their own, each command a fresh process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from approvers import enrolled
from first_hour import Newcomer, Said

PROGRAM = """
def main(run):
    decision = run.decide({"release": "1.2"}, "publish?", quorum=2)
    return [decision.outcome, [one.reason for one in decision.answers]]
"""


def said(done: Said, code: int = 0) -> Any:
    """Return the document that a command printed."""
    assert done.code == code, done
    return json.loads(done.out)


@pytest.fixture
def people(newcomer: Newcomer, tmp_path: Path) -> list[Newcomer]:
    """Give two approvers, enrolled, each with a home; and a run that waits for both."""
    found = enrolled(newcomer, tmp_path, "ann", "bob")
    (newcomer.folder / "release.py").write_text(PROGRAM)
    assert newcomer.muniment("run", "release.py").code == 5
    return found


@pytest.mark.slow
def test_two_people_decide_while_nothing_runs(
    newcomer: Newcomer, people: list[Newcomer], tmp_path: Path
) -> None:
    """One signs from the ledger, one from a copy of it; a writer adds both."""
    ann, bob = people
    ((run, _),) = newcomer.runs()
    explained = said(newcomer.muniment("runs", "explain", run, "--json"))
    ways = [one["command"].rpartition(" ")[0] for one in explained["next"]]
    assert ways[:2] == ["muniment approve", "muniment deny"], explained
    assert "0 of 2 approved" in explained["facts"]["asks people"]
    first = ("approve", run[:14], "--reason", "tested", "-o", "ann.json")
    signing = ann.muniment(*first)
    assert (signing.code, "publish?" in signing.err) == (0, True), signing
    assert "1.2" in signing.err, signing
    newcomer.muniment("backup", tmp_path / "copy.db")
    away = Newcomer(
        bob.folder, bob.home, {"MUNIMENT_LEDGER": str(tmp_path / "copy.db")}
    )
    (asked,) = said(away.muniment("inbox", "--json"))
    assert (asked["run"], asked["quorum"], asked["answers"]) == (run, 2, [])
    assert away.muniment("approve", asked["seq"], "-o", "bob.json").code == 0

    one = said(newcomer.muniment("inbox", "add", ann.folder / "ann.json", "--json"))
    assert (one["run"], one["waits"], one["resume"]) == (run, True, None)
    assert newcomer.muniment("resume", run).code == 5
    two = said(newcomer.muniment("inbox", "add", bob.folder / "bob.json", "--json"))
    assert (two["waits"], two["resume"]) == (False, run)
    resumed = said(newcomer.muniment("resume", run, "--json"))
    assert resumed["result"] == ["approved", ["tested", ""]]
    assert said(newcomer.muniment("inbox", "--json")) == []
    assert newcomer.muniment("verify").code == 0
    assert newcomer.events().count("decision.asked") == 1


def test_who_may_not_decides_nothing(
    newcomer: Newcomer, people: list[Newcomer]
) -> None:
    """Neither twice, nor without an approver's key, nor for what nobody asks."""
    ann, _ = people
    ((run, _),) = newcomer.runs()
    none = newcomer.muniment("approve", run)
    assert (none.code, "there is no approver's key" in none.err) == (4, True)
    assert "keys request --role approver" in none.err
    for name in ("one.json", "two.json"):
        assert ann.muniment("approve", run, "-o", name).code == 0
    over = ann.muniment("approve", run, "-o", "one.json")
    assert (over.code, "cli/output" in over.err) == (2, True)
    assert newcomer.muniment("inbox", "add", ann.folder / "one.json").code == 0
    twice = newcomer.muniment("inbox", "add", ann.folder / "two.json")
    assert (twice.code, "decision/repeated" in twice.err) == (4, True)
    assert newcomer.events()[-1] == "decision.refused"
    for what in ("1", "999"):
        unknown = ann.muniment("deny", what, "-o", "three.json")
        assert (unknown.code, "inbox/unknown" in unknown.err) == (2, True)
    missing = newcomer.muniment("inbox", "add", "nothing.json")
    assert (missing.code, "inbox/file" in missing.err) == (3, True)
    wrong = newcomer.muniment("inbox", "add", "release.py")
    assert wrong.code == 4
    assert "release.py" in wrong.err, wrong
    assert "muniment approve -o FILE" in wrong.err, wrong
    assert newcomer.muniment("verify").code == 0


def test_one_denial_decides(newcomer: Newcomer, people: list[Newcomer]) -> None:
    """Signed and appended at once, by who has both keys at hand."""
    ann, _ = people
    ((run, _),) = newcomer.runs()
    key = next(ann.home.rglob("approver.pem"))
    reason = ("--reason", "not on a Friday")
    denied = newcomer.muniment("deny", run, *reason, "--key", key)
    assert (denied.code, f"muniment resume {run}" in denied.err) == (0, True)
    resumed = said(newcomer.muniment("resume", run, "--json"))
    assert resumed["result"] == ["denied", ["not on a Friday"]]
    assert newcomer.muniment("verify").code == 0


SEVERAL = """
def main(run):
    asked = [run.scope(name).ask(name, f"{name}?") for name in ("a", "b", "c")]
    return [one.decide().outcome for one in asked]
"""


def test_who_decides_is_told_what_else_is_open(
    newcomer: Newcomer, people: list[Newcomer]
) -> None:
    """By its event; that a resume continues the run is said when nothing is left."""
    ann, _ = people
    key = next(ann.home.rglob("approver.pem"))
    (newcomer.folder / "several.py").write_text(SEVERAL)
    assert newcomer.muniment("run", "several.py").code == 5
    asked = said(newcomer.muniment("inbox", "--json"))
    run = asked[-1]["run"]
    seqs = [one["seq"] for one in asked if one["run"] == run]
    first = newcomer.muniment("deny", seqs[1], "--key", key)
    assert f"open questions of the run: events {seqs[0]}, {seqs[2]}" in first.err, first
    second = said(newcomer.muniment("approve", seqs[0], "--key", key, "--json"))
    assert (second["open"], second["resume"]) == ([seqs[2]], run)
    last = newcomer.muniment("approve", seqs[2], "--key", key)
    assert f"decided: `muniment resume {run}` continues the run" in last.err, last
    resumed = said(newcomer.muniment("resume", run, "--json"))
    assert resumed["result"] == ["approved", "denied", "approved"]
