"""A run that was cut off goes on where it was, and does nothing twice."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from children import Report, start
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.verification.verify import verify
from programs_with_effects import JOURNEYS, SEED, World, doubtful

EVERY = bool(os.environ.get("MUNIMENT_TRIAL"))

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


def _go_on(place: Path, make: Callable[[World], Program], world: World) -> str:
    """Resume, deciding doubts where a kind wants that; return the digest, or nothing."""
    program = make(World(world.log, swapped=not world.swapped))
    untouched = World(world.log.with_name("untouched"))
    with Ledger.open(place, plugins=()) as ledger:
        run = _last_run(ledger)
        if any(event.type == "run.completed" for event in ledger.events(run=run)):
            return ""
        done_before, doubts = world.counted(), doubtful(ledger, run)
        if {"tool", "human"} & set(doubts.values()):
            with pytest.raises(RefusedError, match="its outcome is unknown"):
                _resume(ledger, run, program)
        done = _resume(ledger, run, program, repeat=["tool", "human"])
        assert done.status == "completed", done.error
        report = replay(ledger, run, make(untouched))
    assert report.ok, report.findings
    assert report.result_digest == done.result_digest
    twice = {line.split()[0] for line, count in world.counted().items() if count > 1}
    assert twice <= doubts.keys(), (twice, doubts)
    assert set(done_before) <= set(world.counted())
    return done.result_digest


def _in_child(body: Callable[[], str]) -> str:
    """Return what *body* returns in a child: this process forks and has no threads."""
    code, said = start(lambda report: report(body())).end()
    assert code == 0, said
    return said[0]


def _uninterrupted(place: Path, make: Callable[[World], Program], world: World) -> str:
    with Ledger.open(place, plugins=()) as ledger:
        return _execute(ledger, make(world)).result_digest


def _sweep(tmp_path: Path, place: Path, name: str, step: int, first: int = 0) -> int:
    """Kill the journey *name* at every *step*-th point and resume it; count points."""
    make, reference = JOURNEYS[name], World(tmp_path / "reference")
    expected = _in_child(lambda: _uninterrupted(place, make, reference))
    deeds = {line.split()[0] for line in reference.counted()}
    assert len(deeds) >= 20
    commits = range(1, 2 * len(deeds) + 2)  # number 0 begins the run
    points = [(w, n) for w in ("before", "after") for n in range(len(deeds))]
    points += [(w, n) for w in ("inserted", "committed") for n in commits]
    for number, point in enumerate(points[first::step]):
        world = World(tmp_path / f"world-{number}", swapped=number % 2 == 1)
        code = _crash(place, make, world, point)
        assert code in ({-9} if point[0] in {"before", "after"} else {0, -9}), point
        digest = _in_child(lambda world=world: _go_on(place, make, world))  # type: ignore[misc]
        assert digest in {"", expected}, point
        assert {line.split()[0] for line in world.counted()} == deeds
        assert len(world.counted()) == len(deeds), "equal keys for every attempt"
    assert not (tmp_path / "untouched").exists()
    assert verify(place).ok
    return len(points[first::step])


@pytest.mark.parametrize("name", JOURNEYS)
def test_killed_here_and_there_and_resumed(
    tmp_path: Path, place: Path, name: str
) -> None:
    """Killed at some points, each journey goes on to the uninterrupted run's digest."""
    assert _sweep(tmp_path, place, name, 30) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_killed_everywhere_and_resumed(tmp_path: Path, place: Path, name: str) -> None:
    """Killed after each event and inside each perform, each journey goes on.

    The points of one journey have an order, and it meets all of them. What the n-th is in
    the others is decided by threads or tasks: they share the points among them.
    """
    among = [*JOURNEYS].index(name) - 1
    step, first = (1, 0) if EVERY or name == "alone" else (len(JOURNEYS) - 1, among)
    assert _sweep(tmp_path, place, name, step, first) > 100 // step
