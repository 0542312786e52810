"""A failed run that said how it failed can be resumed: what it said counts no more."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muniment.errors import EffectFailed
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries
from muniment.replays.diff import contrast
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.runs.run import Run
from muniment.verification.runs.places import Places
from muniment.verification.verify import verify


class StageFailed(Exception):
    """A stage gave up."""


@dataclass
class World:
    """Fails each deed as often as it is told to, then does it."""

    failures: dict[str, int] = field(default_factory=dict[str, int])
    interrupts: set[str] = field(default_factory=set[str])
    done: Counter[str] = field(default_factory=Counter[str])

    def do(self, request: object) -> object:
        """Do what *request* says."""
        name = str(request)
        if name in self.interrupts:
            self.interrupts.remove(name)
            raise KeyboardInterrupt
        if self.failures.get(name, 0):
            self.failures[name] -= 1
            raise OSError(f"{name} is down")
        self.done[name] += 1
        return len(name)


@dataclass(frozen=True)
class Stage:
    """Does its deed with retries, then its parts; says how each of it went."""

    name: str
    attempts: int = 2
    failures: int = 0
    tolerant: bool = False
    reports: bool = False
    interrupted: bool = False
    parts: tuple[Stage, ...] = ()

    def walk(self) -> Iterator[Stage]:
        """Yield it and all below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def _stage(run: Run, stage: Stage, world: World) -> int:
    with run.scope(stage.name) as lane:
        lane.record("note.added", {"text": f"{stage.name} starts"})
        try:
            result = _attempted(lane, stage, world)
            result += sum(_part(lane, stage, part, world) for part in stage.parts)
        except (EffectFailed, StageFailed) as error:
            lane.record("note.added", {"text": f"{stage.name} failed: {error}"})
            run.record("note.added", {"text": f"stage.attempted {stage.name} failed"})
            if stage.reports:
                lane.effect("deed", f"report {stage.name}", world.do)
            raise StageFailed(stage.name) from error
        run.record("note.added", {"text": f"stage.attempted {stage.name} completed"})
        return result


def _attempted(lane: Run, stage: Stage, world: World) -> int:
    for attempt in range(stage.attempts):
        try:
            answer = lane.effect("deed", stage.name, world.do)
            lane.record("note.added", {"text": f"{attempt} of {stage.name} went well"})
            return int(str(answer))
        except EffectFailed:
            lane.record("note.added", {"text": f"{attempt} of {stage.name} failed"})
            if attempt == stage.attempts - 1:
                raise
    raise AssertionError("a stage is attempted")


def _part(lane: Run, stage: Stage, part: Stage, world: World) -> int:
    try:
        return _stage(lane, part, world)
    except StageFailed:
        if not stage.tolerant:
            raise
        lane.record("note.added", {"text": f"{stage.name} goes on without {part.name}"})
        return 0


class Flow:
    """A tree of stages as a program."""

    def __init__(self, root: Stage) -> None:
        self.root = root
        self.__name__ = "flow"
        self.world = World(
            {one.name: one.failures for one in root.walk()},
            {one.name for one in root.walk() if one.interrupted},
        )

    def __call__(self, run: Run) -> int:
        """Run the tree."""
        return _stage(run, self.root, self.world)


@contextmanager
def _fresh() -> Iterator[Ledger]:
    with (
        tempfile.TemporaryDirectory() as place,
        Ledger.create(Path(place) / "ledger.db", plugins=()) as ledger,
    ):
        ledger.register(EffectKind("deed", on_doubt="repeat"))
        yield ledger


def _until_done(ledger: Ledger, flow: Flow) -> tuple[Done, int]:
    """Execute *flow* and resume it until it completes; judge it at each end."""
    resumed, run = 0, ""
    while True:
        try:
            done = (
                ledger.resume(run, flow) if run else ledger.execute(flow, seed="5eed")
            )
        except KeyboardInterrupt:
            done = None
        run = run or str(next(iter(ledger.events(type="run.started"))).run)
        if done is not None:
            report = replay(ledger, run, flow)
            assert report.verdict == "acceptable", report
            assert report.result_digest == done.result_digest
            assert done.status in ("completed", "failed"), done
        assert verify(ledger.path).ok, verify(ledger.path)
        if done is not None and done.ok:
            return done, resumed
        resumed += 1
        assert resumed < 60, done


def test_a_stated_failure_is_superseded() -> None:
    """A node that fails by its retry policy, and says so, completes when it is resumed."""
    with _fresh() as ledger:
        flow = Flow(Stage("a", attempts=2, failures=2))
        failed = ledger.execute(flow)
        assert failed.status == "failed"
        done = ledger.resume(failed.run_id, flow)
        assert done.status == "completed", done
        (resumed,) = ledger.events(run=done.run_id, type="run.resumed")
        assert resumed.raw["supersedes"] == [["a", 3]]
        texts = [
            str(ledger.resolve(one)["text"])
            for one in ledger.events(run=done.run_id, type="note.added")
        ]
        assert texts[:3] == ["a starts", "0 of a failed", "1 of a failed"]
        assert texts[-2:] == ["1 of a went well", "stage.attempted a completed"]
        report = replay(ledger, done.run_id, flow)
        assert report.verdict == "acceptable", report
        assert report.result_digest == done.result_digest
        assert verify(ledger.path).ok
        summary = ledger.project(RunSummaries, run=done.run_id)
        assert (summary.status, summary.effects) == ("completed", {"deed": 3})


def test_what_is_stated_again_is_stated_anew() -> None:
    """A fact that follows the failure in any case stands twice, and is compared once."""

    def program(run: Run) -> None:
        try:
            run.effect("deed", "x", world.do)
        finally:
            run.record("note.added", {"text": "closed"})

    world = World({"x": 1})
    with _fresh() as ledger:
        failed = ledger.execute(program)
        done = ledger.resume(failed.run_id, program)
        assert done.ok
        assert len(list(ledger.events(run=done.run_id, type="note.added"))) == 2
        report = replay(ledger, done.run_id, program)
        assert (report.verdict, report.compared) == ("acceptable", 2)


def test_siblings_are_kept() -> None:
    """What other lanes stated after the failure still answers, and is not said twice."""

    def program(run: Run) -> None:
        error = None
        try:
            run.scope("a").effect("deed", "x", world.do)
        except EffectFailed as failure:
            error = failure
        run.scope("b").record("note.added", {"text": "b is fine"})
        run.scope("b").effect("deed", "y", world.do)
        if error is not None:
            raise error

    world = World({"x": 1})
    with _fresh() as ledger:
        failed = ledger.execute(program)
        done = ledger.resume(failed.run_id, program)
        assert done.ok, done
        assert len(list(ledger.events(run=done.run_id, type="note.added"))) == 1
        assert world.done == {"x": 1, "y": 1}
        assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_program_that_drops_a_fact_still_diverges() -> None:
    """Only what followed the failure is superseded: a dropped fact before it is missed."""

    def program(run: Run) -> None:
        if not dropped:
            run.record("note.added", {"text": "before"})
        run.effect("deed", "x", world.do)

    dropped: list[int] = []
    world = World({"x": 1})
    with _fresh() as ledger:
        failed = ledger.execute(program)
        dropped.append(1)
        again = ledger.resume(failed.run_id, program)
        assert again.status == "diverged"


def _stages(depth: int) -> st.SearchStrategy[Stage]:
    parts = st.just(()) if depth == 0 else st.lists(_stages(depth - 1), max_size=3)
    return st.builds(
        Stage,
        name=st.just("?"),
        attempts=st.integers(1, 3),
        failures=st.integers(0, 4),
        tolerant=st.booleans(),
        reports=st.booleans(),
        interrupted=st.booleans(),
        parts=parts.map(tuple),
    )


def _named(stage: Stage, name: str = "s") -> Stage:
    parts = (_named(part, f"{name}{n}") for n, part in enumerate(stage.parts))
    return replace(stage, name=name, parts=tuple(parts))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate])
@given(_stages(2).map(_named))
def test_any_tree_of_stages_comes_to_its_end(root: Stage) -> None:
    """However stages nest, retry, fail and are cut off: resumed often enough, all is done.

    No deed that was done is done again; each end verifies and replays; the last has the
    digest of its replay, and the ledger lists the run as completed.
    """
    flow = Flow(root)
    with _fresh() as ledger:
        done, resumed = _until_done(ledger, flow)
        assert max(flow.world.done.values(), default=0) == 1
        summary = ledger.project(RunSummaries, run=done.run_id)
        assert (summary.status, summary.generation) == ("completed", resumed)
        assert contrast(ledger, done.run_id, done.run_id).equal


@pytest.mark.parametrize("named", [["", 9], ["a", 0], ["a"], 3, [1, "x"]], ids=repr)
def test_only_failures_can_be_superseded(named: object) -> None:
    """A resumption that names what did not fail is wrong, whoever signed it."""
    places = Places()
    chain = {"scope": "", "ordinal": 0}
    assert not places.broken(chain, "run.started", {}, 2)
    asked = {"scope": "a", "ordinal": 0}
    assert not places.broken(asked, "llm.requested", {}, 2)
    assert not places.broken(asked, "llm.completed", {}, 2)
    failed = {"scope": "b", "ordinal": 0}
    assert not places.broken(failed, "llm.requested", {}, 2)
    assert not places.broken(failed, "llm.failed", {}, 2)
    good = {"scope": "", "ordinal": 1}
    assert not places.broken(good, "run.resumed", {"supersedes": [["b", 0]]}, 2)
    bad = {"scope": "", "ordinal": 2}
    ((rule, what),) = places.broken(bad, "run.resumed", {"supersedes": [named]}, 2)
    assert rule == "run/order"
    assert "not a failed effect" in what
