"""Whatever `values.py` accepts comes through a live run and its replay unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from drawn_values import TYPES, VALUES, Ticket, same
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run

Check = Callable[[Any], None]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give one ledger for all examples, which knows the drawn classes."""
    place = tmp_path_factory.mktemp("values")
    with Ledger.create(place / "ledger.db", home=place / "home", plugins=()) as made:
        made.port.values = TYPES
        yield made


def _program(seen: list[Any]) -> Callable[..., Any]:
    def program(run: Run, given_: Any) -> Any:
        def perform(request: Any) -> Any:
            performed.append(request)
            return request

        performed: list[Any] = []
        value = run.effect("data", given_, perform)
        seen.extend([given_, value, *performed])
        return {"value": value}

    return program


@settings(max_examples=80, deadline=None)
@given(VALUES)
def test_through_a_run_and_its_replay(ledger: Ledger, value: Any) -> None:
    """Param, request, outcome and result are equal in type and value, live and again."""
    live: list[Any] = []
    again: list[Any] = []
    done = ledger.execute(_program(live), params={"given_": value})
    assert done.ok, done.error
    report = replay(ledger, done.run_id, _program(again))
    assert report.verdict == "acceptable"
    assert report.result_digest == done.result_digest
    assert len(live) == 3
    assert len(again) == 2
    assert all(same(value, one) for one in [*live, *again, done.value["value"]])  # type: ignore[index]


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_through_the_details_of_a_note(ledger: Ledger, value: Any) -> None:
    """A free-form field gives back what was put in."""
    event = ledger.append("note.added", {"text": "drawn", "details": value})
    resolved = ledger.resolve(ledger.event(event.seq))
    assert same(resolved.get("details"), value)


def test_a_registered_class(ledger: Ledger) -> None:
    """A class that was registered crosses by its name; a reader without it cannot tell."""
    done = ledger.execute(
        lambda run: run.effect("data", 1, lambda _: Ticket(1, ("a",)))
    )
    assert done.result == Ticket(1, ("a",))
