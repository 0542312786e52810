"""What programs in the tests of runs do, and how those look at their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muniment.events import Event
from muniment.lanes import Lane
from muniment.ledger import Ledger
from muniment.records import RunFacts, RunRecord

__all__ = [
    "echo",
    "facts_of",
    "forbidden",
    "hits",
    "last_event",
    "last_run",
    "original",
    "raising",
    "search",
    "shapes_of",
    "types_of",
]

Program = Callable[..., Any]


def echo(request: object) -> object:
    """Answer with the request."""
    return request


def raising(error: BaseException) -> Program:
    """Return a performer that raises *error*."""

    def fail(_: object) -> object:
        raise error

    return fail


def shapes_of(ledger: Ledger, run: str) -> list[tuple[str, str | None, int | None]]:
    """Return type, scope and ordinal of each event of *run*."""
    return [(e.type, e.scope, e.ordinal) for e in ledger.events(run=run)]


def last_event(ledger: Ledger, kind: str) -> Event:
    """Return the newest event of type *kind*."""
    return next(ledger.events(type=kind, order="desc"))


def facts_of(ledger: Ledger, run: str) -> RunFacts:
    """Return the record of *run*."""
    return ledger.project(RunRecord, run=run)


def last_run(ledger: Ledger) -> str:
    """Return the id of the newest run."""
    run = next(ledger.events(type="run.started", order="desc")).run
    assert run is not None
    return run


def types_of(ledger: Ledger, run: str) -> list[str]:
    """Return the types of the events of *run*."""
    return [event.type for event in ledger.events(run=run)]


def forbidden(_: object) -> object:
    """Fail: a replay performs nothing."""
    raise AssertionError("a replay performs nothing")


def search(run: Lane, query: str, perform: Program = forbidden) -> Any:
    """Ask the tool that most programs here ask."""
    return run.effect("tool", {"name": "search", "query": query}, perform)


def hits(request: object) -> object:
    """Answer a search."""
    assert isinstance(request, dict)
    return {"hits": [1.0, (2, 3)], "for": request["query"]}


def original(run: Lane) -> object:
    """State, ask and draw, at the root and in a scope."""
    run.record("claim.stated", {"id": "c1", "text": "t", "acceptance": {"min": 15.0}})
    first = search(run, "a", hits)
    with run.scope("map/3") as lane:
        lane.record("note.added", {"text": "inside"})
        second = search(lane, "b", hits)
    return [first, second, run.random(), run.uuid(), run.now()]
