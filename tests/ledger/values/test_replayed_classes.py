"""A record with values of a registered class is not rejected where nobody registered it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.replays.report import Mode
from muniment.runs.run import Run


@dataclass(frozen=True)
class Grade:
    """A plain class."""

    number: int


class Mark(enum.Enum):
    """An enumeration."""

    ONE = 1


class Pair(NamedTuple):
    """A named tuple."""

    one: int
    other: int


VALUES = (Grade(1), Mark.ONE, Pair(1, 2))


def _request(run: Run, value: object) -> object:
    return run.effect("tool", value, lambda _: 1)


def _nested(run: Run, value: object) -> object:
    return run.effect("tool", [{"deep": (value,)}], lambda _: 1)


def _large(run: Run, value: object) -> object:
    return run.effect("tool", [value, "x" * 10_000], lambda _: 1)


def _outcome(run: Run, value: object) -> object:
    _ = run.effect("tool", 1, lambda _: value)
    return 1


def _fact(run: Run, value: object) -> None:
    reached = {"hypothesis": "h", "verifier": "v", "passed": True, "result": value}
    run.record("verdict.reached", reached)


def _swallowed(run: Run, value: object) -> object:
    try:
        return _request(run, value)
    except Exception:  # noqa: BLE001 - as a program may
        return 0


PLACES = (_request, _nested, _large, _outcome, _fact, _swallowed)
Place = Callable[[Run, object], object]


@pytest.mark.parametrize("value", VALUES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", ["strict", "bounded"])
def test_a_class_that_is_not_registered_here_is_no_difference(
    tmp_path: Path, place: Place, value: object, mode: Mode
) -> None:
    """Wherever an instance is in the record: what nobody can write here is lacking here."""

    def program(run: Run) -> object:
        return place(run, value)

    path = tmp_path / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.register(type(value))
        done = ledger.execute(program)
        assert replay(ledger, done.run_id, program, mode=mode).ok
    with Ledger.open(path) as ledger:
        with pytest.raises(
            CannotTellError, match=r"no (class|type) is registered"
        ) as told:
            replay(ledger, done.run_id, program, mode=mode)
        assert told.value.rule == "value/unregistered"
        ledger.register(type(value))
        assert replay(ledger, done.run_id, program, mode=mode).ok


@pytest.mark.parametrize("mode", ["strict", "bounded"])
def test_what_differs_before_it_is_a_difference(tmp_path: Path, mode: Mode) -> None:
    """A record is rejected by what no class has to do with, if that comes first."""
    path, asked = tmp_path / "ledger.db", ["first"]

    def program(run: Run) -> object:
        _ = run.effect("tool", asked[0], lambda _: 1)
        return _request(run, Grade(1))

    with Ledger.create(path) as ledger:
        ledger.register(Grade)
        done = ledger.execute(program)
    asked[0] = "another"
    with Ledger.open(path) as ledger:
        assert replay(ledger, done.run_id, program, mode=mode).verdict == "unacceptable"


def test_a_program_that_agrees_needs_no_class(tmp_path: Path) -> None:
    """A member of a request that is only named like the form of a class is none."""
    path = tmp_path / "ledger.db"

    def program(run: Run) -> object:
        return run.effect("tool", {"$object": ["Grade", {"number": 1}]}, lambda _: 1)

    with Ledger.create(path) as ledger:
        done = ledger.execute(program)
    with Ledger.open(path) as ledger:
        assert replay(ledger, done.run_id, program).ok
