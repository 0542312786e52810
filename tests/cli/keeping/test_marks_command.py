"""What a run is marked with is seen wherever its results are: lists, claims, bundles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marked_runs import MARK, marked_run, verdict_with_calls
from marking_graphs import REASON, run_of
from muniment.ledger import Ledger

Shell = Callable[..., Any]


@pytest.fixture
def runs(work: Path) -> dict[str, str]:
    """Give a run that its budget marked, and one that nothing marks."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        marked = marked_run(ledger, "budget")
        plain = ledger.execute(verdict_with_calls()).run_id
        ledger.checkpoint()
    return {"marked": marked, "plain": plain}


def test_runs(shell: Shell, runs: dict[str, str]) -> None:
    """The list has a column, JSON a member, and the page of a run a line."""
    head, *lines = shell("runs", "list").out.splitlines()
    assert "marked" in head.split()
    assert [MARK in line for line in lines] == [False, True]
    told = {one["id"]: one["marks"] for one in shell("runs", "list", "--json").json}
    assert told == {runs["marked"]: [MARK], runs["plain"]: []}
    shown = shell("runs", "show", runs["marked"]).out.splitlines()
    assert sum(line.split()[:2] == ["marked", f"{MARK}:"] for line in shown) == 1
    told = shell("runs", "show", runs["marked"], "--json").json
    assert told["run"]["marks"] == [MARK]
    query = "SELECT id FROM runs WHERE marks <> '[]'"
    assert shell("query", "--json", query).json == [{"id": runs["marked"]}]


def test_a_list_without_marks_has_no_column(shell: Shell, work: Path) -> None:
    """Nobody reads an empty column: it is there once a run of the list is marked."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        ledger.execute(verdict_with_calls())
    for command in ("runs", "claims"):
        assert "marked" not in shell(command).out.splitlines()[0]


def test_claims(shell: Shell, runs: dict[str, str]) -> None:
    """A claim names the marks of its runs, and each run its own beside its verdicts."""
    head, line = shell("claims").out.splitlines()
    assert "marked" in head.split()
    assert MARK in line.split()
    (claim,) = shell("claims", "--json").json
    told = {one["run"]: one["marks"] for one in claim["runs"]}
    assert told == {runs["marked"]: [MARK], runs["plain"]: []}
    lines = shell("claims", "c1").out.splitlines()
    (of_marked,) = [
        one for one in lines if one.startswith(runs["marked"][:10]) and MARK in one
    ]
    assert "holds" in of_marked
    assert sum(MARK in one for one in lines) == 1


@pytest.mark.parametrize("redacted", [False, True])
def test_verify_a_bundle(
    shell: Shell, runs: dict[str, str], work: Path, redacted: bool
) -> None:
    """The mark is a line of its own, and changes no exit code."""
    how = ["--redact"] if redacted else []
    done = shell("bundle", runs["marked"], "-o", "b.zip", *how)
    assert done.code == 0, done.err
    with Ledger.open(work / ".muniment" / "ledger.db") as ledger:
        (root,) = ledger.keys.current("root")
        (event,) = ledger.events(run=runs["marked"], type="run.marked")
    said = f"{MARK}, event {event.seq} of run {runs['marked']}"
    done = shell("verify", "b.zip", "--key", root.keyid)
    assert done.code == 0
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert f"marked {said}" in lines
    told = shell("verify", "b.zip", "--key", root.keyid, "--json").json
    assert told["marked"] == [said]
    assert told["ok"] is True


def test_attest_says_failed(shell: Shell, runs: dict[str, str]) -> None:
    """Whoever reads the command's line sees it, too."""
    done = shell("attest", runs["marked"], "--predicate", "test-result")
    assert "test-result: FAILED" in done.out
    done = shell("attest", runs["plain"], "--predicate", "test-result")
    assert "test-result: PASSED" in done.out


EVALS = {
    "table": ("pack.json", "MARKED"),
    "json": ("pack.json", "MARKED", "--json"),
    "fixture": ("fixture.json", "MARKED"),
    "against it": ("pack.json", "PLAIN", "--against", "MARKED"),
    "against another": ("pack.json", "MARKED", "--against", "PLAIN"),
    "failing": ("failing.json", "MARKED"),
}


@pytest.mark.parametrize("words", EVALS.values(), ids=EVALS)
def test_eval(shell: Shell, work: Path, words: tuple[str, ...]) -> None:
    """No eval passes a marked run; stdout, JUnit and the eval's bundle say mark and reason."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        runs = {"PLAIN": run_of(ledger, "itself")}
        runs["MARKED"] = run_of(ledger, "itself", MARK)
    for name, status in (("pack", "completed"), ("failing", "failed")):
        rows = [{"kind": "run-status", "expected": status}]
        case = {"id": "c", "rubrics": ["r"]}
        rubrics = [{"id": "r", "assertions": rows}]
        pack = {"version": 1, "rubrics": rubrics, "cases": [case]}
        (work / f"{name}.json").write_text(json.dumps(pack))
    assert shell("runs", "fixture", runs["PLAIN"], "-o", "fixture.json").code == 0
    done = shell("eval", *(runs.get(one, one) for one in words), "--junit", "j.xml")
    assert done.code == (1 if "failing.json" in words else 3), done.out
    said = f"{MARK}: {REASON}"
    assert f"marked {MARK}" in done.out
    assert said in (work / "j.xml").read_text()
    assert said in done.out or "failing.json" in words
    (newest, *_) = shell("runs", "list", "--json").json
    assert shell("replay", newest["id"]).code == 0
    assert shell("bundle", newest["id"], "-o", "b").code == 0
    files = [one for one in (work / "b").rglob("*") if one.is_file()]
    assert any(said in one.read_text(errors="ignore") for one in files)


def test_no_fixture(shell: Shell, work: Path) -> None:
    """It is refused, exit code 4, and no file is written."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        marked = run_of(ledger, "a program below", MARK)
    done = shell("runs", "fixture", marked, "-o", "f.json")
    assert (done.code, f"marked {MARK}: {REASON}" in done.err) == (4, True)
    assert "[evals/marked]" in done.err
    assert not (work / "f.json").exists()
