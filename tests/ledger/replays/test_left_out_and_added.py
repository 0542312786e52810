"""A program that leaves something out, or asks for more, is found in each mode.

Rules: programs of drawn facts, effects and questions; another one does one step less, or one
more. A strict replay accepts neither. A bounded one accepts it only if nothing that was
asked for, of people or of anything else, is another; an observational one reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from deciding import approver, key, signed
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run

STEPS = st.sampled_from(["state", "do", "ask"])
SWEEP = settings(
    max_examples=40, deadline=None, derandomize=True, phases=[Phase.generate]
)


@dataclass
class Steps:
    """Takes *steps*, each in a scope of its own; one that is None is left out."""

    steps: Sequence[str | None]
    __name__ = "steps"

    def __call__(self, run: Run) -> int:
        """Take them."""
        for at, one in enumerate(self.steps):
            here = run.scope(f"s{at}")
            if one == "state":
                here.record("note.added", {"text": "x"})
            elif one == "do":
                here.effect("data", at, lambda _: None)
            elif one == "ask":
                here.decide("x", "x?")
        return 3


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger that many drawn runs share, with an approver."""
    place: Path = tmp_path_factory.mktemp("steps")
    with Ledger.create(place / "ledger.db", plugins=(), home=place / "home") as made:
        approver(made, "ann")
        yield made


def recorded(ledger: Ledger, program: Steps) -> str:
    """Run *program* to its end, with whatever people have to decide."""
    done = ledger.execute(program)
    while done.status == "paused":
        ledger.answer(signed(ledger.pending()[0], key("ann")))
        done = ledger.resume(done.run_id, program)
    return done.run_id


def judged(ledger: Ledger, run: str, program: Steps, changed: str, word: str) -> None:
    """Check what each mode makes of *program*, in which *changed* is *word*."""
    strict = replay(ledger, run, program, mode="strict")
    assert strict.verdict == "unacceptable"
    assert strict.findings[0].what == word
    bounded = replay(ledger, run, program, mode="bounded")
    assert word in {one.what for one in bounded.findings}
    told = "acceptable_with_warnings" if changed == "state" else "unacceptable"
    assert bounded.verdict == told, bounded
    seen = replay(ledger, run, program, mode="observational")
    assert (seen.verdict, bool(seen.findings)) == ("acceptable_with_warnings", True)


@pytest.mark.slow
@SWEEP
@given(st.lists(STEPS, min_size=1, max_size=4), st.data())
def test_what_is_left_out(
    filled: Ledger, steps: list[str], data: st.DataObject
) -> None:
    """It is missing."""
    run = recorded(filled, Steps(steps))
    at = data.draw(st.integers(0, len(steps) - 1))
    fewer = Steps([None if at == n else one for n, one in enumerate(steps)])
    judged(filled, run, fewer, steps[at], "missing")


@pytest.mark.slow
@SWEEP
@given(st.lists(STEPS, max_size=3), STEPS)
def test_what_is_added(filled: Ledger, steps: list[str], more: str) -> None:
    """It is in no record, and whoever asks it gets no answer."""
    run = recorded(filled, Steps(steps))
    judged(filled, run, Steps([*steps, more]), more, "extra")
