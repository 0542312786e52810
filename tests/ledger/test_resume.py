"""A run that was cut off goes on where it was, and does nothing twice."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from children import Report, start
from journeys import JOURNEYS, SEED, World, doubtful
from muniment.errors import RefusedError
from muniment.executing import Done
from muniment.ledger import Ledger
from muniment.replaying import replay
from muniment.verifier import verify

Program = Callable[..., Any]
Point = tuple[str, int]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give the path of a fresh ledger."""
    target = tmp_path / "ledger.db"
    Ledger.create(target, plugins=()).close()
    return target


def _execute(ledger: Ledger, program: Program, **options: Any) -> Done:
    if inspect.iscoroutinefunction(program):
        return asyncio.run(ledger.aexecute(program, seed=SEED, **options))
    return ledger.execute(program, seed=SEED, **options)


def _resume(ledger: Ledger, run: str, program: Program, **options: Any) -> Done:
    if inspect.iscoroutinefunction(program):
        return asyncio.run(ledger.aresume(run, program, **options))
    return ledger.resume(run, program, **options)


def _last_run(ledger: Ledger) -> str:
    (event,) = ledger.events(type="run.started", order="desc", limit=1)
    assert event.run is not None
    return event.run


def _crash(
    place: Path, make: Callable[[World], Program], world: World, at: Point
) -> int:
    """Execute the program in a child that dies at *at*; return its exit code."""
    where, number = at

    def body(report: Report) -> None:
        with Ledger.open(place, plugins=()) as ledger:
            if where in {"before", "after"}:
                world.fatal = where, number
            else:
                world.die_at_commit(ledger, number, where)
            report(_execute(ledger, make(world)).status)

    return start(body).end()[0]


def _go_on(
    place: Path, make: Callable[[World], Program], world: World
) -> tuple[str, str]:
    """Resume, deciding doubts where a kind wants that; return run and digest."""
    program = make(World(world.log, swapped=not world.swapped))
    with Ledger.open(place, plugins=()) as ledger:
        run = _last_run(ledger)
        if any(event.type == "run.completed" for event in ledger.events(run=run)):
            return run, ""
        done_before = world.counted()
        doubts = doubtful(ledger, run)
        asking = {kind for kind in doubts.values() if kind in {"tool", "human"}}
        if asking:
            with pytest.raises(RefusedError, match="its outcome is unknown"):
                _resume(ledger, run, program)
        done = _resume(ledger, run, program, decide=lambda *_: "repeat")
        assert done.status == "completed", done.error
    twice = {line.split()[0] for line, count in world.counted().items() if count > 1}
    assert twice <= doubts.keys(), (twice, doubts)
    assert set(done_before) <= set(world.counted())
    return run, done.result_digest


def _sweep(tmp_path: Path, place: Path, name: str, step: int) -> int:
    """Kill the journey *name* at every *step*-th point and resume it; count points."""
    make = JOURNEYS[name]
    reference = World(tmp_path / "reference")
    with Ledger.open(place, plugins=()) as ledger:
        expected = _execute(ledger, make(reference))
        assert expected.status == "completed"
        events = [event.type for event in ledger.events(run=expected.run_id)]
    deeds = sum(reference.counted().values())
    assert deeds >= 20
    points = [(w, n) for w in ("before", "after") for n in range(deeds)]
    commits = range(1, 2 * deeds + 2)  # number 0 begins the run
    points += [(w, n) for w in ("inserted", "committed") for n in commits]
    for number, point in enumerate(points[::step]):
        world = World(tmp_path / f"world-{number}", swapped=number % 2 == 1)
        code = _crash(place, make, world, point)
        assert code in {0, -9}, point
        assert code == -9 or point[0] not in {"before", "after"}
        run, digest = _go_on(place, make, world)
        assert digest in {"", expected.result_digest}, point
        assert set(world.counted()) == _renamed(reference, world)
        with Ledger.open(place, plugins=(), readonly=True) as ledger:
            report = replay(ledger, run, make(World(tmp_path / "untouched")))
            assert report.ok, report.findings
            assert report.result_digest == expected.result_digest
    assert not (tmp_path / "untouched").exists()
    report_ = verify(place)
    assert report_.ok, report_.findings
    assert events.count("run.started") == 1
    return len(points[::step])


def _renamed(reference: World, world: World) -> set[str]:
    """Return the lines that *world* must have: same deeds, keys of its own run."""
    keys = {line.split()[0]: line for line in world.counted()}
    return {keys[line.split()[0]] for line in reference.counted()}


@pytest.mark.parametrize("name", JOURNEYS)
def test_killed_here_and_there_and_resumed(
    tmp_path: Path, place: Path, name: str
) -> None:
    """Killed at some points, each journey goes on to the uninterrupted run's digest."""
    assert _sweep(tmp_path, place, name, 20) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_killed_everywhere_and_resumed(tmp_path: Path, place: Path, name: str) -> None:
    """Killed after each event and inside each perform, each journey goes on."""
    assert _sweep(tmp_path, place, name, 1) > 100
