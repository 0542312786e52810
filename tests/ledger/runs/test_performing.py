"""What performers and programs do around an effect: nest, decorate, await, give up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from children import die, start
from muniment.errors import (
    EffectFailed,
    UsageError,
)
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.decorator import effect
from muniment.runs.run import Run, current_run
from muniment.verification.verify import verify
from steps import echo, last_event, shapes_of

Program = Callable[..., Any]


def test_nested_effects_stand_in_the_performers_scope(ledger: Ledger) -> None:
    """What a performer states and asks is its own subtree, consumed as one."""

    def perform(_: object) -> object:
        lane = current_run()
        lane.record("note.added", {"text": "attempt 1"})
        with lane.scope("deeper") as deeper:
            return deeper.effect("data", 1, echo)

    def program(run: Run) -> object:
        return run.effect("llm", {"model": "m"}, perform)

    done = ledger.execute(program)
    assert [shape for shape in shapes_of(ledger, done.run_id) if shape[1]] == [
        ("note.added", "@llm.1", 0),
        ("data.requested", "@llm.1/deeper", 0),
        ("data.completed", "@llm.1/deeper", 0),
    ]
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_sync_effect_is_not_given_an_awaitable(ledger: Ledger) -> None:
    """A coroutine function as performer needs aeffect, and is told so."""

    async def perform(_: object) -> object:
        return 1

    with ledger.run("r") as run, pytest.raises(EffectFailed, match="awaitable"):
        run.effect("data", None, perform)


def test_the_decorator_records_calls(ledger: Ledger) -> None:
    """Calls become effects with their arguments by name, defaults filled in."""

    @effect("tool")
    def search(query: str, *more: int, limit: float = 2.0, **rest: object) -> object:
        """Search."""
        return [query, more, limit, rest]

    @effect("tool")
    async def asearch(query: str) -> str:
        return query.upper()

    async def program(_: Run) -> object:
        return [search("q", 1, 2, z=None), await asearch("r")]

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == [["q", (1, 2), 2.0, {"z": None}], "R"]
    request = ledger.resolve(next(ledger.events(type="tool.requested")))["request"]
    assert request == {
        "name": search.__qualname__,
        "arguments": {"query": "q", "more": (1, 2), "limit": 2.0, "rest": {"z": None}},
    }
    assert search.__doc__ == "Search."
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_the_decorator_outside_of_a_run(ledger: Ledger) -> None:
    """Outside of a run nothing would record the call: it is refused."""

    @effect("tool")
    def search(query: str) -> str:
        return query

    with pytest.raises(UsageError, match="no run is active here"):
        search("q")
    assert cast("Any", search).__wrapped__("q") == "q"
    with ledger.run("r"):
        assert search("q") == "q"
    with pytest.raises(UsageError, match="no run is active here"):
        current_run()


def test_a_timeout_of_the_program_is_recorded(ledger: Ledger) -> None:
    """A program that stops waiting goes on, and its replay stops waiting too."""
    limits: list[asyncio.Timeout] = []

    async def never(_: object) -> object:
        limits[0].reschedule(0)  # time is up once it has begun, and not before
        await asyncio.sleep(600)
        return 1

    async def program(run: Run) -> object:
        try:
            async with asyncio.timeout(0.05 if limits else None) as limit:
                limits.append(limit)
                return await run.aeffect("tool", "slow", never)
        except TimeoutError:
            return await run.aeffect("tool", "fast", echo)

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == "fast"
    assert last_event(ledger, "tool.failed").data["reason"] == "cancelled"
    report = replay(ledger, done.run_id, program)
    assert report.verdict == "acceptable", report.findings
    assert report.result_digest == done.result_digest


def test_who_waits_for_what_was_cancelled_diverges(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program without its timeout does not hang in the replay."""
    limits: list[asyncio.Timeout] = []

    async def never(_: object) -> None:
        limits[0].reschedule(0)
        await asyncio.sleep(600)

    async def program(run: Run) -> object:
        try:
            async with asyncio.timeout(None) as limit:
                limits.append(limit)
                return await run.aeffect("tool", "slow", never)
        except TimeoutError:
            return None

    done = asyncio.run(ledger.aexecute(program))
    monkeypatch.setattr("muniment.runs.effect_call.GRACE", 0.0)
    report = replay(ledger, done.run_id, program)
    assert report.first_divergence is not None
    assert report.first_divergence.what == "outcome"
    assert report.first_divergence.expected == "cancelled"


def test_siblings_of_a_failure_are_in_doubt(ledger: Ledger) -> None:
    """What a task group cancels because another failed is performed again."""
    performed: list[object] = []
    broken = True

    async def perform(request: object) -> object:
        performed.append(request)
        await asyncio.sleep(600 if broken and request else 0)
        if broken and request == 0:
            raise ConnectionError("down")
        return request

    async def program(run: Run) -> object:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(run.aeffect("llm", n, perform)) for n in range(3)
            ]
        return [task.result() for task in tasks]

    done = asyncio.run(ledger.aexecute(program))
    assert done.status == "failed"
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    broken = False
    again = asyncio.run(ledger.aresume(done.run_id, program))
    assert again.result == [0, 1, 2]
    assert sorted(cast("list[int]", performed)) == [0, 0, 1, 1, 2, 2]
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_late_outcome_is_refused(ledger: Ledger) -> None:
    """A thread that outlives its run cannot write behind the run's end."""
    gate, late = threading.Event(), list[BaseException]()

    def perform(_: object) -> object:
        gate.wait()
        return 1

    def program(run: Run) -> object:
        def work() -> None:
            try:
                run.effect("tool", None, perform)
            except UsageError as error:
                late.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        while not list(ledger.events(type="tool.requested")):
            pass
        threads.append(thread)
        return None

    threads: list[threading.Thread] = []
    done = ledger.execute(program)
    gate.set()
    threads[0].join()
    assert "the run has ended" in str(late[0])
    assert [e.type for e in ledger.events(run=done.run_id)][-1] == "run.completed"
    ledger.close()
    assert verify(ledger.path).ok


def test_append_is_durable_at_return(tmp_path: Path) -> None:
    """What append returned survives the death of the process."""
    place = tmp_path / "ledger.db"

    def body(report: Callable[[str], None]) -> None:
        with Ledger.create(place, plugins=()) as ledger:
            report(str(ledger.append("note.added", {"text": "a"}).seq))
            die()

    code, said = start(body).end()
    assert (code, said) == (-9, ["1"])
    with Ledger.open(place, plugins=()) as ledger:
        assert ledger.event(1).data == {"text": "a"}
