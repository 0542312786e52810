"""A program that ends while its tasks still wait for effects is replayed to the same end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from muniment import replay
from muniment.errors import CannotTellError, MunimentError
from muniment.ledger import Ledger
from muniment.replays.judge import Mode
from muniment.runs import effect_call
from muniment.runs.run import Run

Program = Callable[[Run], Coroutine[Any, Any, object]]


async def _never(_: object) -> object:
    await asyncio.sleep(3600)
    return "late"


async def _loop(run: Run) -> object:
    """Ask, and state how that went whatever stops it, as a loop of an agent does."""
    try:
        return await run.aeffect("data", "never", _never)
    except asyncio.CancelledError:
        run.record("note.added", {"text": "cancelled"}, held=True)
        raise


async def _fails() -> object:
    raise ValueError("bad")


async def gathers(run: Run) -> object:
    """Go on without the loop when another task fails."""
    with suppress(ValueError):
        await asyncio.gather(_loop(run), _fails())
        return "waited"
    return await run.aeffect("data", 1, lambda _: "caught")


async def forgets(run: Run) -> object:
    """Return while a task still asks, and fail in another way to notice."""
    task = asyncio.create_task(_loop(run))
    await asyncio.sleep(0)
    return [task.done(), await run.aeffect("data", 1, lambda _: 1)]


async def raises(run: Run) -> object:
    """Fail while a task still asks."""
    task = asyncio.create_task(_loop(run))
    await asyncio.sleep(0)
    raise ValueError(f"done: {task.done()}")


async def waits(run: Run) -> object:
    """Wait for the loop, as the recorded program did not."""
    return [await _loop(run), "more"]


@pytest.mark.parametrize("mode", ["strict", "bounded", "observational"])
@pytest.mark.parametrize("program", [gathers, forgets, raises])
def test_what_was_left_behind(ledger: Ledger, program: Program, mode: Mode) -> None:
    """It was asked for and came to nothing: so it does again, and nothing differs."""
    done = asyncio.run(ledger.aexecute(program))
    assert done.status in ("completed", "failed")
    (asked, *_) = ledger.events(run=done.run_id, type="data.requested")
    outcomes = ledger.events(run=done.run_id, type="data.completed,data.failed")
    assert asked.ordinal not in {one.ordinal for one in outcomes}
    report = replay(ledger, done.run_id, program, mode=mode)
    assert (report.verdict, report.findings) == ("acceptable", ())
    if done.status == "completed":
        assert report.result_digest == done.result_digest


def test_a_program_that_waits_for_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell what it would have been told; nothing waits for ever."""
    monkeypatch.setattr(effect_call, "GRACE", 0.05)
    done = asyncio.run(ledger.aexecute(gathers))
    with pytest.raises(CannotTellError, match="ends before this effect's outcome"):
        replay(ledger, done.run_id, waits)
    with pytest.raises(MunimentError, match="ends before this effect's outcome"):
        replay(ledger, done.run_id, lambda run: run.effect("data", "never", _never))
