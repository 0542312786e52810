"""In a lane that keeps its order, a resume performs nothing before what is recorded there.

Rules: lanes of threads state facts, ask people and perform effects; people deny. Another
program leaves one step of one lane out, and performs something more there. While others
run, the order of the whole program says nothing; that of the lane still does.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from deciding import approver, signed
from muniment.errors import ReplayDiverged
from muniment.events.effect_kinds import EffectKind
from muniment.keys.ed25519 import PrivateKey
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run

LANES = ("a", "b")


@dataclass
class Lanes:
    """Takes *steps* in each lane, in a thread of its own; lane ``a`` leaves one out."""

    steps: Sequence[str]
    left_out: int | None = None
    more: bool = False
    done: list[object] = field(default_factory=list[object])
    meet: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))
    __name__ = "lanes"

    def __call__(self, run: Run) -> object:
        """Take them, at once."""
        with run.at_once(LANES) as lanes, ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(self.work, lane) for lane in lanes]
            found: list[object] = []
            errors: list[BaseException] = []
            for job in jobs:
                error = job.exception()
                errors += [] if error is None else [error]
                found += [job.result()] if error is None else []
            if errors:
                raise errors[0]
        return found

    def work(self, lane: Run) -> str:
        """Take the steps of *lane*."""
        lane.keep_order()
        self.meet.wait(20)
        for at, step in enumerate(self.steps):
            if not (self.left_out == at and lane.scope_path == "a"):
                self.step(lane, at, step)
        if self.more and lane.scope_path == "a":
            lane.effect("steps.done", "a more", self.perform)
        return lane.scope_path

    def step(self, lane: Run, at: int, what: str) -> None:
        """Take one step."""
        if what == "state":
            lane.record("note.added", {"text": str(at)})
        elif what == "ask":
            lane.decide(at, f"{at}?")
        else:
            lane.effect("steps.done", f"{lane.scope_path}{at}", self.perform)

    def perform(self, request: object) -> object:
        """Count it."""
        self.done.append(request)
        return request


@pytest.mark.parametrize("left_out", range(3))
@pytest.mark.parametrize(
    "steps", [("ask", "state", "do"), ("state", "do", "ask"), ("do", "ask", "ask")]
)
def test_a_resume_performs_nothing_before_what_is_recorded(
    ledger: Ledger, steps: tuple[str, ...], left_out: int
) -> None:
    """The program is stopped before it; by the recorded program the run goes on."""
    ann = approver(ledger, "ann")
    ledger.register(EffectKind("steps.done"))
    program = Lanes(steps)
    done = ledger.execute(program)
    left_out = min(left_out, steps.index("ask"))  # the run has not come to more
    deny(ledger, ann)
    other = Lanes(steps, left_out, more=True)
    stopped = ledger.resume(done.run_id, other)
    assert isinstance(stopped.error, ReplayDiverged), stopped.error
    assert not [one for one in other.done if str(one).startswith("a")]
    while done.status == "paused":
        deny(ledger, ann)
        done = ledger.resume(done.run_id, program)
    assert done.status == "completed", done.error
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def deny(ledger: Ledger, ann: PrivateKey) -> None:
    """Deny all that is asked."""
    for one in ledger.pending():
        ledger.answer(signed(one, ann, "denied"))


@pytest.mark.parametrize("left_out", range(3))
def test_a_fork_performs_nothing_before_what_is_recorded(
    ledger: Ledger, left_out: int
) -> None:
    """A prefix that is not the origin's is found before anything is paid for."""
    ledger.register(EffectKind("steps.done"))
    steps = ("state", "do", "state")
    done = ledger.execute(Lanes(steps))
    assert done.status == "completed", done.error
    other = Lanes(steps, left_out, more=True)
    last = [one.seq for one in ledger.events(run=done.run_id)][-2]
    stopped = ledger.fork(done.run_id, at=last, program=other)
    assert isinstance(stopped.error, ReplayDiverged), stopped.error
    assert not [one for one in other.done if str(one).startswith("a")]
