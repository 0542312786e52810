"""Programs with many effects, and an outside world that counts what was done to it.

A world can end its process with SIGKILL before or after it does a thing, or at the n-th
commit of a store; what it did stays in a file of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from children import die
from muniment.ledger import Ledger
from muniment.runs.run import Run, current_run

__all__ = ["JOURNEYS", "SEED", "World", "doubtful", "drawing"]

SEED = "5eed"
WIDTH = 8
KINDS = ("llm", "tool", "data", "human")


@dataclass(slots=True)
class World:
    """What effects act upon; *fatal* says before or after which deed it all ends."""

    log: Path
    fatal: tuple[str, int] | None = None
    swapped: bool = False
    """Whether the first of several parallel deeds takes longest, or the last."""
    deeds: int = 0
    keys: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def do(self, request: object) -> object:
        """Do what is asked, once more in the file, and answer."""
        deed, self.deeds = self.deeds, self.deeds + 1
        name = _name(request)
        if self.fatal == ("before", deed):
            die()
        with self.log.open("ab", buffering=0) as file:
            file.write(f"{name} {current_run().idempotency_key}\n".encode())
        if self.fatal == ("after", deed):
            die()
        return {"answer": name, "weights": (1.0, name), "raw": name.encode()}

    def slowly(self, request: object) -> object:
        """Do it with a latency."""
        time.sleep(self._latency(request))
        return self.do(request)

    async def gently(self, request: object) -> object:
        """Do it with a latency that others can use."""
        await asyncio.sleep(self._latency(request))
        return self.do(request)

    def nested(self, request: object) -> object:
        """Do it by way of a fact and an effect of the performer's own."""
        lane = current_run()
        lane.record("note.added", {"text": f"attempting at {time.monotonic()}"})
        inner = lane.effect("data", {"name": f"{_name(request)}/inner"}, self.do)
        return {"inner": inner, "own": self.do(request)}

    def _latency(self, request: object) -> float:
        number = int(_name(request).rpartition("-")[2])
        return 0.001 * (WIDTH - number if self.swapped else number)

    def counted(self) -> Counter[str]:
        """Return how often each deed was done, by name and idempotency key."""
        if not self.log.exists():
            return Counter()
        return Counter(self.log.read_text().splitlines())

    def die_at_commit(self, ledger: Ledger, number: int, label: str) -> None:
        """End the process at the step *label* of the *number*-th append from here."""
        left = number

        def step(reached: str) -> None:
            nonlocal left
            if reached == label:
                left -= 1
                if left < 0:
                    die()

        ledger.store.step = step


def drawing(run: Run) -> object:
    """Draw numbers: a program with an import path."""
    return [run.random(), run.uuid()]


def _name(request: object) -> str:
    assert isinstance(request, dict)
    return str(request["name"])


def doubtful(ledger: Ledger, run: str) -> dict[str, str]:
    """Return the effects without an outcome: the name asked for, and the kind."""
    waiting: dict[tuple[str | None, int | None], tuple[str, str]] = {}
    for event in ledger.events(run=run):
        stem, _, verb = event.type.rpartition(".")
        place = event.scope, event.ordinal
        if verb == "requested":
            waiting[place] = _name(ledger.resolve(event)["request"]), stem
        elif verb in {"completed", "failed"} and stem != "run":
            waiting.pop(place, None)
    return dict(waiting.values())


def _claim(lane: Run, name: str) -> None:
    lane.record("claim.stated", {"id": name, "text": name, "acceptance": {"min": 1.0}})


def _kind(number: int) -> str:
    return KINDS[number % len(KINDS)]


def _alone(world: World) -> Callable[[Run], object]:
    """Twenty-odd effects one after the other, with facts and draws between them."""

    def alone(run: Run) -> object:
        seen: list[object] = []
        for number in range(20):
            if number % 3 == 0:
                _claim(run, f"c{number}")
                run.now()
            asked = {"name": f"step-{number}", "salt": run.random()}
            seen.append(run.effect(_kind(number), asked, world.do))
        with run.scope("inner/most") as lane:
            seen.append(lane.effect("llm", {"name": "outer"}, world.nested))
            _claim(lane, "end")
        return [seen, run.random(), run.uuid()]

    return alone


def _threads(world: World, *, scoped: bool) -> Callable[[Run], object]:
    """Three waves of parallel effects in threads that get their lanes handed over."""

    def threads(run: Run) -> object:
        def work(name: str, number: int) -> object:
            lane = run.scope(f"map/{number}") if scoped else run
            with lane:
                _claim(current_run(), name)
                first = lane.effect(_kind(number), {"name": name}, world.slowly)
                return [first, lane.random() if scoped else None]

        with ThreadPoolExecutor(WIDTH) as pool:
            waves: list[object] = []
            for wave in range(3):
                names = [f"w{wave}-{number}" for number in range(WIDTH)]
                waves.append(list(pool.map(work, names, range(WIDTH))))
        return waves

    return threads


def _tasks(world: World, *, scoped: bool) -> Callable[[Run], Awaitable[object]]:
    """Three waves of parallel effects in tasks."""

    async def tasks(run: Run) -> object:
        async def work(name: str, number: int) -> object:
            lane = run.scope(f"map/{number}") if scoped else run
            async with lane:
                _claim(current_run(), name)
                return await lane.aeffect(_kind(number), {"name": name}, world.gently)

        return [
            await asyncio.gather(*(work(f"w{w}-{n}", n) for n in range(WIDTH)))
            for w in range(3)
        ]

    return tasks


JOURNEYS: dict[str, Callable[[World], Callable[..., Any]]] = {
    "alone": _alone,
    "threads": lambda world: _threads(world, scoped=False),
    "threads in scopes": lambda world: _threads(world, scoped=True),
    "tasks": lambda world: _tasks(world, scoped=False),
    "tasks in scopes": lambda world: _tasks(world, scoped=True),
}
"""Name → what makes the program that acts upon a world."""
