"""Records that were changed in the file: no eval turns one into a signed verdict."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from letters import run_letter
from muniment.errors import WrongError
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.workflow import workflow_execute
from workflow_stages import chain, stage

PLUGINS = ("workflow", "evals", "executors")
SENT = {
    "version": 1,
    "rubrics": [
        {"id": "r", "assertions": [{"kind": "run-status", "expected": "completed"}]}
    ],
    "cases": [{"id": "c", "rubrics": ["r"]}],
}
CHANGES = {
    "payload": "CAST(replace(CAST(payload AS TEXT), 'Z\"', '0Z\"') AS BLOB)",
    "signature": "zeroblob(64)",
    "hash": "zeroblob(32)",
    "key": "zeroblob(44)",
}


@contextmanager
def changed(path: Path, seq: int, column: str) -> Iterator[None]:
    """Change one column of one event in the file, and forget what was folded of it."""
    path.with_name("cache.db").unlink(missing_ok=True)
    known = f"SELECT {column} FROM event WHERE seq = ?"
    with closing(sqlite3.connect(path)) as file:
        (kept,) = file.execute(known, (seq,)).fetchone()
    write(path, seq, column, CHANGES[column])
    try:
        yield
    finally:
        write(path, seq, column, f"x'{kept.hex()}'")


def write(path: Path, seq: int, column: str, value: str) -> None:
    """Write the SQL *value* into an event, whatever guards it."""
    change = f"UPDATE event SET {column} = {value} WHERE seq = ?"
    guards = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    with closing(sqlite3.connect(path)) as file, file:
        kept = file.execute(guards).fetchall()
        for name, _ in kept:
            file.execute(f"DROP TRIGGER {name}")
        assert file.execute(change, (seq,)).rowcount == 1
        for _, sql in kept:
            file.execute(sql)


def opened(path: Path, home: Path) -> Ledger:
    """Open the ledger anew."""
    return Ledger.open(path, home=home, plugins=PLUGINS)


@pytest.mark.parametrize("column", CHANGES)
def test_a_changed_event_has_no_verdict(
    book: Ledger, tmp_path: Path, column: str
) -> None:
    """Whichever event of a run is changed, it is refused with its place, and judges nothing."""
    good, other = run_letter(book), run_letter(book)
    seqs = [one.seq for one in book.events(run=other)]
    home, path = tmp_path / "home", book.path
    book.close()
    for seq in seqs:
        with changed(path, seq, column), opened(path, home) as forged:
            asks: list[Callable[[], object]] = [
                partial(eval_suite_run, forged, SENT, [other]),
                partial(run_record_fixture, forged, other),
                partial(run_record_diff, forged, good, other),
            ]
            for ask in asks:
                with pytest.raises(WrongError) as refused:
                    ask()
                assert refused.value.exit_code == 1
                assert f"event {seq}" in refused.value.place
            assert not [*forged.events(type="eval.case_finished")]


def test_a_changed_child_has_none_either(book: Ledger, tmp_path: Path) -> None:
    """The status of a run that was called is in the record: its events are verified, too."""
    graph = chain(
        act=stage(), below={"kind": "subagent", "graph": chain(in_it=stage())}
    )
    run = workflow_execute(book, "T", graph).run_id
    (child,) = book.children(run)
    last = [one.seq for one in book.events(run=child)][-1]
    home, path = tmp_path / "home", book.path
    found = eval_suite_run(book, SENT, [run])
    events = len([*book.events(run=run)]) + len([*book.events(run=child)])
    assert (found["verdict"], found["verified"]) == ("passed", events)
    book.close()
    with (
        changed(path, last, "signature"),
        opened(path, home) as forged,
        pytest.raises(WrongError, match="verify"),
    ):
        eval_suite_run(forged, SENT, [run])


def test_a_verdict_says_how_much_was_verified(book: Ledger) -> None:
    """Its events, and its result, count the events that were verified before they were read."""
    good, other = run_letter(book), run_letter(book)
    found = run_record_eval(book, other, run_record_fixture(book, good))
    (case,) = book.events(run=found["eval_run_id"], type="eval.case_finished")
    (end,) = book.events(run=found["eval_run_id"], type="eval.concluded")
    events = len([*book.events(run=other)])
    assert case.data["verified"] == end.data["verified"] == events > 20
