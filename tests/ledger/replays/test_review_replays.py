"""What a replay may not let pass, and whom it must leave alone."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run


def nothing(_run: Run) -> None:
    """Do nothing."""


def leave(_run: Run) -> None:
    """Exit as if all were well."""
    sys.exit(0)


async def give_up(_run: Run) -> None:
    """Cancel oneself."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("program", [leave, give_up])
def test_a_program_that_exits_is_found(
    ledger: Ledger, program: Callable[[Run], object]
) -> None:
    """An exit in a replay ends the program, not the replay, and is a difference."""
    done = ledger.execute(nothing)
    report = replay(ledger, done.run_id, program)
    assert report.verdict == "unacceptable"
    assert report.first_divergence is not None
    assert report.first_divergence.what == "result"


def test_a_replay_does_not_write_to_its_ledger(ledger: Ledger) -> None:
    """A program that appends past its run is stopped, and nothing is appended."""

    def program(_run: Run) -> None:
        ledger.append("note.added", {"text": "once"})

    done = ledger.execute(program)
    before = ledger.head
    report = replay(ledger, done.run_id, program)
    assert [one.what for one in report.findings if one.what == "guard"] == ["guard"]
    assert ledger.head == before


def test_a_database_whose_name_says_readonly_is_none(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is merely called as if it were read-only is not made."""
    monkeypatch.chdir(tmp_path)

    def program(_run: Run) -> None:
        sqlite3.connect("made?mode=ro").close()

    done = ledger.execute(nothing)
    assert replay(ledger, done.run_id, program).verdict == "unacceptable"
    assert not Path("made?mode=ro").exists()


def test_others_go_on_beside_a_replay(ledger: Ledger, tmp_path: Path) -> None:
    """A live run in another thread writes and performs while a replay is guarded."""
    done = ledger.execute(nothing)
    replaying, written = threading.Event(), threading.Event()

    def patient(_run: Run) -> None:
        replaying.set()
        assert written.wait(120)

    def live(run: Run) -> object:
        return run.effect("tool", 1, lambda _: (tmp_path / "f").write_text("x"))

    results: list[object] = []

    def beside() -> None:
        replaying.wait(120)
        try:
            results.append(ledger.execute(live).value)
        finally:
            written.set()

    other = threading.Thread(target=beside)
    other.start()
    report = replay(ledger, done.run_id, patient)
    other.join()
    assert results == [1]
    assert report.verdict == "acceptable"


def test_two_replays_keep_their_attempts_apart(ledger: Ledger, tmp_path: Path) -> None:
    """Of two replays at once, the one that tried is blamed, whichever ends first."""
    done = ledger.execute(nothing)
    begun, over = threading.Event(), threading.Event()
    verdicts: dict[str, str] = {}

    def culprit(_run: Run) -> None:
        begun.set()
        assert over.wait(120)
        with pytest.raises(RefusedError, match="a replay has no file writes"):
            (tmp_path / "f").write_text("x")

    def innocent(_run: Run) -> None:
        assert begun.wait(120)

    def judge(name: str, program: Callable[[Run], object]) -> None:
        verdicts[name] = replay(ledger, done.run_id, program).verdict
        if name == "innocent":
            over.set()

    bytecode = sys.dont_write_bytecode
    threads = [
        threading.Thread(target=judge, args=args)
        for args in (("culprit", culprit), ("innocent", innocent))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {"innocent": "acceptable", "culprit": "unacceptable"}
    assert sys.dont_write_bytecode == bytecode
    assert not (tmp_path / "f").exists()


def cut_off(run: Run) -> None:
    """State something, and stop."""
    run.record("claim.stated", {"id": "c", "text": "t"})
    raise KeyboardInterrupt


def test_from_where_one_resumes_changes_no_program(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is resumed from another directory is the same program."""
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(cut_off)
    (started,) = ledger.events(type="run.started")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        ledger.resume(str(started.run), cut_off)
    assert len(list(ledger.events(type="claim.stated"))) == 1


@pytest.mark.slow
def test_answering_costs_the_same_in_every_scope(ledger: Ledger) -> None:
    """Three times as many scopes take three times the steps to replay, not nine."""

    def steps(count: int) -> int:
        def program(run: Run) -> None:
            for number in range(count):
                run.scope(f"map/{number}").effect("tool", number, lambda asked: asked)

        done = ledger.execute(program)
        lines = 0

        def trace(_frame: FrameType, event: str, _: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        sys.settrace(trace)
        try:
            assert replay(ledger, done.run_id, program).ok
        finally:
            sys.settrace(None)
        return lines

    assert steps(150) < 4 * steps(50)
