"""What a lane reads comes from its own place in the record, or is new; never read twice.

Rules: a program deals with four deeds, and something reads in a lane at each of them: the
program itself, in its own lane, in scopes, threads or tasks; or a plugin, in its lane, as
it is asked before each deed, or as it hears of each outcome. The run is interrupted at any
deed and resumed, forked at any event, and the fork interrupted and resumed. In each case
the run and its replay are sound.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from muniment import hookimpl
from muniment.errors import UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.runs.lanes.of_plugins import lane_of_plugin
from muniment.runs.resume import recorded_run
from muniment.runs.run import Run
from muniment.verification.verify import verify

DEEDS = 4
COUNT = itertools.count()
"""What is outside answers with a number that no other answer has."""


def counted(_: object) -> int:
    """Answer what is asked, inside an effect."""
    return next(COUNT)


def _child(run: Run) -> object:
    return run.effect("question", "child", counted)


def _asked(run: Run) -> object:
    return run.effect("question", "how many?", counted)


def _streamed(run: Run) -> object:
    stream = run.open("question", "in parts?")
    return stream.answer() if stream.answered else stream.complete(next(COUNT))


OPERATIONS: dict[str, Callable[[Run], object]] = {
    "now": lambda run: str(run.now()),
    "random": lambda run: run.random(),
    "uuid": lambda run: str(run.uuid()),
    "effect": _asked,
    "stream": _streamed,
    "call": lambda run: run.call(_child),
    "key": lambda run: run.effect("key", "?", lambda _: _key()),
}
"""Each gives something that it gives once only."""
OUTSIDE = ("effect", "stream", "call", "now", "key")
"""Those whose later readings are no other run's, either; the rest draws from a seed."""


def _key() -> str:
    from muniment.runs.run import current_run  # noqa: PLC0415 - in a performer alone

    return current_run().idempotency_key


@dataclass
class World:
    """A program of deeds, and a plugin beside it."""

    operation: str
    lane: str
    read: list[object] = field(default_factory=list[object])
    """What was read in this process's part of the run, in order."""
    stops: int | None = None
    """The deed at which the process is interrupted."""
    beside: Run | None = None

    __name__ = "deeds"

    def take(self, run: Run) -> None:
        """Read in *run*, and remember it."""
        self.read.append(OPERATIONS[self.operation](run))

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Declare the deeds, and what is asked in lanes."""
        kinds = ("deed", "question", "key")
        return [EffectKind(one, on_doubt="repeat") for one in kinds]

    @hookimpl
    def before_effect(self, run: Run, kind: EffectKind) -> None:
        """Read before a deed."""
        if kind.name == "deed":
            self.beside = run
            run.record("note.added", {"text": "asked"})
            if self.lane == "before":
                self.take(run)

    @hookimpl
    def after_append(self, event: Event) -> None:
        """Read after a deed."""
        lane = self.beside if self.lane == "after" else None
        if event.type == "deed.completed" and lane and lane.id == event.run:
            self.take(lane)

    def do(self, deed: object) -> object:
        """Do one deed, or be interrupted."""
        if deed == self.stops:
            raise KeyboardInterrupt
        return deed

    def __call__(self, run: Run) -> object:
        """Deal with all deeds."""
        for deed in range(DEEDS):
            if self.lane == "program":
                self.take(run)
            elif self.lane == "scope":
                self.take(run.scope("a/b"))
            elif self.lane == "thread":
                self.in_thread(run.scope("thread"))
            elif self.lane == "task":
                asyncio.run(self.in_task(run.scope("task")))
            run.effect("deed", deed, self.do)
        return None

    def in_thread(self, lane: Run) -> None:
        """Read in a thread."""
        thread = threading.Thread(target=self.take, args=(lane,))
        thread.start()
        thread.join()

    async def in_task(self, lane: Run) -> None:
        """Read in a task."""

        async def taken() -> None:
            self.take(lane)

        await asyncio.create_task(taken())

    @property
    def beside_program(self) -> bool:
        """Whether the plugin reads, not the program."""
        return self.lane in ("before", "after")

    def done(
        self, act: Callable[[], object], ledger: Ledger, stops: int | None = None
    ) -> tuple[str, list[object]]:
        """Return the run that *act* runs, and what was read."""
        self.read, self.stops = [], stops
        with suppress(KeyboardInterrupt):
            found = act()
            assert isinstance(found, Done)
            assert found.ok, found.error
        (last,) = ledger.events(type="run.started", order="desc", limit=1)
        begun = [last]
        if "parent" in last.raw:
            begun = [
                one
                for one in ledger.events(type="run.started", order="desc")
                if "parent" not in one.raw
            ]
        return str(begun[0].run), [*self.read]


def sound(ledger: Ledger, run: str, world: World) -> None:
    """Require that the run verifies, and replays to the same."""
    world.stops = None
    report = verify(ledger.path, home=ledger.home)
    assert report.ok, str(report)
    assert replay(ledger, run, world).verdict == "acceptable"


LANES = ("program", "scope", "thread", "task", "before", "after")


@pytest.mark.slow
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_in_each_lane(tmp_path: Path, operation: str, lane: str) -> None:
    """Readings of the prefix are the recorded ones; all others were never read before."""
    world = World(operation, lane)
    place, plugins = tmp_path / "w" / "ledger.db", Plugins((), extra={"watch": world})
    with Ledger.create(place, plugins=plugins) as ledger:
        run, whole = world.done(lambda: ledger.execute(world), ledger)
        assert len({*map(str, whole)}) == DEEDS
        sound(ledger, run, world)
        for stops in range(DEEDS):
            cut, first = world.done(lambda: ledger.execute(world), ledger, stops)
            _, second = world.done(
                lambda cut=cut: ledger.resume(cut, world),  # type: ignore[misc]
                ledger,
            )
            continues(world, first, second)
            sound(ledger, cut, world)
        ends = [
            one.seq
            for one in ledger.events(run=run)
            if one.type in ("deed.requested", "deed.completed", "run.completed")
        ]
        for at in ends:
            fork, read = world.done(
                lambda at=at: ledger.fork(run, at=at, program=world),  # type: ignore[misc]
                ledger,
            )
            follows(world, whole, read)
            sound(ledger, fork, world)
        for stops in range(1, DEEDS):
            fork, first = world.done(
                lambda: ledger.fork(run, at=ends[1], program=world), ledger, stops
            )
            _, second = world.done(
                lambda fork=fork: ledger.resume(fork, world),  # type: ignore[misc]
                ledger,
            )
            continues(world, first, second)
            follows(world, whole, second)
            sound(ledger, fork, world)


def continues(world: World, first: list[object], second: list[object]) -> None:
    """Require that a resume read on where the run was cut off."""
    assert len({*map(str, second)}) == len(second)
    if world.beside_program:
        assert not {*map(str, first)} & {*map(str, second)}
    else:
        assert second[: len(first)] == first
        assert len(second) == DEEDS


def follows(world: World, whole: list[object], read: list[object]) -> None:
    """Require that a fork read what its origin did up to its event, then anew."""
    assert len({*map(str, read)}) == len(read)
    if world.beside_program:
        assert not {*map(str, whole)} & {*map(str, read)}
        return
    assert len(read) == DEEDS
    same = [one == other for one, other in zip(whole, read, strict=True)]
    assert same == sorted(same, reverse=True)  # from the first that differs, all do
    if world.operation not in OUTSIDE:
        assert all(same)  # drawn from the origin's seed


@pytest.mark.parametrize("operation", ["decide", "pause"])
@pytest.mark.parametrize("program", [True, False])
def test_a_plugin_cannot_wait_in_its_lane(
    tmp_path: Path, operation: str, *, program: bool
) -> None:
    """Its facts answer no resume, so it would wait for ever: it is refused, by name."""

    class Waits:
        """A plugin that waits before each effect."""

        @hookimpl
        def before_effect(self, run: Run) -> None:
            """Wait."""
            if not program:
                getattr(run, operation)("why")

    def asks(run: Run) -> object:
        if program:
            getattr(lane_of_plugin(run, "waits"), operation)("why")
        return run.effect("tool", "x", str)

    place, plugins = tmp_path / "w" / "ledger.db", Plugins((), extra={"w": Waits()})
    with Ledger.create(place, plugins=plugins) as ledger:
        done = ledger.execute(asks)
        assert done.status == ("failed" if program else "refused")
        assert f"cannot {operation}" in str(done.error)
        if program:
            assert isinstance(done.error, UsageError)
            assert done.error.rule == "scope/plugin"
        assert not any(ledger.events(type="tool.completed"))


def test_a_replay_waits_for_no_effect_of_a_hook(tmp_path: Path) -> None:
    """Parts of an answer are passed on once all that the program asked for came again."""
    world = World("effect", "before")
    place, plugins = tmp_path / "w" / "ledger.db", Plugins((), extra={"watch": world})
    with Ledger.create(place, plugins=plugins) as ledger:
        run, _ = world.done(lambda: ledger.execute(world), ledger)
        record = recorded_run(ledger, run)
        last = record.events[-1].seq
        assert not record.has_asked(last)
        for name, scope in record.scopes.items():
            for item in [one for one in scope.items if one.kind == "deed"]:
                assert name == ""
                record.use(item)
        assert record.has_asked(last)
