"""A held fact before whatever can come next is written once, or never was.

Rules: programs are drawn from steps: facts, held or not, in scopes; all that a run waits
for; and cuts, which are Ctrl-C, or an effect that fails, the first time only. A run is
resumed until it ends. Then it is replayed, and its record says what that of a program says
which nothing cut.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from deciding import approver, key, signed
from muniment import replay
from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment.runs.run import Run
from muniment.runs.waits.asked_decision import AskedDecision
from steps import last_run

SWEEP = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)
STATED = ("held", "held in a", "note", "note in a")
WAITS = (
    "pause",
    "pause in a",
    "decide",
    "ask",
    "sleep",
    "child",
    "effect",
    "caught",
    "now",
    "mark",
)
CUTS = ("interrupt", "cut effect", "failing effect", "cut loop", "cut loop, cleaned up")
STEP = st.one_of(st.sampled_from(STATED), st.sampled_from(WAITS), st.sampled_from(CUTS))
ENDS = ("return", "raise", "held, return", "held, raise")


def waits_inside(run: Run) -> int:
    """Pause, as a child."""
    run.record("note.added", {"text": "in the child"}, held=True)
    run.pause("in the child")
    return 1


@dataclass
class Drawn:
    """Does *steps*, and ends; what is to be cut is cut once, if anything is."""

    steps: Sequence[str]
    end: str = "return"
    cuts: bool = True
    cut: set[int] = field(default_factory=set[int])
    __name__ = "drawn"

    def __call__(self, run: Run) -> object:
        """Do them."""
        asked: list[AskedDecision] = []
        for at, step in enumerate(self.steps):
            self._do(run, at, step, asked)
        if self.end.startswith("held"):
            run.record("note.added", {"text": "the last"}, held=True)
        if self.end.endswith("raise"):
            raise ValueError("no good end")
        return [one.decide().outcome for one in asked]

    def _do(self, run: Run, at: int, step: str, asked: list[AskedDecision]) -> None:
        lane = run.scope("a") if step.endswith(" a") else run
        name = step.removesuffix(" in a")
        waits: dict[str, Callable[[], object]] = {
            "held": lambda: lane.record("note.added", {"text": f"{at}"}, held=True),
            "note": lambda: lane.record("note.added", {"text": f"{at}"}),
            "pause": lambda: lane.pause(f"pause {at}"),
            "decide": lambda: run.decide({"at": at}),
            "ask": lambda: asked.append(run.ask({"at": at})),
            "sleep": lambda: run.sleep(0),
            "child": lambda: run.call(waits_inside),
            "effect": lambda: run.effect("data", at, lambda _: at),
            "caught": lambda: self._caught(run, at),
            "now": run.now,
            "mark": lambda: run.mark("odd", "drawn"),
            "interrupt": lambda: self._once(at, KeyboardInterrupt),
            "cut effect": lambda: self._cut(run, at, KeyboardInterrupt),
            "failing effect": lambda: self._cut(run, at, ValueError),
            "cut loop": lambda: self._loop(run, at, cleans=False),
            "cut loop, cleaned up": lambda: self._loop(run, at, cleans=True),
        }
        waits[name]()

    def _caught(self, run: Run, at: int) -> None:
        with suppress(EffectFailed):
            run.effect("data", at, _fails)

    def _cut(self, run: Run, at: int, error: type[BaseException]) -> object:
        return run.effect("data", at, lambda _: self._once(at, error))

    def _loop(self, run: Run, at: int, *, cleans: bool) -> None:
        """Ask as a loop of an agent does, which states that it was cut off."""
        try:
            run.effect("data", at, lambda _: self._once(at, KeyboardInterrupt))
        except BaseException:
            run.record("note.added", {"text": f"{at} was cut off"}, held=True)
            raise
        finally:
            if cleans:
                run.record("note.added", {"text": f"{at} is cleaned up"})

    def _once(self, at: int, error: type[BaseException] | None) -> int:
        if error is not None and self.cuts and at not in self.cut:
            self.cut.add(at)
            raise error(f"at {at}")
        return at


def _fails(_: object) -> object:
    raise ValueError("as ever")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger with an approver, which many drawn runs share."""
    place: Path = tmp_path_factory.mktemp("held") / "ledger.db"
    with Ledger.create(place, plugins=()) as made:
        approver(made, "ann")
        yield made


def ended(ledger: Ledger, program: Callable[[Run], object], cuts: int) -> Done:
    """Execute *program*, decide and resume until it ends; it is cut *cuts* times at most."""
    begun: Done | None = None
    with suppress(KeyboardInterrupt):
        begun = ledger.execute(program, seed="5eed")
    run = last_run(ledger) if begun is None else begun.run_id
    for _ in range(40):
        if begun is not None and begun.status in ("completed", "diverged"):
            break
        if begun is not None and begun.status == "failed":
            if cuts == 0 or "no good end" in str(begun.error):
                break
            cuts -= 1
        for pending in ledger.pending():
            if pending.run == run:
                ledger.answer(signed(pending, key("ann")))
        begun = None
        with suppress(KeyboardInterrupt):
            begun = ledger.resume(run, program)
    assert begun is not None
    return begun


def notes(ledger: Ledger, run: str) -> Counter[tuple[str | None, str]]:
    """Return the notes in the record of *run*."""
    found = ledger.events(run=run, type="note.added")
    return Counter((one.scope, str(one.raw["text"])) for one in found)


def holds(ledger: Ledger, steps: Sequence[str], end: str) -> None:
    """Check that *steps* come to the same, cut or not."""
    program, plain = Drawn(steps, end), Drawn(steps, end, cuts=False)
    done, uncut = ended(ledger, program, len(steps)), ended(ledger, plain, 0)
    assert done.status == uncut.status, (steps, done.error)
    assert done.result_digest == uncut.result_digest
    assert replay(ledger, done.run_id, plain).verdict == "acceptable", steps
    assert replay(ledger, uncut.run_id, plain).verdict == "acceptable", steps
    mine, theirs = notes(ledger, done.run_id), notes(ledger, uncut.run_id)
    assert mine.keys() == theirs.keys()
    if "failing effect" not in steps:  # after which facts are superseded
        assert mine == theirs


@pytest.mark.parametrize("then", [*WAITS, *CUTS, "nothing"])
def test_a_held_fact_before_each_wait_and_end(drawn: Ledger, then: str) -> None:
    """In the same scope and in another, with a fact in between and without."""
    after = [] if then == "nothing" else [then]
    ends = cycle(ENDS)
    for between in ([], ["note"], ["note in a"]):
        holds(drawn, ["held", *between, *after], next(ends))
    holds(drawn, ["held in a", *after, "note"], next(ends))


def in_a_thread(run: Run, state: Callable[[], None]) -> None:
    """State it in a thread, which ends."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(state).result()
    run.record("note.added", {"text": "after"})


def in_a_loop(run: Run, state: Callable[[], None]) -> None:
    """State it in a task, whose loop ends."""

    async def main() -> None:
        state()

    asyncio.run(main())
    run.record("note.added", {"text": "after"})


def in_a_performer(run: Run, state: Callable[[], None]) -> None:
    """State it in an effect."""
    run.effect("data", 1, lambda _: state())


@pytest.mark.parametrize("way", [in_a_thread, in_a_loop, in_a_performer])
@pytest.mark.parametrize("cut", [True, False])
def test_a_held_fact_of_elsewhere(
    drawn: Ledger, way: Callable[[Run, Callable[[], None]], None], cut: bool
) -> None:
    """A thread, a loop or a performer states it; the run is cut, or pauses."""
    told = {"text": "held elsewhere"}
    cuts = iter([KeyboardInterrupt] * cut)

    def state(run: Run) -> None:
        run.scope("a").record("note.added", told, held=True)

    def program(run: Run) -> int:
        way(run, lambda: state(run))
        if error := next(cuts, None):
            raise error
        run.pause("later")
        return 1

    done = ended(drawn, program, 1)
    assert done.status == "completed", done.error
    assert replay(drawn, done.run_id, program).verdict == "acceptable"
    found = drawn.events(run=done.run_id, type="note.added")
    assert [one.raw["text"] for one in found].count("held elsewhere") == 1


@pytest.mark.slow
@SWEEP
@given(steps=st.lists(STEP, min_size=1, max_size=6), end=st.sampled_from(ENDS))
@example(steps=["held", "ask", "interrupt", "pause"], end="return")
@example(steps=["cut loop, cleaned up", "held", "pause"], end="held, return")
def test_any_steps_are_cut_and_resumed(
    drawn: Ledger, steps: list[str], end: str
) -> None:
    """Whatever follows what, the run ends as if nothing had cut it."""
    holds(drawn, steps, end)
