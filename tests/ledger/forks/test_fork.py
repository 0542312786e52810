"""A fork is answered another run's record up to an event, and goes its own way then."""

from __future__ import annotations

import asyncio

import pytest

from forking_programs import World, effects_after, ends_of, outcome, travel, two_lanes
from muniment.errors import (
    EffectFailed,
    ReplayDiverged,
    UsageError,
)
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify
from steps import echo, facts_of, types_of, waited


def test_a_fork_at_each_event(ledger: Ledger) -> None:
    """Wherever it begins, what ended before is answered, the rest alone is performed."""
    world = World()
    done = travel(ledger, world)
    origin = [event.seq for event in ledger.events(run=done.run_id)]
    assert len(origin) > 20
    for at in origin:
        world.asked.clear()
        fork = ledger.fork(done.run_id, at=at, program=world.plan)
        if fork.is_paused:
            assert at < outcome(ledger, done.run_id, "pause.stated").seq
            fork = ledger.resume(fork.run_id, world.plan)
        left = effects_after(ledger, done.run_id, at)
        assert ends_of(ledger, fork.run_id).get("performer", 0) == left
        assert len(world.asked) <= left  # a timer and a child ask the world nothing
        if at >= outcome(ledger, done.run_id, "clock.read").seq:
            assert (fork.result, fork.result_digest) == (
                done.result,
                done.result_digest,
            )
        assert replay(ledger, fork.run_id, world.plan).verdict == "acceptable"
    report = verify(ledger.path, home=ledger.home)
    assert report.ok, str(report)
    (count,) = (one for one in report.counts if one.what == "answers of forks")
    assert count.compared == count.total > len(origin) * 3


def test_a_fork_says_what_it_is(ledger: Ledger) -> None:
    """Its start names the run, the event and its leaf, and an index finds it by that."""
    world = World()
    done = travel(ledger, world)
    at = outcome(ledger, done.run_id, "tool.failed")
    fork = ledger.fork(done.run_id[:20], at=at.seq, program=world.plan)
    (started,) = ledger.events(subject=f"sha256:{at.hash}", type="run.started")
    assert started.run == fork.run_id
    assert started.raw["fork"] == {
        "run": done.run_id,
        "at": at.seq,
        "leaf": at.hash,
        "changes": [],
    }
    answered = outcome(ledger, fork.run_id, "llm.completed")
    known = outcome(ledger, done.run_id, "llm.completed")
    named = {"run": done.run_id, "seq": known.seq, "leaf": known.hash}
    assert answered.raw["answered_by"] == {"who": "record", **named}
    assert answered.raw["value"] != known.raw["value"]  # no blob is shared by two runs
    assert facts_of(ledger, fork.run_id).name == facts_of(ledger, done.run_id).name


def test_a_changed_answer(ledger: Ledger) -> None:
    """The program gets the other value; its scope goes live where it asks another way."""
    world = World()
    done = travel(ledger, world)
    end = list(ledger.events(run=done.run_id))[-1].seq
    first = outcome(ledger, done.run_id, "llm.completed")
    world.asked.clear()
    fork = ledger.fork(
        done.run_id, at=end, changes={first.seq: "Rome"}, program=world.plan
    )
    assert fork.is_paused  # anew, since it went another way before
    fork = ledger.resume(fork.run_id, world.plan)
    assert isinstance(fork.result, list)
    assert fork.result[0] == "Rome"
    assert [next(iter(one)) for one in world.asked if isinstance(one, dict)] == [
        *("book", "room", "drink", "rate")
    ]
    answered = outcome(ledger, fork.run_id, "llm.completed")
    by = answered.raw["answered_by"]
    assert isinstance(by, dict)
    assert (by["who"], by["leaf"]) == ("change", first.hash)
    assert replay(ledger, fork.run_id, world.plan).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


def test_what_does_not_depend_on_the_change_is_answered(ledger: Ledger) -> None:
    """In a changed scope, a request that is as recorded before the first other one is."""
    world = World()
    done = travel(ledger, world)
    end = list(ledger.events(run=done.run_id))[-1].seq
    room = outcome(ledger, done.run_id, "tool.completed", "hotel")
    world.asked.clear()
    fork = ledger.fork(done.run_id, at=end, changes={room.seq: 9}, program=world.plan)
    assert fork.ok, fork
    assert world.asked == []
    assert ends_of(ledger, fork.run_id) == {"record": 6, "change": 1}
    again = ledger.fork(
        fork.run_id,
        at=list(ledger.events(run=fork.run_id))[-1].seq,
        program=world.plan,
    )
    assert (again.result, world.asked) == (fork.result, [])
    assert ends_of(ledger, again.run_id) == {"record": 7}
    assert replay(ledger, again.run_id, world.plan).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


def test_what_if_it_had_not_failed(ledger: Ledger) -> None:
    """A failure may be changed into a value."""

    def program(run: Run) -> object:
        return run.effect("tool", "pay", World().fail)

    done = ledger.execute(program)
    failed = outcome(ledger, done.run_id, "tool.failed")
    same = ledger.fork(done.run_id, at=failed.seq, program=program)
    assert isinstance(same.error, EffectFailed)
    assert (same.error.error_type, same.error.message) == ("OSError", "pay is down")
    fork = ledger.fork(
        done.run_id, at=failed.seq, changes={failed.seq: "paid"}, program=program
    )
    assert fork.result == "paid"
    assert verify(ledger.path, home=ledger.home).ok


@pytest.mark.parametrize("scope", ["a", "b", "a/below"])
def test_another_request_before_the_event(ledger: Ledger, scope: str) -> None:
    """It is exit 1 and performs nothing, but where an outcome of its scope was changed."""
    done = ledger.execute(two_lanes)
    asked: list[object] = []

    def other(run: Run) -> list[object]:
        return [
            run.scope(name).effect(
                "tool",
                [name, step, *([1] if name == scope and step else [])],
                asked.append,
            )
            for name in ("a", "b", "a/below")
            for step in range(2)
        ]

    at = list(ledger.events(run=done.run_id))[-1].seq
    fork = ledger.fork(done.run_id, at=at, program=other)
    assert fork.status == "diverged"
    assert isinstance(fork.error, ReplayDiverged)
    assert (fork.error.exit_code, asked) == (1, [])
    changed = outcome(ledger, done.run_id, "tool.completed", "a")
    fork = ledger.fork(
        done.run_id, at=at, changes={changed.seq: "other"}, program=other
    )
    assert fork.ok == (scope != "b")
    other_ways = {
        "a": [["a", 1, 1], ["a/below", 0], ["a/below", 1]],  # what is below goes along
        "b": [],
        "a/below": [["a/below", 1, 1]],
    }
    assert asked == other_ways[scope]
    assert verify(ledger.path, home=ledger.home).ok


def test_a_program_that_asks_for_less(ledger: Ledger) -> None:
    """Who comes to the end before the event is told what is missing."""
    done = ledger.execute(two_lanes)
    at = list(ledger.events(run=done.run_id))[-1].seq
    fork = ledger.fork(done.run_id, at=at, program=lambda _: None)
    assert isinstance(fork.error, ReplayDiverged)
    assert fork.error.rule == "replay/missing"


def test_another_fact_before_the_event(ledger: Ledger) -> None:
    """What the program states before the event is as recorded, or the fork ends."""

    def program(run: Run, text: str = "one") -> object:
        run.record("note.added", {"text": text})
        return run.effect("tool", 1, echo)

    done = ledger.execute(program)
    at = list(ledger.events(run=done.run_id))[-1].seq
    fork = ledger.fork(done.run_id, at=at, program=lambda run: program(run, "two"))
    assert isinstance(fork.error, ReplayDiverged)
    assert fork.error.rule == "replay/fact"


def test_a_fork_of_a_run_that_has_no_end(ledger: Ledger) -> None:
    """A paused run can be forked, and is not touched by it."""
    world = World()
    paused = ledger.execute(world.plan)
    stated = outcome(ledger, paused.run_id, "pause.stated")
    before = types_of(ledger, paused.run_id)
    fork = ledger.fork(paused.run_id, at=stated.seq, program=world.plan)
    assert fork.ok
    assert types_of(ledger, paused.run_id) == before
    assert facts_of(ledger, paused.run_id).status == "paused"


def test_an_async_fork(ledger: Ledger) -> None:
    """Tasks in their own scopes are answered, and go live; nobody else awaits them."""
    asked: list[object] = []

    async def program(run: Run) -> list[object]:
        async def one(number: int) -> object:
            lane = run.scope(f"lane/{number}")

            async def slowly(request: object) -> object:
                asked.append(request)
                await asyncio.sleep(0.002 * number)
                return request

            first = await lane.aeffect("tool", number, slowly)
            return await lane.aeffect("tool", [first], slowly)

        return list(await asyncio.gather(*map(one, range(4))))

    done = asyncio.run(ledger.aexecute(program))
    for event in list(ledger.events(run=done.run_id)):
        asked.clear()
        fork = asyncio.run(ledger.afork(done.run_id, at=event.seq, program=program))
        assert fork.result_digest == done.result_digest
        assert len(asked) == effects_after(ledger, done.run_id, event.seq)
    assert refused_async(ledger, done.run_id, program).rule == "run/async"
    assert verify(ledger.path, home=ledger.home).ok


def refused_async(ledger: Ledger, run: str, program: object) -> UsageError:
    """Return why a sync fork of an async program does not begin."""
    before = ledger.head.size
    at = list(ledger.events(run=run))[-1].seq
    with pytest.raises(UsageError) as error:
        ledger.fork(run, at=at, program=program)  # type: ignore[arg-type] # that is it
    assert ledger.head.size == before
    return error.value


def test_a_timer_is_not_waited_for_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time that passed in the origin has passed."""

    def program(run: Run) -> None:
        run.sleep(0.001)

    done = ledger.execute(program)
    at = list(ledger.events(run=done.run_id))[-1].seq
    asked = waited(monkeypatch)
    assert ledger.fork(done.run_id, at=at, program=program).ok
    assert asked == []
