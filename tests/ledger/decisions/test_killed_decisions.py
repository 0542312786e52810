"""A run that asks, killed at any step of any commit, is decided once, and goes on."""

from __future__ import annotations

from typing import Any

import pytest

from calling_programs import below
from children import is_killed
from deciding import approver, asks, key, signed
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify

WHO = ("ann", "bob")
COMMITS = 17
"""How many commits it takes, before the one that ends it."""
STEPS = ("signed", "inserted", "committed", "remembered")


def child(run: Run) -> object:
    """Ask two people between two effects."""
    return asks(run, 2)


def program(run: Run) -> object:
    """Call what asks."""
    return run.call(child)


def answered(ledger: Ledger) -> None:
    """Let the next who has not answered do so."""
    for pending in ledger.pending():
        had = {one.key for one in pending.answers}
        mine = next(key(who) for who in WHO if key(who).public.keyid not in had)
        ledger.answer(signed(pending, mine))


def go_on(ledger: Ledger, run: str) -> Any:
    """Answer and resume in turn until the run is complete."""
    answered(ledger)
    done = ledger.resume(run, program)
    while done.status == "paused":
        answered(ledger)
        done = ledger.resume(run, program)
    return done


def cut(ledger: Ledger, step: str, commit: int) -> bool:
    """Do all of it in a process that dies at that *step* of that commit."""

    def live(opened: Ledger) -> None:
        go_on(opened, opened.execute(program).run_id)

    return is_killed(ledger.path, live, commit, step)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("commit", range(COMMITS))
def test_killed_while_people_decide(ledger: Ledger, step: str, commit: int) -> None:
    """What was asked is asked once, each answers once, and the result is the same."""
    for who in WHO:
        approver(ledger, who)
    assert cut(ledger, step, commit)
    started = next(ledger.events(type="run.started"), None)
    if started is None:  # not even that was committed
        assert (commit, step) in [(0, "signed"), (0, "inserted")]
        return
    root = str(started.run)
    done = go_on(ledger, root)
    assert done.result == [1, "approved", [("approved", "")] * 2, 2]
    for kind, times in (("asked", 1), ("given", 2), ("refused", 0), ("reached", 1)):
        found = list(ledger.events(type=f"decision.{kind}"))
        assert len(found) == times, kind
    assert len(below(ledger, root)) == 1
    assert replay(ledger, root, program, children=True).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


def test_there_are_no_more_commits(ledger: Ledger) -> None:
    """Beyond the positions is only the last commit, and they hold every decision."""
    for who in WHO:
        approver(ledger, who)
    reached: list[str] = []

    def step(name: str) -> None:
        if name == "committed":
            (last,) = ledger.events(order="desc", limit=1)
            reached.append(last.type)

    ledger.store.step = step
    assert go_on(ledger, ledger.execute(program).run_id).ok
    assert len(reached) == COMMITS + 1, reached
    assert {"decision.asked", "decision.given"} <= {*reached}
