"""A run calls another: one ledger, two records, and both go on after any cut."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from calling_programs import ANSWERS, below, calling, deep, inner, noted, outer
from muniment.errors import (
    EffectFailed,
    RefusedError,
    UsageError,
)
from muniment.ledger import Ledger
from muniment.recorded.descent import ancestors_of
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify
from steps import echo, facts_of, last_event, raising, types_of


class Called:
    """A child that can be found by its import path, whatever it does."""

    target: Callable[[Run], object]

    def __call__(self, run: Run) -> object:
        """Do what is to be done."""
        return self.target(run)


CHILD = Called()


def test_a_run_calls_another(ledger: Ledger) -> None:
    """The child has a record of its own, which names its parent, and each is replayed."""
    done = ledger.execute(outer, seed="5eed")
    children = below(ledger, done.run_id)
    assert [facts_of(ledger, one).name for one in children] == ["inner", "second"]
    for child in children:
        started = next(ledger.events(run=child))
        told = started.raw["parent"]
        assert isinstance(told, dict)
        assert (told["run"], told["root"]) == (done.run_id, done.run_id)
        assert started in ledger.events(subject=f"sha256:{told['key']}")
        assert replay(ledger, child, inner).verdict == "acceptable"
    completed = last_event(ledger, "child.completed")
    end = list(ledger.events(run=children[-1]))[-1]
    assert completed.raw["about"] == {"run": children[-1], "leaf": end.hash}
    ANSWERS.clear()
    report = replay(ledger, done.run_id, outer)
    assert (report.verdict, ANSWERS) == ("acceptable", [])
    assert report.result_digest == done.result_digest
    again = ledger.execute(outer, seed="5eed")
    assert (again.result, again.result_digest) == (done.result, done.result_digest)
    assert verify(ledger.path, home=ledger.home).ok


def test_grandchildren_name_the_root(ledger: Ledger) -> None:
    """Each names its parent and the run at the top."""
    done = ledger.execute(deep, params={"levels": 3})
    run, line = done.run_id, [done.run_id]
    while children := below(ledger, run):
        (run,) = children
        line.append(run)
        told = next(ledger.events(run=run)).raw["parent"]
        assert isinstance(told, dict)
        assert told["root"] == done.run_id
    assert len(line) == 4
    started = next(ledger.events(run=run))
    assert ancestors_of(ledger.store.database, started) == tuple(line[-2::-1])


def test_async_children_beside_each_other(ledger: Ledger) -> None:
    """Tasks call children at the same time; a resume and a replay find each its own."""

    async def child(run: Run, number: int) -> object:
        await run.asleep(0.01)
        return await run.aeffect("data", number, echo)

    async def program(run: Run) -> list[object]:
        async def one(number: int) -> object:
            with run.scope(f"lane/{number}") as lane:
                return await lane.acall(child, {"number": number})

        return list(await asyncio.gather(*map(one, range(5))))

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == [0, 1, 2, 3, 4]
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert len(below(ledger, done.run_id)) == 5


def test_an_async_program_is_awaited(ledger: Ledger) -> None:
    """Who calls an async program without awaiting it is told, and nothing is written."""

    async def child(run: Run) -> None:
        """Do nothing."""

    done = ledger.execute(calling(child))
    assert isinstance(done.error, UsageError)
    assert done.error.rule == "run/async"
    assert "child.requested" not in types_of(ledger, done.run_id)


def test_threads_call_children(ledger: Ledger) -> None:
    """Lanes that were handed to threads call children, too."""

    def program(run: Run) -> list[object]:
        def one(number: int) -> object:
            return run.scope(f"lane/{number}").call(inner, {"number": number})

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(one, range(8)))

    done = ledger.execute(program)
    assert done.ok, done.error
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_lane_of_the_parent_in_the_child(ledger: Ledger) -> None:
    """What the child's code states in the parent's lane is below the call there."""

    def program(run: Run) -> object:
        def child(lane: Run) -> object:
            run.record("note.added", {"text": "in the parent"})
            return lane.effect("data", 1, echo)

        return run.call(child)

    done = ledger.execute(program)
    assert last_event(ledger, "note.added").scope == "@child.1"
    assert last_event(ledger, "note.added").run == done.run_id
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_failed_child_is_gone_on_with(ledger: Ledger) -> None:
    """It raises in the parent; a resume of the parent goes on with that child."""
    broken = [True]

    def child(run: Run) -> object:
        first = run.effect("data", 1, noted)
        second = run.effect("data", 2, raising(ValueError("no")) if broken else noted)
        return [first, second]

    def program(run: Run) -> object:
        return run.call(child)

    done = ledger.execute(program)
    assert isinstance(done.error, EffectFailed)
    assert (done.error.kind, done.error.error_type) == ("child", "EffectFailed")
    (run,) = below(ledger, done.run_id)
    assert facts_of(ledger, run).status == "failed"
    broken.clear()
    ANSWERS.clear()
    resumed = ledger.resume(done.run_id, program)
    assert resumed.result == [1, 2]
    assert ANSWERS == [2]
    assert below(ledger, done.run_id) == [run]
    assert facts_of(ledger, run).status == "completed"
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


def test_a_failure_may_be_handled(ledger: Ledger) -> None:
    """A parent that deals with the failure completes, and replays without the child."""

    def failing(_: Run) -> object:
        raise ValueError("no")

    def program(run: Run) -> str:
        try:
            run.call(failing, name="fail")
        except EffectFailed as error:
            return error.error_type
        return "none"

    done = ledger.execute(program)
    assert done.result == "ValueError"
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


@pytest.mark.parametrize("children", [False, True])
def test_a_replay_may_go_down(ledger: Ledger, children: bool) -> None:
    """A replay is answered what a child returned; on request each child is replayed."""
    kept = [1]

    def child(run: Run) -> object:
        if not kept:
            run.record("note.added", {"text": "new"})
        return run.effect("data", 1, echo)

    def program(run: Run) -> object:
        return run.call(CHILD)

    CHILD.target = child
    run = ledger.execute(program).run_id
    assert replay(ledger, run, program, children=children).verdict == "acceptable"
    kept.clear()
    report = replay(ledger, run, program, children=children)
    assert report.verdict == ("unacceptable" if children else "acceptable")
    if children:
        (low,) = below(ledger, run)
        assert report.findings == replay(ledger, low).findings


@pytest.mark.parametrize(("program", "children"), [(outer, 2), (inner, 0)])
def test_a_replay_counts_what_it_went_down_to(
    ledger: Ledger, program: Callable[..., object], children: int
) -> None:
    """The report sums what was verified and compared, and says of how many runs."""
    params = {"number": 1} if program is inner else None
    run = ledger.execute(program, params=params).run_id
    alone = replay(ledger, run)
    parts = [alone, *(replay(ledger, one) for one in below(ledger, run))]
    whole = replay(ledger, run, children=True, record=True)
    assert (alone.children, whole.children) == (None, children)
    assert f"child runs: {children}" in str(whole)
    assert whole.compared == sum(one.compared for one in parts)
    checks = [one.verified for one in parts if one.verified is not None]
    assert whole.verified is not None
    assert whole.verified.proven
    assert whole.verified.rows == sum(one.rows for one in checks)
    assert whole.verified.signatures == sum(one.signatures for one in checks)
    judged = last_event(ledger, "replay.judged")
    assert judged.raw["children"] == children
    assert verify(ledger.path, home=ledger.home).ok


def test_a_child_is_resumed_by_itself(ledger: Ledger) -> None:
    """Somebody else may finish the child; the parent takes the result that it came to."""

    def child(run: Run) -> object:
        run.pause("wait")
        return run.effect("data", 7, noted)

    def program(run: Run) -> object:
        return run.call(child)

    done = ledger.execute(program)
    (run,) = below(ledger, done.run_id)
    ANSWERS.clear()
    assert ledger.resume(run, child).result == 7
    assert ledger.resume(done.run_id, program).result == 7
    assert ANSWERS == [7]
    assert last_event(ledger, "child.completed").raw["about"] == {
        "run": run,
        "leaf": list(ledger.events(run=run))[-1].hash,
    }


def test_a_dry_run_ends_at_a_call(ledger: Ledger) -> None:
    """Nobody knows what a child would come to, so a dry run says where it ends."""
    with suppress(RefusedError):
        _ = ledger.execute(outer, mode="dry").result
    assert not list(ledger.events(type="run.started"))


def test_a_child_is_listed_with_its_parent(ledger: Ledger) -> None:
    """What is known of a run says which run called it."""
    done = ledger.execute(deep, params={"levels": 1})
    (run,) = below(ledger, done.run_id)
    told = facts_of(ledger, run).parent
    assert told is not None
    assert told["run"] == done.run_id
    assert facts_of(ledger, done.run_id).parent is None
