"""A timer outlives its process: a resume waits the rest, a replay not at all."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from children import Report, die, start
from muniment.errors import UsageError
from muniment.formats.statement import timestamp, when
from muniment.ledger import Ledger
from muniment.recorded.items import Item
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.runs.run import Run
from muniment.runs.waits.timers import left
from steps import last_event, last_run, types_of, waited

LONG = 3600.0


def naps(run: Run, seconds: float) -> str:
    """Sleep, and say so."""
    run.sleep(seconds)
    return "awake"


async def naps_async(run: Run, seconds: float) -> str:
    """Sleep while other tasks go on, and say so."""
    await run.asleep(seconds)
    return "awake"


def test_a_timer_waits_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A live run waits, and its replay does not."""
    began = time.monotonic()
    done = ledger.execute(naps, params={"seconds": 0.05})
    assert time.monotonic() - began >= 0.05
    assert types_of(ledger, done.run_id)[1:3] == ["timer.requested", "timer.completed"]
    asked = waited(monkeypatch)
    assert replay(ledger, done.run_id, naps).verdict == "acceptable"
    assert asked == []
    ledger.execute(naps, params={"seconds": 0.05})
    assert asked == [0.05]


def instead(
    monkeypatch: pytest.MonkeyPatch, then: Callable[[float], Awaitable[object]]
) -> None:
    """Have tasks that would sleep for an hour wait for *then* instead."""
    genuine = asyncio.sleep

    async def sleep(seconds: float) -> None:
        await (then(seconds) if seconds > LONG / 2 else genuine(seconds))

    monkeypatch.setattr(asyncio, "sleep", sleep)


def test_tasks_sleep_beside_each_other(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers of several tasks run at the same time: none ends before all began."""
    together = asyncio.Barrier(20)

    async def program(run: Run) -> None:
        async def nap(number: int) -> None:
            with run.scope(f"lane/{number}") as lane:
                await lane.asleep(LONG)

        async with asyncio.timeout(300):
            await asyncio.gather(*map(nap, range(20)))

    instead(monkeypatch, lambda _: together.wait())
    done = asyncio.run(ledger.aexecute(program))
    assert done.ok, done.error


def test_a_dry_run_does_not_wait(ledger: Ledger) -> None:
    """A dry run knows what a timer answers."""
    assert ledger.execute(naps, params={"seconds": LONG}, mode="dry").result == "awake"


@pytest.mark.parametrize("seconds", [-1, -0.1, math.inf, math.nan, True, "1", None])
def test_what_is_no_time(ledger: Ledger, seconds: object) -> None:
    """Who asks for no time at all is told so, and nothing is asked for."""
    done = ledger.execute(naps, params={"seconds": seconds})
    assert isinstance(done.error, UsageError)
    assert done.error.rule == "timer/seconds"
    assert "timer.requested" not in types_of(ledger, done.run_id)


def asked(ledger: Ledger, ago: float) -> Item:
    """Return a timer that was asked for so many seconds *ago*."""
    ledger.execute(naps, params={"seconds": 0})
    event = last_event(ledger, "timer.requested")
    moment = datetime.now(UTC) - timedelta(seconds=ago)
    object.__setattr__(event, "time", timestamp(moment))
    return Item(event, "", 1, "", "timer")


@pytest.mark.parametrize(
    ("ago", "least", "most"),
    [(10, 80, 90), (0, 90, 100), (100, 0, 0), (1e6, 0, 0), (-1e6, 100, 100)],
)
def test_what_is_left(ledger: Ledger, ago: float, least: float, most: float) -> None:
    """The rest is never negative, and never more than was asked for."""
    assert least <= left(100, asked(ledger, ago)) <= most


def goes(ledger: Ledger, waits: bool, run: str = "") -> Done:
    """Execute the one program or the other, or resume *run*."""
    params = {"seconds": LONG}
    if waits and run:
        return asyncio.run(ledger.aresume(run, naps_async))
    if waits:
        return asyncio.run(ledger.aexecute(naps_async, params=params))
    return ledger.resume(run, naps) if run else ledger.execute(naps, params=params)


@pytest.mark.parametrize("waits", [False, True], ids=["sleep", "asleep"])
def test_a_resume_waits_the_rest(
    ledger: Ledger, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill in the middle of a timer, a resume waits what is left of it."""

    def live(report: Report) -> None:
        with Ledger.open(ledger.path, plugins=()) as opened:

            def step(reached: str) -> None:
                if reached == "remembered" and opened.head.size > 2:
                    report("asleep")
                    die()

            opened.store.step = step
            goes(opened, waits)

    assert start(live).end() == (-signal.SIGKILL, ["asleep"])
    run = last_run(ledger)
    rests = waited(monkeypatch)

    async def wait(rest: float) -> None:
        rests.append(rest)

    instead(monkeypatch, wait)
    first = when(last_event(ledger, "timer.requested").time)
    done = goes(ledger, waits, run)
    passed = (datetime.now(UTC) - first).total_seconds()
    assert done.result == "awake"
    assert LONG - passed <= rests[0] < LONG
    assert len(rests) == 1
    assert types_of(ledger, run).count("timer.requested") == 2
    if not waits:
        assert replay(ledger, run, naps).verdict == "acceptable"
