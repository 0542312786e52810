"""What is somebody else's to state or to perform is refused in each mode as it is live.

Rules: a program asks for something that is not its own, catches the refusal or fails by it,
and goes on. Nothing is written of it, so a replay, a resume and a fork have only the program
to go by: they refuse it again, and call it no difference. What equals it in the record was
the owner's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from muniment import EventType, PlainData, replay
from muniment.errors import MunimentError
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment.runs.run import Run, current_run
from steps import last_run


class Concluded(PlainData):
    """What an engine concludes."""

    verdict: str


class Fact(dict[str, object]):
    """The engine's own data."""


SAID = {"verdict": "good"}
WAIT = {"seconds": 0}


class Deed:
    """A request of a kind that performs itself."""

    def request(self) -> object:
        """Return it as it is recorded."""
        return WAIT

    def perform(self, call: object, *, awaits: bool) -> object:
        """Do nothing."""
        assert call is not None
        assert not awaits
        return "the owner's"


def state(run: Run) -> object:
    """State what the engine states."""
    return run.record("acme.concluded", SAID)


def state_below(run: Run) -> object:
    """State it in a scope."""
    return run.scope("a").record("acme.concluded", SAID)


def wait(run: Run) -> object:
    """Perform a timer."""
    return run.effect("timer", WAIT, lambda _: "mine")


def wait_async(run: Run) -> object:
    """Perform a timer that is awaited."""
    return asyncio.run(_awaited(run))


async def _awaited(run: Run) -> object:
    return await run.aeffect("timer", WAIT, lambda _: "mine")


def do(run: Run) -> object:
    """Perform an effect of a kind of a plugin that performs itself."""
    return run.effect("acme.deed", WAIT, lambda _: "mine")


def open_(run: Run) -> object:
    """Open a timer as a stream."""
    return run.open("timer", WAIT)


def call(run: Run) -> object:
    """Make a call up."""
    return run.effect("child", {"program": "x", "params": {}, "name": "x"}, lambda _: 7)


def inside(run: Run) -> object:
    """State it while an effect is performed; its failure says why."""
    return run.effect("tool", 0, lambda _: state(current_run()))


ACTS = (state, state_below, wait, wait_async, do, open_, call, inside)


@dataclass
class Refused:
    """Asks for what is not its own, before and after an effect, and goes on.

    Then the owner states and performs the same.
    """

    act: Callable[[Run], object]
    catches: bool
    cuts: bool = False
    __name__ = "refused"

    def __call__(self, run: Run) -> list[object]:
        """Return the rules of the refusals, and what else came of it."""
        first = self._try(run)
        deed = run.effect("data", 1, self._cut)
        last = self._try(run)
        with run.scope("a") as lane:
            lane.record("note.added", {"text": "between"})
            lane.record("acme.concluded", Fact(SAID))
        run.record("note.added", {"text": "between"})
        run.record("acme.concluded", Fact(SAID))
        run.sleep(0)
        return [first, deed, last, run.effect("acme.deed", Deed(), _nobody)]

    def _try(self, run: Run) -> object:
        if not self.catches:
            return self.act(run)
        try:
            self.act(run)
        except MunimentError as error:
            return getattr(error, "rule", None)
        return "taken"

    def _cut(self, request: object) -> object:
        if self.cuts:
            self.cuts = False
            raise KeyboardInterrupt
        return request


def _nobody(_: object) -> object:
    raise AssertionError("the kind performs it")


@pytest.fixture
def acme(ledger: Ledger) -> Ledger:
    """Give a ledger with a type and a kind that have an owner."""
    ledger.register(EventType("acme.concluded", Concluded, own=f"{__name__}:Fact"))
    ledger.register(
        EffectKind(
            "acme.deed", own=f"{__name__}:Deed", on_doubt="repeat", dry=lambda _: "dry"
        )
    )
    return ledger


def said(done: Done) -> tuple[object, object]:
    """Return what came of a run: the rules that it ran into, or its failure."""
    if done.error is not None:
        return type(done.error).__name__, str(done.error)
    result: Any = done.value
    return result[0], result[2]


def resumed(ledger: Ledger, act: Callable[[Run], object], catches: bool) -> Done:
    """Execute it, cut it off in its effect, and resume it."""
    with suppress(KeyboardInterrupt):
        return ledger.execute(Refused(act, catches, cuts=True))
    return ledger.resume(last_run(ledger), Refused(act, catches))


def forked(
    ledger: Ledger, act: Callable[[Run], object], catches: bool, *, cut: bool
) -> Done:
    """Fork it behind its effect, or at its start if it fails by then; or a fork that is cut."""
    origin = ledger.execute(Refused(act, catches))
    events = [*ledger.events(run=origin.run_id)]
    asked = [one.seq for one in events if one.type == "data.requested"]
    at = next(iter(asked), events[0].seq)
    if not (cut and asked):
        return ledger.fork(
            origin.run_id,
            at=events[-2].seq if asked else at,
            program=Refused(act, catches),
        )
    with suppress(KeyboardInterrupt):
        ledger.fork(origin.run_id, at=at, program=Refused(act, catches, cuts=True))
    return ledger.resume(last_run(ledger), Refused(act, catches))


MODES: dict[str, Callable[[Ledger, Callable[[Run], object], bool], Done]] = {
    "resume": resumed,
    "fork": lambda *given: forked(*given, cut=False),
    "resumed fork": lambda *given: forked(*given, cut=True),
}


@pytest.mark.parametrize("catches", [True, False])
@pytest.mark.parametrize("act", ACTS, ids=lambda one: one.__name__)
def test_each_mode_refuses_it_as_live(
    acme: Ledger, act: Callable[[Run], object], catches: bool
) -> None:
    """The program is told the same; each run is replayed, and holds only what is the owner's."""
    live = acme.execute(Refused(act, catches))
    refused = said(live)
    if catches:
        rules = {"event/own", "effect/own", "effect/child", "effect/tool", None}
        assert {*refused} <= rules
    else:
        assert live.status in ("failed", "refused")
    dry = acme.execute(Refused(act, catches), mode="dry")
    if not catches and act is not inside:
        assert said(dry) == refused
    runs = [live.run_id]
    for way in MODES.values():
        done = way(acme, act, catches)
        assert said(done) == refused
        runs.append(done.run_id)
    for run in runs:
        for mode in ("strict", "bounded"):
            report = replay(acme, run, Refused(act, catches), mode=mode)
            assert (report.verdict, report.findings) == ("acceptable", ())
        stated = [
            *acme.events(
                run=run,
                type="acme.concluded,timer.requested,acme.deed.requested,child.requested",
            )
        ]
        assert len(stated) == (4 if catches else 0)
