"""Programs that a test draws: steps in scopes, one after the other or in lanes at once.

Rules:

- `Steered` does its steps in order, and can be cut before a step or within an effect. What
  it did outside is in ``done``.
- `follows` says, from the steps alone, whether a program does what a record holds: the
  same steps first, with the facts of each scope in their order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hypothesis import strategies as st

from muniment.runs.run import Run

__all__ = ["LANES", "STEPS", "Lanes", "Steered", "Step", "follows", "mutants"]

Step = tuple[str, str, str]
"""``fact`` or ``deed``, its scope, and its text."""

STEP: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from(["fact", "deed"]),
    st.sampled_from(["", "a", "a/b", "c"]),
    st.sampled_from("xyz"),
)
STEPS = st.lists(STEP, min_size=1, max_size=7)
LANES = st.lists(STEPS, min_size=2, max_size=3)


def lane_of(run: Run, scope: str) -> Run:
    """Return the lane of *scope*."""
    return run.scope(scope) if scope else run


@dataclass
class Steered:
    """Does *steps* in order; it is cut before the step *cut*, or within it."""

    steps: Sequence[Step]
    cut: int | None = None
    within: bool = False
    done: Counter[Step] = field(default_factory=Counter[Step])
    __name__ = "steered"

    def __call__(self, run: Run) -> list[object]:
        """Do the steps; return the answers."""
        answers = [self._do(run, *one) for one in enumerate(self.steps)]
        if self.cut == len(self.steps):
            raise KeyboardInterrupt
        return answers

    def _do(self, run: Run, number: int, step: Step) -> object:
        here = number == self.cut
        if here and not (self.within and step[0] == "deed"):
            raise KeyboardInterrupt
        lane = lane_of(run, step[1])
        if step[0] == "fact":
            return lane.record("note.added", {"text": step[2]}).known
        return lane.effect("deed", step[2], lambda _: self._perform(step, here=here))

    def _perform(self, step: Step, *, here: bool) -> str:
        if here:
            raise KeyboardInterrupt
        self.done[step] += 1
        return step[2]

    @property
    def recorded(self) -> Sequence[Step]:
        """The steps that a run of it recorded when it was cut."""
        cut = len(self.steps) if self.cut is None else self.cut
        more = self.within and cut < len(self.steps) and self.steps[cut][0] == "deed"
        return self.steps[: cut + more]


def follows(steps: Sequence[Step], recorded: Sequence[Step]) -> bool:
    """Tell whether *steps* begin with those that a run *recorded*."""
    first = steps[: len(recorded)]
    if Counter(first) != Counter(recorded):
        return False
    return _facts(first) == _facts(recorded)


def _facts(steps: Sequence[Step]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind, scope, text in steps:
        if kind == "fact":
            found.setdefault(scope, []).append(text)
    return found


def mutants(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Yield *steps* with one of them dropped, added, changed, moved or swapped."""
    other: Step = ("fact", "a", "other")
    for at, (kind, scope, text) in enumerate(steps):
        before, after = list(steps[:at]), list(steps[at + 1 :])
        yield before + after
        yield [*before, other, *steps[at:]]
        yield [*before, ("deed", "c", "other"), *steps[at:]]
        yield [*before, (kind, scope, f"{text}, changed"), *after]
        yield [*before, (kind, f"{scope}/d" if scope else "d", text), *after]
        yield [*before, ("deed" if kind == "fact" else "fact", scope, text), *after]
        if after:
            yield [*before, after[0], steps[at], *after[1:]]


@dataclass
class Lanes:
    """Does several lists of steps at once, in threads or tasks, and then some alone.

    It is cut within the deed *cut* that is performed.
    """

    lanes: Sequence[Sequence[Step]]
    after: Sequence[Step]
    cut: int | None = None
    done: Counter[Step] = field(default_factory=Counter[Step])
    turns: Callable[[], int] = lambda: 0
    __name__ = "lanes"

    def _perform(self, step: Step) -> str:
        if self.cut is not None and self.done.total() >= self.cut:
            raise KeyboardInterrupt
        self.done[step] += 1
        return step[2]

    def threads(self, run: Run) -> list[object]:
        """Do the lanes in threads."""

        def one(steps: Sequence[Step]) -> list[object]:
            return [self._do(run, step) for step in steps]

        with ThreadPoolExecutor(len(self.lanes)) as pool:
            found: list[object] = list(pool.map(one, self.lanes))
        return found + one(self.after)

    def _do(self, run: Run, step: Step) -> object:
        lane = lane_of(run, step[1])
        if step[0] == "fact":
            lane.record("note.added", {"text": step[2]})
            return None
        return lane.effect("deed", step[2], lambda _: self._perform(step))

    async def tasks(self, run: Run) -> list[object]:
        """Do the lanes in tasks, which wait as often as ``turns`` says."""

        async def one(steps: Sequence[Step]) -> list[object]:
            return [await self._ado(run, step) for step in steps]

        found: list[object] = list(await asyncio.gather(*map(one, self.lanes)))
        return found + await one(self.after)

    async def _ado(self, run: Run, step: Step) -> object:
        lane = lane_of(run, step[1])
        for _ in range(self.turns()):
            await asyncio.sleep(0)
        if step[0] == "fact":
            lane.record("note.added", {"text": step[2]})
            return None

        async def perform(_: object) -> str:
            for _turn in range(self.turns()):
                await asyncio.sleep(0)
            return self._perform(step)

        return await lane.aeffect("deed", step[2], perform)
