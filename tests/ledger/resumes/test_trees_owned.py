"""A tree of runs has one owner: none of it is taken from somebody who is alive.

Rules: whoever resumes a run above or below one whose owner is alive is told who that is,
writes nothing, and performs nothing; ``take_over`` takes it anyway, and nobody needs it
once the owner is dead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from children import Report, die, start
from muniment.errors import RunFenced
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.verification.verify import verify
from processes import soon

Program = Callable[[Run], object]
DEPTH = 3


def tree(act: Callable[[], object], order: str = "call") -> list[Program]:
    """Return programs each of which calls the next; the last one performs *act*."""

    def last(run: Run) -> object:
        return run.effect("data", order, lambda _: act())

    programs: list[Program] = [last]
    while len(programs) < DEPTH:
        below = programs[0]

        def calls(run: Run, below: Program = below) -> object:
            return run.call(below, name="below")

        programs.insert(0, calls)
    return programs


def cut_off(place: Path) -> list[str]:
    """Leave a tree of runs whose owner was killed; return its runs, the root first."""
    Ledger.create(place, plugins=()).close()

    def body(_: Report) -> None:
        with Ledger.open(place, plugins=()) as own:
            own.execute(tree(die)[0])

    assert start(body).end()[0] == -9
    with Ledger.open(place, plugins=()) as opened:
        runs = [str(one.run) for one in opened.events(type="run.started")]
    assert len(runs) == DEPTH
    return runs


CASES = [(own, other) for own in range(DEPTH) for other in range(DEPTH)]
"""Which run of the tree somebody owns, and which another one wants; 0 is the root."""


@pytest.mark.parametrize(("own", "other"), CASES)
def test_no_run_of_a_tree_is_taken_from_the_living(
    tmp_path: Path, own: int, other: int
) -> None:
    """A resume above, below or at a run whose owner is alive is refused, and says why."""
    place, works = tmp_path / "l.db", tmp_path / "works"
    runs = cut_off(place)

    def stays() -> object:
        works.touch()
        time.sleep(60)
        return None

    def body(_: Report) -> None:
        with Ledger.open(place, plugins=()) as owned:
            owned.resume(runs[own], tree(stays)[own])

    child = start(body)
    assert soon(works.exists)
    calls: list[str] = []

    def acts() -> object:
        calls.append("acted")
        return 1

    with Ledger.open(place, plugins=()) as ledger:
        head = ledger.head
        with pytest.raises(RunFenced, match=f"owned by process {child.pid} on") as told:
            ledger.resume(runs[other], tree(acts)[other])
        assert told.value.rule == "run/owned"
        assert "--take-over" in told.value.remedy
        assert (ledger.head, calls) == (head, [])

        if (own + other) % 2:  # both ways on, in some of the cases each
            child.kill()
            child.end()
            done = ledger.resume(runs[other], tree(acts)[other])
        else:
            done = ledger.resume(runs[other], tree(acts)[other], take_over=True)
            child.kill()
            child.end()
        assert (done.result, calls) == (1, ["acted"])
        assert verify(place, home=ledger.home).ok


def test_a_tree_that_ended_is_nobodys(tmp_path: Path) -> None:
    """Runs of this very process that ended can be resumed, the child first or not at all."""
    place = tmp_path / "l.db"
    with Ledger.create(place, plugins=()) as ledger:

        def strikes() -> object:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ledger.execute(tree(strikes)[0])
        runs = [str(one.run) for one in ledger.events(type="run.started")]
        assert ledger.resume(runs[1], tree(lambda: 1)[1]).result == 1
        assert ledger.resume(runs[0], tree(lambda: 2)[0]).result == 1
