"""No honest fork is called wrong, whatever its program did and wherever it was cut.

Rules: each seed gives a program, forks of it and of its forks at any event, with any
changes, and resumes of what failed. One thread does one thing at a time, so a seed always
gives the same.
"""

from __future__ import annotations

import itertools
import random
from contextlib import suppress

import pytest

from muniment.errors import EffectFailed, MunimentError
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment.runs.run import Run
from muniment.verification.verify import verify

SCOPES = ("", "a", "a/b", "c")
STEPS = 5


class Errands:
    """A program of a seed: equal requests, failures, readings, effects in performers."""

    __name__ = "errands"

    def __init__(self, seed: int) -> None:
        self.seed, self.down = seed, True
        self._numbers = itertools.count()

    def do(self, request: object) -> object:
        """Answer with a number that no other answer has, or fail."""
        if request == "soft" or (request == "fatal" and self.down):
            raise OSError(request)
        return [request, next(self._numbers)]

    def __call__(self, run: Run) -> object:
        """Do what the seed says."""
        choice, told = random.Random(self.seed), list[object]()  # noqa: S311 - a test's
        for _ in range(choice.randint(4, 12)):
            scope = choice.choice(SCOPES)
            lane, what = run.scope(scope) if scope else run, choice.random()
            if what < 0.5:
                asked = choice.choice(["x", "y", "x", told[-1:]])
                told.append(lane.effect("tool", asked, self.do))
            elif what < 0.6:
                with suppress(EffectFailed):
                    lane.effect("tool", "soft", self.do)
            elif what < 0.75:
                told.append(str(lane.now()))
            elif what < 0.85:
                lane.record("note.added", {"text": choice.choice("pq")})
            elif what < 0.93:
                told.append(lane.effect("data", "inside", lambda _: self.inside(run)))
            else:
                lane.effect("tool", "fatal", self.do)
        return told

    def inside(self, run: Run) -> object:
        """Record an effect and a reading inside of another one."""
        return [run.effect("tool", "x", self.do), str(run.now())]


def forked(ledger: Ledger, run: str, program: Errands, choice: random.Random) -> Done:
    """Fork *run* at any event of its second half, with any changes."""
    events = list(ledger.events(run=run))
    at = choice.choice(events[len(events) // 2 :]).seq
    outcomes = [
        one.seq
        for one in events
        if one.type.startswith(("tool.", "data."))
        and one.type.endswith((".completed", ".failed"))
        and "@" not in str(one.scope)
        and one.seq <= at
    ]
    changes = {seq: ["changed", seq] for seq in outcomes if choice.random() < 0.15}
    return ledger.fork(run, at=at, changes=changes, program=program)


@pytest.mark.parametrize("seed", range(24))
def test_it_is_sound(ledger: Ledger, seed: int) -> None:
    """The verifier finds nothing after each fork, and after each resume."""
    program, choice = Errands(seed), random.Random(seed)  # noqa: S311 - a test's
    first = ledger.execute(program)
    runs, failed = [first.run_id], [first.run_id] * (first.status == "failed")
    for _ in range(STEPS):
        program.down = choice.random() < 0.5
        with suppress(MunimentError):  # what can be neither changed nor resumed
            if failed and choice.random() < 0.5:
                done = ledger.resume(failed.pop(), program)
            else:
                done = forked(ledger, choice.choice(runs), program, choice)
                runs.append(done.run_id)
            failed += [done.run_id] * (done.status == "failed")
        report = verify(ledger.path, home=ledger.home)
        assert report.ok, str(report)
    assert len(runs) > 1
