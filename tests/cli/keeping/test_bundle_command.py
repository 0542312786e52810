"""`muniment bundle` and `muniment verify BUNDLE`, as people call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment import Run
from muniment.ledger import Ledger


def program(run: Run) -> int:
    """Ask once."""
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    run.effect("tool", {"name": "search"}, lambda request: request)
    return 1


@pytest.fixture
def run(work: Path) -> str:
    """Give a ledger here, with a run."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        return ledger.execute(program).run_id


def test_from_the_writer_to_a_receiver(
    shell: Any, run: str, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the writer's screen says is all that a receiver needs."""
    written = shell("bundle", run[:10], "-o", "evidence")
    told = shell("bundle", run, "-o", "evidence.zip", "--json").json
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    (work / ".muniment").rename(tmp_path / "away")

    assert written.code == 0
    assert f"--key {told['root']}" in written.err
    assert told["manifest"] in written.out
    for bundle in ("evidence", "evidence.zip"):
        checked = shell("verify", bundle, "--key", told["root"], "--json")
        assert (checked.code, checked.json["ok"]) == (0, True)
        alone = shell("verify", bundle)
        assert (alone.code, "self-asserted" in alone.out) == (3, True)
    pinned = shell("verify", "evidence", "--pin", told["root"])
    assert (pinned.code, shell("verify", "evidence.zip").code) == (0, 0)


def test_what_is_wrong_is_named(shell: Any, run: str, work: Path) -> None:
    """A changed file gives exit code 1 and its name, with and without --json."""
    shell("bundle", run, "-o", "evidence")
    with (work / "evidence" / "run.json").open("a") as file:
        file.write(" ")
    shown = shell("verify", "evidence")
    found = shell("verify", "evidence", "--json")

    assert (shown.code, found.code) == (1, 1)
    assert "bundle/digest" in shown.out
    assert "at run.json" in shown.out
    assert "run.json" in {one["place"] for one in found.json["findings"]}


def test_usage(shell: Any, run: str, work: Path) -> None:
    """Names that are taken, runs that are unknown, and options of ledgers only."""
    (work / "taken").mkdir()
    taken = shell("bundle", run, "-o", "taken")
    unknown = shell("bundle", "nonsense", "-o", "evidence")
    shell("bundle", run, "-o", "evidence", "--raw")
    fast = shell("verify", "evidence", "--fast")

    assert (taken.code, unknown.code, fast.code) == (2, 2, 2)
    assert "evidence/output" in taken.err
    assert "run/unknown" in unknown.err
    assert "cli/options" in fast.err
    assert "a raw bundle" in shell("verify", "evidence").out


def test_no_bundle_at_all(shell: Any, work: Path) -> None:
    """A zip of something else is wrong, and one that is not there cannot be told."""
    (work / "other.zip").write_bytes(b"PK\3\4 nothing of ours")

    assert shell("verify", "other.zip").code == 1
    assert shell("verify", "missing.zip").code == 3


def test_what_was_not_compared_is_said(shell: Any, run: str, work: Path) -> None:
    """A bundle of a fork is not called intact without saying what it could not show."""
    with Ledger.open(work / ".muniment" / "ledger.db") as ledger:
        last = list(ledger.events(run=run))[-1].seq
        fork = ledger.fork(run, at=last, program=program).run_id
    whole = shell("bundle", fork, "-o", "whole", "--json").json
    assert whole["related"] == [run]
    assert shell("bundle", fork, "-o", "again").out.count("1 other run") == 1
    root = whole["root"]
    told = shell("verify", "whole", "--key", root, "--require", "complete")
    assert (told.code, "incomplete" in told.out) == (0, False)
    shell("bundle", fork, "-o", "fork", "--redact", "--disclose", "*")
    told = shell("verify", "fork", "--key", root)
    assert told.code == 0
    assert f"incomplete it lacks origin {run}" in " ".join(told.out.split())
    assert shell("verify", "fork", "--key", root, "--require", "complete").code == 3
    said = " ".join((told.out + told.err).split())
    assert "2 answers of forks, 1 facts of forks unchecked" in said
    found = shell("verify", "fork", "--key", root, "--json").json
    counted = found["counts"]
    assert (found["incomplete"], found["completeness"]) == (
        [f"origin {run}"],
        "unchecked",
    )
    known = {one["what"]: (one["compared"], one["unchecked"]) for one in counted}
    assert known["answers of forks"] == (0, 2)
    assert known["facts of forks"] == (0, 1)


def parent(run: Run) -> object:
    """Call a child."""
    return run.call(program)


@pytest.mark.parametrize("way", [(), ("--require", "complete")])
def test_the_advice_follows_from_what_is_lacking(
    shell: Any, work: Path, way: tuple[str, ...]
) -> None:
    """The end covers the run's events: it is the child run that is not here."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        run = ledger.execute(parent).run_id
        child = next(iter(ledger.children(run)))
    root = shell("bundle", run, "-o", "whole", "--json").json["root"]
    shell("bundle", run, "-o", "full", "--redact", "--disclose", "*")
    told = shell("verify", "full", "--key", root, *way)
    said, advice = " ".join(told.out.split()), " ".join(told.err.split())

    assert told.code == (3 if way else 0)
    assert f"completeness unchecked the end of run {run} covers its" in said
    assert f"incomplete it lacks child run {child}" in said
    assert "no end" not in advice
    assert f"it lacks child run {child}; ask for a newer bundle that is not" in advice
    whole = shell("verify", "whole", "--key", root, *way)
    assert (whole.code, whole.err) == (0, "")
