"""Lanes that are at once wait each for itself, and the run pauses for all of them.

Rules: programs of drawn lanes, some within others, ask people, state pauses, perform effects
and fail. In each round people answer some of what they are asked, and the run is resumed.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciding import approver, key, signed
from muniment.errors import RefusedError, RunPaused, UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify

Step: TypeAlias = "str | tuple[Lane, ...]"
Lane: TypeAlias = "tuple[Step, ...]"

WAITS = ("ask", "call", "pause", "call what pauses")
ASKS = ("ask", "call")
STEPS: st.SearchStrategy[Any] = st.sampled_from([*WAITS, "ask", "do", "state"])
LANES = st.recursive(
    st.lists(STEPS, max_size=3).map(tuple),
    lambda inner: st.lists(
        STEPS | st.lists(inner, min_size=2, max_size=3).map(tuple), max_size=3
    ).map(tuple),
    max_leaves=6,
)
TOP = st.lists(LANES, min_size=2, max_size=4).map(tuple)


def asking(run: Run) -> str:
    """Ask in a run that is called."""
    return run.decide("below", "below?").outcome


def pausing(run: Run) -> str:
    """Pause in a run that is called."""
    run.pause(f"a pause below {run.id}")
    return "passed"


@dataclass
class Lanes:
    """A program of *lanes* at once."""

    lanes: tuple[Lane, ...]
    is_async: bool = False
    done: Counter[str] = field(default_factory=Counter[str])
    lock: Any = field(default_factory=threading.Lock)
    __name__ = "lanes"

    def __call__(self, run: Run) -> object:
        """Work in threads."""
        return self.threads(run, self.lanes)

    async def later(self, run: Run) -> object:
        """Work in tasks."""
        return await self.tasks(run, self.lanes)

    def threads(self, run: Run, lanes: tuple[Lane, ...]) -> list[object]:
        """Work in *lanes*, each in a thread."""
        names = [f"l{number}" for number in range(len(lanes))]
        with run.at_once(names) as opened, ThreadPoolExecutor(len(lanes)) as pool:
            jobs = [
                pool.submit(self.work, *one) for one in zip(opened, lanes, strict=True)
            ]
            wait(jobs)  # `pool.map` cancels what has not begun
            return [one.result() for one in jobs]

    async def tasks(self, run: Run, lanes: tuple[Lane, ...]) -> list[object]:
        """Work in *lanes*, each in a task."""
        names = [f"l{number}" for number in range(len(lanes))]
        with run.at_once(names) as opened:
            jobs = map(self.awork, opened, lanes)
            ended = await asyncio.gather(*jobs, return_exceptions=True)
            for one in ended:
                if isinstance(one, BaseException):
                    raise one
            return list(ended)

    def work(self, run: Run, lane: Lane) -> list[object]:
        """Take the steps of *lane*."""
        return [
            self.step(run.scope(f"s{at}"), one)
            if isinstance(one, str)
            else self.threads(run.scope(f"s{at}"), one)
            for at, one in enumerate(lane)
        ]

    async def awork(self, run: Run, lane: Lane) -> list[object]:
        """Take the steps of *lane* in a task."""
        found: list[object] = []
        for at, one in enumerate(lane):
            await asyncio.sleep(0)
            here = run.scope(f"s{at}")
            if isinstance(one, str):
                found.append(self.step(here, one))
            else:
                found.append(await self.tasks(here, one))
        return found

    def step(self, run: Run, what: str) -> object:
        """Take a step."""
        if what == "ask":
            return run.decide(run.scope_path, f"{run.scope_path}?").outcome
        if what == "call":
            return run.call(asking)
        if what == "pause":
            run.pause(f"a pause in {run.scope_path}")
            return None
        if what == "call what pauses":
            return run.call(pausing)
        if what == "do":
            return run.effect("steps.done", run.scope_path, self.perform)
        run.record("note.added", {"text": run.scope_path})
        return None

    def perform(self, request: object) -> object:
        """Count what is performed."""
        with self.lock:
            self.done[str(request)] += 1
        return request


def first_waits(lanes: tuple[Lane, ...]) -> list[str]:
    """Return what the lanes wait for before anybody does anything."""
    return [one for lane in lanes for one in _first(lane)]


def _first(lane: Lane) -> list[str]:
    for one in lane:
        found = first_waits(one) if isinstance(one, tuple) else [one] * (one in WAITS)
        if found:
            return found
    return []


def questions(lanes: tuple[Lane, ...]) -> int:
    """Return how many questions there are in all."""
    return sum(
        questions(one) if isinstance(one, tuple) else one in ASKS
        for lane in lanes
        for one in lane
    )


def rounds(lanes: tuple[Lane, ...]) -> int:
    """Return how often the run pauses if everything that it waits for comes meanwhile."""
    return max(sum(map(_rounds, lane)) for lane in lanes)


def _rounds(step: Step) -> int:
    return rounds(step) if isinstance(step, tuple) else step in WAITS


def made(place: Path) -> Ledger:
    """Return a ledger with one approver."""
    ledger = Ledger.create(place / "ledger.db", plugins=(), home=place / "home")
    ledger.register(EffectKind("steps.done"))
    approver(ledger, "ann")
    return ledger


@settings(max_examples=25, deadline=None)
@given(TOP, st.booleans(), st.none() | st.randoms(use_true_random=False))
def test_one_pause_asks_for_all_lanes(
    lanes: tuple[Lane, ...], is_async: bool, dice: random.Random | None
) -> None:
    """People find the first question of each lane; nothing is performed twice.

    Where they answer all of them, one resume goes on with each lane: the run pauses as often
    as the lane that waits the most often does.
    """
    with tempfile.TemporaryDirectory() as place, made(Path(place)) as ledger:
        program, mine, answered = Lanes(lanes, is_async), key("ann"), 0
        body: Any = program.later if is_async else program
        done = asyncio.run(ledger.aexecute(body)) if is_async else ledger.execute(body)
        run, pauses, first = done.run_id, 0, first_waits(lanes)
        assert len(ledger.pending()) == sum(one in ASKS for one in first)
        while done.status == "paused":
            waiting, pauses = ledger.pending(), pauses + 1
            paused = [*ledger.events(run=run, type="run.paused")][-1]
            awaited = cast("list[str]", paused.raw.get("waits_for") or [])
            assert sorted(awaited) == sorted(one.asked for one in waiting)
            if pauses == 1:
                told = str(paused.data["reason"]).split("; ")
                assert len(told) == min(len(first), 9), told
            few = len(waiting) if dice is None else dice.randint(0, len(waiting))
            some = waiting if dice is None else dice.sample(waiting, few)
            for one in some:
                ledger.answer(signed(one, mine, "approved"))
            answered += len(some)
            if is_async:
                done = asyncio.run(ledger.aresume(run, body))
            else:
                done = ledger.resume(run, body)
        assert done.status == "completed", done.error
        assert answered == questions(lanes)
        assert pauses == rounds(lanes) or dice is not None
        assert set(program.done.values()) <= {1}
        found = replay(ledger, run, body)
        assert found.verdict == "acceptable", found
        report = verify(ledger.path, home=ledger.home)
        assert report.ok, str(report)


def test_what_is_stopped_stays_so(ledger: Ledger) -> None:
    """A lane that swallows that it waits can do nothing more, and the run pauses."""
    done: list[str] = []

    def swallows(run: Run) -> None:
        with run.at_once(["a", "b"]) as (a, b):
            with pytest.raises(RunPaused):
                a.decide("a")
            acts: list[Callable[[], object]] = [
                lambda: a.record("note.added", {"text": "on"}),
                lambda: a.scope("below").effect("steps.done", 1, str),
                lambda: a.decide("again"),
                lambda: a.call(asking),
            ]
            for act in acts:
                with pytest.raises(RunPaused):
                    act()
            b.effect("steps.done", 2, lambda _: done.append("b"))

    ledger.register(EffectKind("steps.done"))
    found = ledger.execute(swallows)
    assert (found.status, done) == ("paused", ["b"])
    assert found.pause is not None
    assert len(found.pause.waits_for) == 1
    kinds = [one.type for one in ledger.events(run=found.run_id)]
    assert "note.added" not in kinds


def test_a_failure_beside_a_question_fails_the_run(ledger: Ledger) -> None:
    """What leaves the block ends the run; its replay needs no answer."""

    def fails(run: Run) -> None:
        with run.at_once(["a"]) as (a,):
            with pytest.raises(RunPaused):
                a.decide("a")
            raise ValueError("no paper")

    done = ledger.execute(fails)
    assert (done.status, str(done.error)) == ("failed", "no paper")
    assert replay(ledger, done.run_id, fails).verdict == "acceptable"


def test_a_dry_run_goes_on_in_other_lanes(ledger: Ledger) -> None:
    """It ends where all of them have, and asks nobody."""
    seen: list[str] = []

    def asks(run: Run) -> None:
        with run.at_once(["a", "b"]) as (a, b):
            with pytest.raises(RunPaused):
                a.decide("a")
            b.record("note.added", {"text": "b"})
            seen.append("b")

    done = ledger.execute(asks, mode="dry")
    assert isinstance(done.error, RefusedError)
    assert (done.error.rule, seen) == ("run/dry-end", ["b"])


def test_what_a_waiting_lane_cancels_is_not_cancelled(ledger: Ledger) -> None:
    """What is in flight in it ends with it, and the resume performs it again."""
    approver(ledger, "ann")
    begun: list[object] = []
    started = asyncio.Event()

    async def slow(request: object) -> object:
        begun.append(request)
        started.set()
        await asyncio.sleep(0 if len(begun) > 1 else 60)
        return request

    async def lane(run: Run) -> object:
        work = asyncio.create_task(run.aeffect("steps.done", "slow", slow))
        try:
            await started.wait()
            await run.adecide("a")
            return await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def both(run: Run) -> object:
        with run.at_once(["a", "b"]) as (a, b):
            waits = asyncio.create_task(lane(a))
            await asyncio.wait({waits})
            await b.aeffect("steps.done", "b", str)
            return await waits

    ledger.register(EffectKind("steps.done"))
    run = asyncio.run(ledger.aexecute(both)).run_id
    outcomes = [
        one for one in ledger.events(run=run) if one.type == "steps.done.failed"
    ]
    assert outcomes == []
    ledger.answer(signed(ledger.pending()[0], key("ann"), "approved"))
    done = asyncio.run(ledger.aresume(run, both, repeat=["steps.done"]))
    assert (done.status, done.result, begun) == ("completed", "slow", ["slow"] * 2)
    assert replay(ledger, run, both).verdict == "acceptable"


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_a_pause_writes_what_came_to_it(
    ledger: Ledger, own: bool, everywhere: bool
) -> None:
    """A held fact is written by a pause of its lane, or of the run; not by another lane's."""

    def waits(run: Run) -> None:
        with pytest.raises(RunPaused):
            run.pause("waits", everywhere=everywhere)

    def held(run: Run) -> None:
        run.record("note.added", {"text": "held"}, held=True)

    def both(run: Run) -> None:
        with (
            run.at_once(["a", "b"]) as (a, b),
            ThreadPoolExecutor(1) as one,
            ThreadPoolExecutor(1) as other,
        ):
            one.submit(held, a).result()
            other.submit(waits, a if own else b).result()

    done = ledger.execute(both)
    assert done.status == "paused"
    notes = [*ledger.events(run=done.run_id, type="note.added")]
    assert len(notes) == (own or everywhere)


def test_a_swallowed_failure_hides_no_called_run_that_waits(ledger: Ledger) -> None:
    """A run does not complete while a run that it called waits for people."""
    approver(ledger, "ann")

    def fails(run: Run) -> None:
        with run.at_once(["a", "b"]) as (a, _):
            with pytest.raises(RunPaused):
                a.call(asking)
            raise ValueError("no paper")

    def swallows(run: Run) -> str:
        with suppress(ValueError):
            fails(run)
        return "done"

    done = ledger.execute(swallows)
    assert done.status == "paused", done
    ledger.answer(signed(ledger.pending()[0], key("ann"), "approved"))


def test_two_lanes_have_two_names(ledger: Ledger) -> None:
    """A name that is there twice is refused, as one that is none, before anything is done."""

    def twice(run: Run) -> None:
        with run.at_once(["a", "b", "a"]):
            raise AssertionError("nothing begins")

    def again(run: Run) -> None:
        with run.at_once(["a", "b"]), run.at_once(["b", "c"]):
            raise AssertionError("nothing begins")

    for program in (twice, again):
        error = ledger.execute(program).error
        assert isinstance(error, UsageError)
        assert error.rule == "scope/name"
