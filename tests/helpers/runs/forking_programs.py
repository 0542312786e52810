"""A program that does everything a fork is answered, and what tests ask of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from muniment.errors import EffectFailed
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment.runs.run import Run
from steps import echo

__all__ = ["World", "effects_after", "ends_of", "outcome", "travel", "two_lanes"]


def _child(run: Run, number: int) -> object:
    """Answer with a number."""
    return run.effect("data", ["child", number], lambda request: request)


@dataclass
class World:
    """What is outside: it answers, and remembers what it was asked for."""

    asked: list[object] = field(default_factory=list[object])

    def answer(self, request: object) -> object:
        """Answer with the request, in a list."""
        self.asked.append(request)
        return [request]

    def fail(self, request: object) -> object:
        """Fail at what is asked."""
        self.asked.append(request)
        raise OSError(f"{request} is down")

    def plan(self, run: Run) -> list[object]:
        """Travel: state, draw, wait, ask, fail, call and pause, in two scopes."""
        run.record("note.added", {"text": "packing"})
        start = run.now()
        place = run.effect("llm", {"where": str(run.uuid())}, self.answer)
        with suppress(EffectFailed):
            run.effect("tool", {"book": place}, self.fail)
        run.pause("until the ticket is there")
        with run.scope("hotel") as lane:
            room = lane.effect("tool", {"room": place}, self.answer)
            lane.record("note.added", {"text": f"room {room!r:.20}"})
            with lane.scope("bar") as bar:
                drink = bar.effect("tool", {"drink": lane.random()}, self.answer)
        run.sleep(0.001)
        run.record("note.added", {"text": "sleeping"})
        told = run.call(_child, {"number": 7})
        end = run.effect("human", {"rate": [place, str(start)]}, self.answer)
        return [place, str(start), room, drink, told, end, run.random()]


def travel(ledger: Ledger, world: World) -> Done:
    """Run the plan to its end, past its pause."""
    done = ledger.execute(world.plan, seed="5eed")
    assert done.status == "paused"
    return ledger.resume(done.run_id, world.plan)


def outcome(ledger: Ledger, run: str, kind: str, scope: str = "") -> Event:
    """Return the first event of type *kind* in *scope* of *run*."""
    found = ledger.events(run=run, type=kind)
    return next(event for event in found if event.scope == scope)


def ends_of(ledger: Ledger, run: str) -> dict[str, int]:
    """Return how often each origin of answers is named in the outcomes of *run*."""
    found: dict[str, int] = {}
    for event in ledger.events(run=run):
        by = event.raw.get("answered_by")
        if isinstance(by, dict) and event.type != "clock.read":
            who = str(by["who"])
            found[who] = found.get(who, 0) + 1
    return found


def effects_after(ledger: Ledger, run: str, seq: int) -> int:
    """Return how many effects of *run* ended after the event *seq*."""
    return sum(
        event.seq > seq
        for event in ledger.events(run=run)
        if "answered_by" in event.raw and event.type != "clock.read"
    )


def two_lanes(run: Run) -> list[object]:
    """Ask in two scopes."""
    return [
        run.scope(name).effect("tool", [name, step], echo)
        for name in ("a", "b", "a/below")
        for step in range(2)
    ]
