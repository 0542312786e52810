"""A run has one owner at a time; who lost it writes nothing any more."""

from __future__ import annotations

import asyncio
import itertools
import os
import platform
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path

import pytest

from children import Child, Report, die, start
from muniment.errors import RefusedError, RunFenced
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment.runs.run import Run
from muniment.verification.verify import verify
from processes import soon
from programs_with_effects import World, doubtful

Program = Callable[[Run], object]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give the path of a fresh ledger."""
    target = tmp_path / "ledger.db"
    Ledger.create(target, plugins=()).close()
    return target


@pytest.fixture
def ledger(place: Path) -> Iterator[Ledger]:
    """Give that ledger, open."""
    with Ledger.open(place, plugins=()) as opened:
        yield opened


def _steps(world: World, count: int, between: Callable[[int], None]) -> Program:
    def steps(run: Run) -> object:
        for number in range(count):
            run.effect("data", {"name": f"s-{number}"}, world.do)
            between(number)
        return count

    return steps


def _started(ledger: Ledger) -> str:
    """Wait until a run began, and return its id."""
    assert soon(lambda: any(ledger.events(type="run.started"))), "no run began"
    run = next(ledger.events(type="run.started")).run
    assert run is not None
    return run


def _owned(place: Path, program: Program) -> Child:
    """Execute *program* in a child that reports how that ended."""

    def body(report: Report) -> None:
        with Ledger.open(place, plugins=()) as own:
            report(own.execute(program).status)

    return start(body)


def test_a_live_owner_is_not_overtaken(
    place: Path, ledger: Ledger, tmp_path: Path
) -> None:
    """A resume beside a living owner is refused, and the owner finishes."""
    gate = tmp_path / "gate"
    world = World(tmp_path / "world")

    def between(_: int) -> None:
        while not gate.exists():
            time.sleep(0.01)

    child = _owned(place, _steps(world, 3, between))
    run = _started(ledger)
    with pytest.raises(RunFenced, match=f"owned by process {child.pid} on"):
        ledger.resume(run, _steps(world, 3, lambda _: None))
    gate.touch()
    assert child.end() == (0, ["completed"])


def test_a_stale_owner_cannot_append(
    place: Path, ledger: Ledger, tmp_path: Path
) -> None:
    """Whose run was taken over is fenced, even when the program swallows it."""
    gate = tmp_path / "gate"
    world, own = World(tmp_path / "world"), World(tmp_path / "own")

    def stubborn(run: Run) -> object:
        run.effect("data", {"name": "s-0"}, own.do)
        while not gate.exists():
            time.sleep(0.01)
        for number in (1, 2):
            try:
                run.effect("data", {"name": f"s-{number}"}, own.do)
            except RunFenced:
                continue
        return 3

    child = _owned(place, stubborn)
    run = _started(ledger)
    while sum(own.counted().values()) < 1:
        time.sleep(0.01)
    done = ledger.resume(run, _steps(world, 3, lambda _: None), take_over=True)
    size = ledger.head.size
    gate.touch()
    code, said = child.end()
    assert code == 1
    assert said[0].startswith("error RunFenced")
    assert done.status == "completed"
    assert ledger.head.size == size
    assert sum(own.counted().values()) == 1
    resumed = next(ledger.events(type="run.resumed"))
    assert resumed.data["took_over"] is True


def _endless(world: World, deeds: float = inf) -> Program:
    """Return a program that goes on until it did so many deeds by itself."""

    def endless(run: Run) -> object:
        for number in itertools.count():
            run.effect("data", {"name": f"s-{number}"}, world.do)
            if world.deeds >= deeds:
                return number + 1
        raise AssertionError("there is a number after each")

    return endless


def test_taking_over_a_busy_owner_loses_nothing(
    place: Path, ledger: Ledger, tmp_path: Path
) -> None:
    """However fast its owner writes, a run is taken over, and no effect is lost."""
    world = World(tmp_path / "world")
    for _ in range(2):
        world.log.unlink(missing_ok=True)
        child = _owned(place, _endless(World(world.log)))
        while sum(world.counted().values()) < 5:
            time.sleep(0.001)
        run = next(ledger.events(type="run.started", order="desc")).run
        assert run is not None
        done = ledger.resume(run, _endless(World(world.log), 5), take_over=True)
        (said,) = child.end()[1]
        assert said.startswith("error RunFenced")
        assert done.status == "completed"
        counted = world.counted()
        twice = [line for line, times in counted.items() if times > 1]
        assert len(counted) == done.value
        assert len(twice) <= 1, "at most the effect that was in doubt"
    ledger.close()
    assert verify(place).ok


class Ready:
    """A program that does what is given just before its run is taken over."""

    def __init__(self, program: Program, meanwhile: Callable[[], object]) -> None:
        self.program, self.before_resume = program, meanwhile

    def __call__(self, run: Run) -> object:
        """Do as the program does."""
        return self.program(run)


def _awaited(ledger: Ledger, run: str, program: Program) -> Done:
    return asyncio.run(ledger.aresume(run, program, take_over=True))


def _called(ledger: Ledger, run: str, program: Program) -> Done:
    return ledger.resume(run, program, take_over=True)


@pytest.mark.parametrize("taken", [_awaited, _called])
def test_what_is_written_before_the_taking_is_answered(
    place: Path, ledger: Ledger, tmp_path: Path, taken: Callable[..., Done]
) -> None:
    """What the owner did after its record was read is not done again."""
    world = World(tmp_path / "world")

    def three(lane: Run) -> None:
        for number in range(3):
            lane.record("note.added", {"text": f"n-{number}"})
            lane.effect("data", {"name": f"s-{number}"}, world.do)

    def four(lane: Run) -> object:
        three(lane)
        return lane.effect("data", {"name": "s-3"}, world.do)

    def overtaken() -> None:
        with Ledger.open(place, plugins=()) as other, other.run("open") as run:
            program = Ready(four, lambda: three(run))
            assert taken(ledger, run.id, program).status == "completed"
            run.effect("data", {"name": "late"}, world.do)

    with pytest.raises(RunFenced):
        overtaken()
    run = _started(ledger)
    assert sorted(world.counted().values()) == [1] * 4
    counted = [e for e in ledger.events(run=run) if e.type != "data.completed"]
    assert [event.ordinal for event in counted] == list(range(10)), "one counter"
    ledger.close()
    assert verify(place).ok


def test_a_run_that_completes_before_the_taking_is_not_taken(
    place: Path, ledger: Ledger
) -> None:
    """Its owner was done first: there is nothing to go on with."""
    with Ledger.open(place, plugins=()) as other:
        opened = other.run("short")
        run = opened.__enter__()
        program = Ready(lambda _: None, lambda: opened.__exit__(None, None, None))
        with pytest.raises(RefusedError, match="the run is complete"):
            ledger.resume(run.id, program, take_over=True)
    assert not list(ledger.events(type="run.resumed"))


def test_whoever_takes_over_first_owns_the_run(place: Path, ledger: Ledger) -> None:
    """Who wanted the same, and came later, is told so and has written nothing."""
    child = _owned(place, lambda _: die())
    child.end()
    run = _started(ledger)

    def meanwhile() -> None:
        assert ledger.resume(run, lambda _: 1 / 0).status == "failed"

    for take_over in (False, True):
        before = len(list(ledger.events(type="run.resumed")))
        with pytest.raises(RunFenced, match="somebody else resumed the run meanwhile"):
            ledger.resume(run, Ready(lambda _: 1, meanwhile), take_over=take_over)
        assert len(list(ledger.events(type="run.resumed"))) == before + 1


def test_two_resumers_at_once(place: Path, ledger: Ledger, tmp_path: Path) -> None:
    """Of many who resume a dead run at the same moment exactly one does."""
    world = World(tmp_path / "world", fatal=("before", 2))
    assert _owned(place, _steps(world, 4, lambda _: None)).end()[0] == -9
    run = _started(ledger)
    world.fatal = None
    gate = tmp_path / "gate"

    def seen(what: str) -> int:
        return len(list(tmp_path.glob(f"{what}-*")))

    def outlive(_: int) -> None:
        assert soon(lambda: seen("lost") == 3)

    def body(report: Report) -> None:
        with Ledger.open(place, plugins=()) as own:
            (tmp_path / f"ready-{os.getpid()}").touch()
            while not gate.exists():
                time.sleep(0)
            try:
                report(own.resume(run, _steps(world, 4, outlive)).status)
            except RunFenced:
                (tmp_path / f"lost-{os.getpid()}").touch()
                raise

    children = [start(body) for _ in range(4)]
    assert soon(lambda: seen("ready") == 4)
    gate.touch()
    said = [line for child in children for line in child.end()[1]]
    assert said.count("completed") == 1
    refused = [line for line in said if line.startswith("error RunFenced")]
    assert len(refused) == 3, said
    assert len(list(ledger.events(type="run.resumed"))) == 1


def test_a_second_ledger_object_does_not_overtake(place: Path, ledger: Ledger) -> None:
    """A run that is open in this very process is owned by somebody alive."""
    with Ledger.open(place, plugins=()) as other, ledger.run("open") as run:
        for one in (ledger, other):
            with pytest.raises(RunFenced, match="is alive"):
                one.resume(run.id, lambda _: None)


def test_a_complete_run_is_not_resumed(ledger: Ledger) -> None:
    """There is nothing to go on with, and nothing is written."""
    done = ledger.execute(lambda _: 1, name="short")
    size = ledger.head.size
    with pytest.raises(RefusedError, match="the run is complete"):
        ledger.resume(done.run_id, lambda _: 1)
    assert ledger.head.size == size


def test_an_owner_on_another_host_may_live(
    place: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cannot be looked at from here is not taken for dead."""
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    child = _owned(place, lambda _: die())
    run = _started(ledger)
    child.end()
    monkeypatch.undo()
    with pytest.raises(RunFenced, match="cannot be looked at from here"):
        ledger.resume(run, lambda _: None)
    assert ledger.resume(run, lambda _: None, take_over=True).status == "completed"


def test_a_reused_process_id_is_not_the_owner(
    place: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A living process that started at another moment does not own the run."""
    earlier = {"host": platform.node(), "pid": os.getpid(), "started": "1"}
    monkeypatch.setattr("muniment.gates.owner", lambda: earlier)
    child = _owned(place, lambda _: die())
    child.end()
    monkeypatch.undo()
    run = _started(ledger)
    assert ledger.resume(run, lambda _: None).status == "completed"


def test_doubts_in_a_killed_run(place: Path, ledger: Ledger, tmp_path: Path) -> None:
    """A killed perform leaves one doubt; refusing it keeps the run resumable."""
    world = World(tmp_path / "world", fatal=("after", 1))

    def program(run: Run) -> object:
        first = run.effect("tool", {"name": "first"}, world.do)
        try:
            return [first, run.effect("tool", {"name": "second"}, world.do)]
        except RefusedError:
            return "swallowed"

    assert _owned(place, program).end()[0] == -9
    run = _started(ledger)
    assert doubtful(ledger, run) == {"second": "tool"}
    world.fatal = None
    for decide in (None, lambda *_: "repeat"):
        with pytest.raises(RefusedError, match="its outcome is unknown; its kind says"):
            ledger.resume(run, program, decide=decide)
    done = ledger.resume(run, program, repeat=["tool"])
    assert done.status == "completed"
    assert sorted(world.counted().values()) == [1, 2], "equal keys for both attempts"
    attempts = [e.data["attempt"] for e in ledger.events(type="tool.requested")]
    assert attempts == [1, 1, 2]
    reasons = [e.data["reason"] for e in ledger.events(type="run.interrupted")]
    assert len(reasons) == 2
    assert "effect/doubt" in str(reasons[0])
