"""What programs in the tests of runs do, and how those look at their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries, RunSummary
from muniment.runs.run import Run

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
    "waited",
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


def facts_of(ledger: Ledger, run: str) -> RunSummary:
    """Return the record of *run*."""
    return ledger.project(RunSummaries, run=run)


def last_run(ledger: Ledger) -> str:
    """Return the id of the newest run."""
    run = next(ledger.events(type="run.started", order="desc")).run
    assert run is not None
    return run


def types_of(ledger: Ledger, run: str) -> list[str]:
    """Return the types of the events of *run*."""
    return [event.type for event in ledger.events(run=run)]


def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have timers of synchronous programs wait for nothing; return for how long each should."""
    asked: list[float] = []
    monkeypatch.setattr(
        "muniment.runs.waits.timers.wait", lambda seconds, _: asked.append(seconds)
    )
    return asked


def forbidden(_: object) -> object:
    """Fail: a replay performs nothing."""
    raise AssertionError("a replay performs nothing")


def search(run: Run, query: str, perform: Program = forbidden) -> Any:
    """Ask the tool that most programs here ask."""
    return run.effect("tool", {"name": "search", "query": query}, perform)


def hits(request: object) -> object:
    """Answer a search."""
    assert isinstance(request, dict)
    return {"hits": [1.0, (2, 3)], "for": request["query"]}


def original(run: Run) -> object:
    """State, ask and draw, at the root and in a scope."""
    run.record("claim.stated", {"id": "c1", "text": "t", "acceptance": {"min": 15.0}})
    first = search(run, "a", hits)
    with run.scope("map/3") as lane:
        lane.record("note.added", {"text": "inside"})
        second = search(lane, "b", hits)
    return [first, second, run.random(), run.uuid(), run.now()]
