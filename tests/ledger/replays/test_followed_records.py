"""A resume and a fork follow their record: no other program is paid for.

Rules: what a run recorded is the beginning of what its program did. A program that does
anything else first is stopped before it performs an effect; the one that was recorded is
never stopped, in whatever order its threads and tasks run this time.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muniment.errors import ReplayDiverged
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment.runs.run import Run
from steered import LANES, STEPS, Lanes, Steered, Step, follows, mutants
from steps import echo, last_run

SWEEP = settings(
    max_examples=10, deadline=None, derandomize=True, phases=[Phase.generate]
)


@pytest.fixture(scope="module")
def deeds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger that many drawn runs share."""
    place: Path = tmp_path_factory.mktemp("followed") / "ledger.db"
    with Ledger.create(place, plugins=()) as made:
        made.register(EffectKind("deed", on_doubt="repeat"))
        yield made


def cut_off(ledger: Ledger, program: Callable[..., Any]) -> str:
    """Execute *program*, which is cut off; return its run."""
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program, seed="5eed")
    return last_run(ledger)


def deeds_of(steps: list[Step]) -> Counter[Step]:
    """Return the effects among *steps*."""
    return Counter(one for one in steps if one[0] == "deed")


def judged(done: Done, other: Steered, recorded: list[Step], open_: int) -> bool:
    """Check how the program *other* went on after the *recorded* steps; tell if it did.

    The last *open_* of them are known without their outcome.
    """
    steps = list(other.steps)
    if not follows(steps, recorded):
        assert done.status == "diverged", (steps, recorded)
        assert isinstance(done.error, ReplayDiverged)
        assert not other.done, (steps, recorded)
        return False
    assert done.status == "completed", (steps, recorded, done)
    answered = deeds_of(recorded[: len(recorded) - open_])
    assert other.done == deeds_of(steps) - answered
    return True


@SWEEP
@given(steps=STEPS, data=st.data())
def test_another_program_performs_nothing(
    deeds: Ledger, steps: list[Step], data: st.DataObject
) -> None:
    """Whatever step is dropped, added, changed or swapped: stopped, before any effect.

    The program that was recorded goes on after that, and does each deed once.
    """
    cut = data.draw(st.integers(0, len(steps)))
    origin = Steered(steps, cut, within=data.draw(st.booleans()))
    run = cut_off(deeds, origin)
    recorded = list(origin.recorded)
    other = Steered(data.draw(st.sampled_from(list(mutants(steps)))))
    if not judged(deeds.resume(run, other), other, recorded, len(recorded) - cut):
        same = Steered(steps)
        done = deeds.resume(run, same)
        assert done.ok, (steps, recorded, done)
        assert same.done + origin.done == deeds_of(steps)


@SWEEP
@given(steps=STEPS, data=st.data())
def test_a_fork_by_another_program_performs_nothing(
    deeds: Ledger, steps: list[Step], data: st.DataObject
) -> None:
    """The same up to the event of a fork; beyond it, every program may go its own way."""
    run = deeds.execute(Steered(steps), seed="5eed").run_id
    events = [one for one in deeds.events(run=run) if one.type != "run.completed"]
    at = data.draw(st.sampled_from(events))
    seen = [one.type for one in events if one.seq <= at.seq]
    count = sum(one in ("note.added", "deed.requested") for one in seen)
    open_ = seen.count("deed.requested") - seen.count("deed.completed")
    for mutant in (steps, data.draw(st.sampled_from(list(mutants(steps))))):
        other = Steered(mutant)
        done = deeds.fork(run, at=at.seq, program=other)
        judged(done, other, steps[:count], open_)


@SWEEP
@given(lanes=LANES, after=STEPS, seed=st.integers(0, 99), cut=st.integers(0, 9))
def test_tasks_are_never_stopped(
    deeds: Ledger, lanes: list[list[Step]], after: list[Step], seed: int, cut: int
) -> None:
    """Tasks that share scopes go on in any other order, in a resume and in a fork."""
    origin = Lanes(lanes, after, cut, turns=_turns(seed))
    with suppress(KeyboardInterrupt):
        asyncio.run(deeds.aexecute(origin.tasks, seed="5eed"))
    run = last_run(deeds)
    same = Lanes(lanes, after, turns=_turns(seed + 1))
    if origin.done.total() == cut:
        at = [one.seq for one in deeds.events(run=run)][cut]
        fork = Lanes(lanes, after, turns=_turns(seed + 2))
        done = asyncio.run(deeds.afork(run, at=at, program=fork.tasks))
        assert done.ok, (lanes, after, done)
    if origin.done != deeds_of(sum(lanes, [*after])):
        done = asyncio.run(deeds.aresume(run, same.tasks))
        assert done.ok, (lanes, after, done)
    assert origin.done + same.done == deeds_of(sum(lanes, [*after]))


def _turns(seed: int) -> Callable[[], int]:
    dice = random.Random(seed)  # noqa: S311 - a test's
    return lambda: dice.randrange(3)


@SWEEP
@given(lanes=LANES, after=STEPS, cut=st.integers(0, 9))
def test_threads_are_never_stopped(
    deeds: Ledger, lanes: list[list[Step]], after: list[Step], cut: int
) -> None:
    """Threads that share scopes go on in any other order, in a resume and in a fork."""
    origin = Lanes(lanes, after, cut)
    with suppress(KeyboardInterrupt):
        deeds.execute(origin.threads, seed="5eed")
    run = last_run(deeds)
    at = [one.seq for one in deeds.events(run=run)][cut]
    fork = Lanes(lanes, after)
    done = deeds.fork(run, at=at, program=fork.threads)
    assert done.ok, (lanes, after, done)
    if origin.done != deeds_of(sum(lanes, [*after])):
        same = Lanes(lanes, after)
        done = deeds.resume(run, same.threads)
        assert done.ok, (lanes, after, done)
        assert origin.done + same.done == deeds_of(sum(lanes, [*after]))


def test_one_program_again_after_its_threads(deeds: Ledger) -> None:
    """Once its threads and tasks have ended, a program is held to the record again."""
    steps: list[Step] = [("fact", "", "x"), ("fact", "", "y"), ("deed", "", "z")]
    recorded = Lanes([[("fact", "a", "x")]] * 2, steps, cut=0)
    other = Lanes(recorded.lanes, [*steps[:1], *steps[2:]])
    with pytest.raises(KeyboardInterrupt):
        deeds.execute(recorded.threads)
    done = deeds.resume(last_run(deeds), other.threads)
    assert (done.status, other.done) == ("diverged", {})
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(deeds.aexecute(recorded.tasks))
    done = asyncio.run(deeds.aresume(last_run(deeds), other.tasks))
    assert (done.status, other.done) == ("diverged", {})


def test_both_facts_are_named(deeds: Ledger) -> None:
    """The error says what the record has next, and what the program stated."""
    origin = Steered([("fact", "a", "x"), ("fact", "a", "y"), ("deed", "", "z")], cut=2)
    other = Steered([("fact", "a", "y"), ("fact", "a", "x"), ("deed", "", "z")])
    run = cut_off(deeds, origin)
    done = deeds.resume(run, other)
    (first, _) = deeds.events(run=run, type="note.added")
    said = f"fact in scope \"a\" at event {first.seq}: text was 'x', is 'y'"
    assert said in str(done.error)


def test_what_a_failure_left_in_another_scope_may_come_late(deeds: Ledger) -> None:
    """A deed that goes well in a resume may lead elsewhere before what is recorded there."""

    def program(run: Run) -> object:
        try:
            run.scope("a").effect("deed", "x", attempt)
            run.scope("b").effect("deed", "more", echo)
            failed = None
        except Exception as error:  # noqa: BLE001 - raised below
            failed = error
        run.scope("b").record("note.added", {"text": "went on"})
        if failed is not None:
            raise failed
        return run.effect("deed", "end", echo)

    down = [True]

    def attempt(request: object) -> object:
        if down:
            raise OSError("down")
        return request

    failed = deeds.execute(program)
    assert failed.status == "failed"
    down.clear()
    assert deeds.resume(failed.run_id, program).ok
