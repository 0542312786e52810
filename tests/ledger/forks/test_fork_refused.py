"""A fork that cannot be answered is refused, before anything is written or called."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from broken_forks import ForkedWorld, forked
from forge import RUN, Forge, keyid
from forking_programs import outcome, two_lanes
from muniment.errors import (
    CannotTellError,
    ErasedError,
    MunimentError,
    RefusedError,
    UsageError,
    WrongError,
)
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify
from steps import echo


def refused(ledger: Ledger, run: str, **how: object) -> MunimentError:
    """Return why no fork begins, of which nothing was written."""
    before = ledger.head.size

    def program(_: Run) -> None:
        pytest.fail("the program was called")

    with pytest.raises(MunimentError) as error:
        ledger.fork(run, program=program, **how)  # type: ignore[arg-type] # of each kind
    assert ledger.head.size == before
    return error.value


def test_an_event_that_the_run_has_not(ledger: Ledger) -> None:
    """It is refused, with the events that are possible."""
    ledger.append("note.added", {"text": "before"})
    done = ledger.execute(two_lanes)
    other = ledger.execute(two_lanes)
    events = [event.seq for event in ledger.events(run=done.run_id)]
    for at in (0, 1, events[-1] + 1, 10_000, -1):
        error = refused(ledger, done.run_id, at=at)
        assert isinstance(error, UsageError)
        assert error.rule == "fork/at"
        assert f"from {events[0]} to {events[-1]}" in error.message
    assert refused(ledger, other.run_id, at=events[-1]).rule == "fork/at"


def test_an_outcome_that_cannot_be_changed(ledger: Ledger) -> None:
    """A change names the last outcome of an effect of the program, up to the event."""

    def program(run: Run) -> object:
        def perform(_: object) -> object:
            return run.effect("data", "inside", echo)

        run.record("note.added", {"text": "a fact"})
        run.effect("tool", 1, perform)
        return run.effect("tool", 2, echo)

    done = ledger.execute(program)
    events = list(ledger.events(run=done.run_id))
    last = events[-1].seq
    possible = {e.seq for e in events if e.type == "tool.completed"}
    for seq in {*range(last + 3)} - possible:
        assert refused(ledger, done.run_id, at=last, changes={seq: 1}).rule == (
            "fork/change"
        )
    late = max(possible)
    assert refused(ledger, done.run_id, at=late - 1, changes={late: 1}).rule == (
        "fork/change"
    )


def test_a_value_that_the_kind_does_not_allow(ledger: Ledger) -> None:
    """A change is held against the kind's model before anything is written."""
    ledger.register(EffectKind("sensor", response_model=int))
    done = ledger.execute(lambda run: run.effect("sensor", "read", lambda _: 7))
    at = outcome(ledger, done.run_id, "sensor.completed").seq
    error = refused(ledger, done.run_id, at=at, changes={at: "warm"})
    assert (type(error), error.rule) == (RefusedError, "effect/response")


def test_an_answer_with_a_secret(ledger: Ledger) -> None:
    """Nobody can give it to a live program; before it, a fork is possible."""
    answer = {"text": "…", "secrets": ["TOKEN"]}

    def program(run: Run) -> object:
        run.effect("tool", 1, echo)
        return run.effect("llm", "q", lambda _: answer)

    done = ledger.execute(program)
    at = outcome(ledger, done.run_id, "llm.completed").seq
    assert refused(ledger, done.run_id, at=at).rule == "fork/secret"
    assert ledger.fork(done.run_id, at=at - 1, program=program).ok
    assert ledger.fork(done.run_id, at=at, changes={at: 1}, program=program).ok


def test_an_answer_that_nobody_waited_for(ledger: Ledger) -> None:
    """What a program did without an answer is not known: such a fork cannot begin."""

    async def program(run: Run) -> object:
        try:
            async with asyncio.timeout(0.01):
                await run.aeffect("tool", "slow", lambda _: asyncio.sleep(20))
        except TimeoutError:
            return await run.aeffect("tool", "fast", echo)
        return None

    done = asyncio.run(ledger.aexecute(program))
    assert done.ok
    at = outcome(ledger, done.run_id, "tool.completed").seq
    error = refused(ledger, done.run_id, at=at)
    assert (type(error), error.rule) == (CannotTellError, "fork/cancelled")


def test_what_is_erased(ledger: Ledger) -> None:
    """A fork that needs an erased answer cannot tell, and writes nothing."""
    done = ledger.execute(two_lanes)
    last = [e for e in ledger.events(run=done.run_id) if e.type == "tool.completed"][-1]
    ledger.erase(str(last.raw["value"]["$blob"]), reason="asked to")  # type: ignore[index, call-overload]
    error = refused(ledger, done.run_id, at=last.seq)
    assert error.exit_code == 3
    assert ledger.fork(done.run_id, at=last.seq - 2, program=two_lanes).ok


def test_erased_later(ledger: Ledger) -> None:
    """What a fork was answered with may be erased; the ledger still verifies."""
    done = ledger.execute(two_lanes)
    last = [e for e in ledger.events(run=done.run_id) if e.type == "tool.completed"][-1]
    fork = ledger.fork(done.run_id, at=last.seq, program=two_lanes)
    ledger.erase(done.run_id, reason="asked to")
    assert replay(ledger, fork.run_id, two_lanes).verdict == "acceptable"
    report = verify(ledger.path, home=ledger.home)
    assert report.ok, str(report)
    assert "erased)" in next(
        str(one) for one in report.counts if one.what == "answers of forks"
    )


def test_a_resume_needs_the_origin(ledger: Ledger) -> None:
    """Once the origin is erased, a fork that waits is not resumed; nothing is written."""

    def program(run: Run) -> object:
        told = run.effect("tool", 1, echo)
        run.pause("until Monday")
        return told

    done = ledger.execute(program)
    at = outcome(ledger, done.run_id, "tool.completed").seq
    paused = ledger.fork(done.run_id, at=at, program=program)
    assert paused.is_paused
    ledger.erase(done.run_id, reason="asked to")
    size = ledger.head.size
    with pytest.raises(ErasedError):
        ledger.resume(paused.run_id, program)
    assert ledger.head.size == size


def test_a_stranger_names_no_program(tmp_path: Path, ledger: Ledger) -> None:
    """A fork goes live: without a pinned root, it is not begun by a recorded name."""
    done = ledger.execute(two_lanes)
    at = ledger.head.size - 1
    ledger.close()
    other = tmp_path / "stranger"
    with Ledger.open(ledger.path, home=other, plugins=()) as strange:
        with pytest.raises(RefusedError) as error:
            strange.fork(done.run_id, at=at)
        assert error.value.rule == "ledger/unpinned"
        assert error.value.message.startswith("a fork goes live")


def test_a_record_that_is_wrong(ledger: Ledger) -> None:
    """A fork is not begun from a record that does not verify."""
    done = ledger.execute(two_lanes)
    at = list(ledger.events(run=done.run_id))[-1].seq
    with closing(sqlite3.connect(ledger.path)) as file, file:
        file.execute("DROP TRIGGER event_no_update")
        file.execute("UPDATE event SET hash = zeroblob(32) WHERE seq = ?", (at - 1,))
    error = refused(ledger, done.run_id, at=at)
    assert isinstance(error, WrongError)


def test_the_forged_world_is_sound(tmp_path: Path) -> None:
    """What the breaches of forks are made of verifies, all of it compared."""
    forge = Forge("one").open()
    forked()(forge)
    report = verify(forge.write(tmp_path / "l.db"), keys=[keyid(forge.key("root"))])
    assert report.ok, str(report)
    assert "answers of forks 5 of 5" in str(report)


def test_a_fork_of_a_run_that_is_nowhere(tmp_path: Path) -> None:
    """An origin of which the ledger has no event is made up: ledgers lose none."""
    forge = Forge("one").open()
    forge.append(
        "run.started",
        {
            "name": "x",
            "seed": "0",
            "fork": {"run": "ELSEWHERE", "at": 0, "leaf": "ab" * 32, "changes": []},
        },
        run=RUN,
        subject=[{"digest": {"sha256": "ab" * 32}, "name": "fork"}],
    )
    report = verify(forge.write(tmp_path / "l.db"), keys=[keyid(forge.key("root"))])
    assert (report.exit_code, report.integrity) == (1, "wrong")
    assert [one.rule for one in report.findings] == ["fork/origin"]


FREE = {("name",)}
"""What the start of a fork may say, whatever its origin said."""


def members(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each member of *value* that is no container."""
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in named:
            yield from members(one, *path, name)
    else:
        yield path


def told_by_forks() -> list[tuple[str, tuple[Any, ...]]]:
    """Return each event of the forged fork with each member that it has."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    world = ForkedWorld(Forge("one").open())

    def note(name: str, data: dict[str, Any]) -> None:
        if name.startswith("fork"):
            found.extend((name, path) for path in members(data) if path not in FREE)

    world.spoil = note
    world.origin()
    world.fork()
    return found


def test_each_member_of_a_fork_is_compared(tmp_path: Path) -> None:
    """Whatever a fork says of its origin, and signs, is wrong where it is another."""
    told = told_by_forks()
    assert len(told) > 30
    for number, (event, path) in enumerate(told):

        def spoil(
            _: ForkedWorld, data: dict[str, Any], path: tuple[Any, ...] = path
        ) -> None:
            inside: Any = data
            for step in path[:-1]:
                inside = inside[step]
            old = inside[path[-1]]
            other = (
                old + 1 if isinstance(old, int) else f"{old[:-1]}{'01'[old[-1] == '0']}"
            )
            inside[path[-1]] = other

        forge = Forge("one").open()
        forked(event, spoil)(forge)
        place = forge.write(tmp_path / f"{number}.db")
        report = verify(place, keys=[keyid(forge.key("root"))])
        assert report.exit_code == 1, f"{event}: {path}\n{report}"
