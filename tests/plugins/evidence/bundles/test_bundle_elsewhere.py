"""What a run says of runs that are not in its bundle is not compared; all say so.

Rule: the bundles are redacted, which have no related runs, and disclose every payload.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bundled import evidence_plugins
from muniment import verify_bundle
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.evidence import write_bundle
from standalone_program import exit_code_of


def called(run: Run) -> object:
    """Answer a call."""
    return run.effect("data", 7, lambda request: request)


def alone(run: Run) -> object:
    """Ask twice, and name no other run."""
    return [run.effect("tool", n, lambda request: request) for n in (1, 2)]


def stating(run: Run) -> object:
    """State facts, in a scope and in an effect, too."""
    run.record("note.added", {"text": "a"})
    run.scope("b").record("note.added", {"text": "b"})
    told = run.effect("tool", 1, str)

    def inside(_: object) -> None:
        run.record("note.added", {"text": "in"})

    run.effect("data", 2, inside)
    run.record("note.added", {"text": "c"})
    return [told, str(run.now())]


def timed(run: Run) -> object:
    """Read the clock, ask, and call."""
    return [str(run.now()), run.effect("tool", 1, str), run.call(called)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return where the ledger is."""
    return tmp_path / "work" / "ledger.db"


def both(ledger: Ledger, run: str, at: Path) -> tuple[str, str]:
    """Return what both verifiers say of the bundle of *run*; both call it sound."""
    written = write_bundle(ledger, run, at, disclose=["*"])
    report = verify_bundle(written.path, keys=[written.root])
    assert report.ok, str(report)
    code, said = exit_code_of(written.path, written.root)
    assert code == 0, said
    return str(report), said


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        ("alone", {}),
        ("parent", {"calls and children": 1}),
        ("child", {"calls and children": 1}),
        ("fork", {"answers of forks": 4}),
        ("changed", {"answers of forks": 4}),
        ("forked child", {"answers of forks": 2}),
        ("stating", {}),
        ("stating fork", {"answers of forks": 2, "facts of forks": 4}),
    ],
)
def test_what_names_other_runs_is_counted(
    place: Path, tmp_path: Path, kind: str, counts: dict[str, int]
) -> None:
    """Starts, answers, readings and calls: each by its number, and none as compared."""
    with Ledger.create(place, plugins=evidence_plugins()) as ledger:
        done = ledger.execute(
            {"alone": alone, "stating": stating}.get(kind.split(maxsplit=1)[0], timed)
        )
        run, events = done.run_id, list(ledger.events(run=done.run_id))
        if kind in ("child", "forked child"):
            (run,) = (
                str(one.run)
                for one in ledger.events(type="run.started")
                if "parent" in one.raw
            )
        if kind == "forked child":
            last = list(ledger.events(run=run))[-1].seq
            run = ledger.fork(run, at=last, program=called).run_id
        if kind == "stating fork":
            told = next(one.seq for one in events if one.type == "tool.completed")
            run = ledger.fork(run, at=told, program=stating).run_id
        if kind in ("fork", "changed"):
            told = next(one.seq for one in events if one.type == "tool.completed")
            changes = {told: "other"} if kind == "changed" else {}
            at = events[-1].seq
            run = ledger.fork(run, at=at, changes=changes, program=timed).run_id
        ours, theirs = both(ledger, run, tmp_path / "bundle")
    said = [f"{number} {name}" for name, number in counts.items()]
    assert f"NOT COMPARED with other runs: {' and '.join(said)}" in theirs or not said
    for name in ("answers of forks", "facts of forks", "calls and children"):
        number = counts.get(name)
        assert (name in ours) == (name in theirs) == (number is not None)
        if number is not None:
            assert (
                f"{number} {name}" in ours.split("integrity: ")[1].split("unchecked")[0]
            )
            assert f"{name} 0 of {number}" in ours
            verb = "may repeat those of" if "facts" in name else "name"
            assert f"note: {number} {name} {verb} runs that are not in" in ours
    lacks = {"parent": "child run ", "child": ""}.get(kind, "origin ")
    if not counts or not lacks:
        assert "incomplete" not in ours
        assert "INCOMPLETE" not in theirs
    else:
        assert f"incomplete: it lacks {lacks}0" in ours
        assert f"INCOMPLETE, it lacks {lacks}0" in theirs
