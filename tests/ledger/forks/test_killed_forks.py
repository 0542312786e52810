"""A fork that is killed after any commit comes to the same, and performs nothing twice.

Rules: it is killed in the part that its origin answers, at the changed answer, and beyond;
what the origin answers is never in doubt, since nobody performed it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from children import is_killed
from forking_programs import World, ends_of, outcome, travel
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.verification.verify import verify
from steps import facts_of

SITUATIONS = {
    "before the pause": ("tool.failed", "", False),
    "in a scope": ("tool.completed", "hotel", False),
    "with a change": ("tool.completed", "hotel/bar", True),
    "at the end": ("run.completed", "", True),
}
"""The event that the fork is at, its scope, and whether an answer in it is changed."""
MOST = 40


def go_on(ledger: Ledger, done: Done, world: World) -> Done:
    """Resume until nothing pauses any more; return how it ended."""
    while done.is_paused:
        done = ledger.resume(done.run_id, world.plan)
    return done


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS)
def test_killed_after_each_commit(ledger: Ledger, situation: str) -> None:
    """A resume ends with the same result and digest; the origin answers what it has."""
    kind, scope, changes = SITUATIONS[situation]
    world = World()
    origin = travel(ledger, world).run_id
    at = outcome(ledger, origin, kind, scope).seq
    room = outcome(ledger, origin, "tool.completed", "hotel").seq
    values = {room: ["suite"]} if changes else {}
    whole = go_on(
        ledger, ledger.fork(origin, at=at, changes=values, program=world.plan), world
    )
    assert whole.ok
    expected = ends_of(ledger, whole.run_id)
    killed = 0
    while killed < MOST and cut(ledger, origin, at, values, killed):
        begun = ledger.events(type="run.started", order="desc")
        run = str(next(event.run for event in begun if "fork" in event.raw))
        world.asked.clear()
        if facts_of(ledger, run).status != "completed":
            doubts = [
                "tool",
                "human",
            ]  # of what was performed, which the origin has not
            done = ledger.resume(run, world.plan, repeat=doubts)
            done = go_on(ledger, done, world)
            assert (done.result, done.result_digest) == (
                whole.result,
                whole.result_digest,
            )
        assert ends_of(ledger, run) == expected
        assert len(world.asked) <= expected.get("performer", 0)
        assert replay(ledger, run, world.plan).verdict == "acceptable"
        killed += 1
    assert 5 < killed < MOST
    report = verify(ledger.path, home=ledger.home)
    assert report.ok, str(report)


def cut(
    ledger: Ledger, origin: str, at: int, changes: Mapping[int, object], commit: int
) -> bool:
    """Fork *origin* in a process that dies after that commit, if it has it."""

    def live(opened: Ledger) -> None:
        world = World()
        fork = opened.fork(origin, at=at, changes=changes, program=world.plan)
        go_on(opened, fork, world)

    return is_killed(ledger.path, live, commit)
