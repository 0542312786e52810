"""What is recorded as a call of a run is one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.runs.run import Run


def by_effect(run: Run) -> object:
    """Make a call up."""
    return run.effect("child", {"program": "x", "params": {}, "name": "x"}, lambda _: 7)


async def by_aeffect(run: Run) -> object:
    """Make a call up, and await it."""
    return await run.aeffect("child", None, lambda _: 7)


def by_open(run: Run) -> object:
    """Make a call up whose answer comes in parts."""
    return run.open("child", {"program": "x"})


@pytest.mark.parametrize("program", [by_effect, by_open])
def test_nobody_makes_a_call_up(
    ledger: Ledger, program: Callable[[Run], object]
) -> None:
    """An effect of the kind child that runs nothing is refused before it is written."""
    done = ledger.execute(program)
    with pytest.raises(UsageError, match=r"\[effect/child\]; use `run\.call"):
        done.raise_failure()
    assert not list(ledger.events(type="child.*"))


def test_nobody_awaits_a_made_up_call(ledger: Ledger) -> None:
    """The same is refused where it would be awaited."""
    done = asyncio.run(ledger.aexecute(by_aeffect))
    with pytest.raises(UsageError, match="effect/child"):
        done.raise_failure()
    assert not list(ledger.events(type="child.*"))
