"""``last``, and so many before it: runs by when they were started."""

from __future__ import annotations

import sqlite3
from typing import cast

import pytest

from muniment import Run, replay
from muniment.errors import UsageError
from muniment.ledger import Ledger


def alone(run: Run) -> str:
    """Call nobody."""
    return run.id


def calling(run: Run) -> object:
    """Call another run."""
    return run.call(alone)


def test_the_newest_first(ledger: Ledger) -> None:
    """``last`` is the newest run, ``last~1`` the one before it."""
    runs = [ledger.execute(alone).run_id for _ in range(3)]
    assert [ledger.run_id(one) for one in ("last", "last~0", "last~1", "last~2")] == [
        runs[2],
        runs[2],
        runs[1],
        runs[0],
    ]


def test_called_runs_and_replays_are_passed_over(ledger: Ledger) -> None:
    """What nobody started, and what only repeats another run, is not the last."""
    first = ledger.execute(alone).run_id
    second = ledger.execute(calling).run_id
    assert ledger.children(second)
    report = replay(ledger, second, program=calling, record=True)
    assert report.recorded_as
    assert (ledger.run_id("last"), ledger.run_id("last~1")) == (second, first)


def test_a_run_is_found_as_fast_however_long_it_is(ledger: Ledger) -> None:
    """Looking an id up takes no more steps of SQLite if the run has many more events."""

    def stating(run: Run, count: int) -> None:
        for _ in range(count):
            run.record("note.added", {"text": "x"})

    def steps(run: str) -> int:
        taken: list[None] = []
        with ledger.store.database.reading() as lent:
            connection = cast("sqlite3.Connection", lent)
            connection.set_progress_handler(lambda: taken.append(None), 1)
        try:
            assert ledger.run_id(run) == run
        finally:
            connection.set_progress_handler(None, 0)
        return len(taken)

    short, long = (
        ledger.execute(stating, params={"count": count}).run_id for count in (1, 2000)
    )
    assert 0 < steps(long) < steps(short) + 20


def test_filters_take_it(ledger: Ledger) -> None:
    """Wherever a run is named, it may be named so."""
    run = ledger.execute(alone).run_id
    assert {one.run for one in ledger.events(run="last")} == {run}


def test_not_so_many(ledger: Ledger) -> None:
    """Where there are fewer, that is said, with how many there are."""
    with pytest.raises(UsageError, match="no run is last: 0 were started"):
        ledger.run_id("last")
    ledger.execute(alone)
    with pytest.raises(UsageError, match="no run is last~1: 1 were started"):
        ledger.run_id("last~1")
    with pytest.raises(UsageError, match="no run begins with 'last~'"):
        ledger.run_id("last~")
