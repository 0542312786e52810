"""Where one branch stops the run, what is in flight in the others ends, and is recorded.

Rules: in threads and in tasks alike. So nothing is performed again by the resume that was
performed before it, and nothing further is begun after the stop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import StageInput, workflow_execute
from muniment_plugins.workflow.runtime.lanes import Stop
from workflow_stages import Document, chain, edge, graph_of

CALLS: list[str] = []
STOPS: list[str] = []
BEGUN, STOPPED = threading.Event(), threading.Event()


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLS.clear()
    STOPS[:] = ["once"]
    BEGUN.clear()
    STOPPED.clear()
    tells = Stop.set

    def set_(stop: Stop, *, lost: bool = False) -> None:
        tells(stop, lost=lost)
        STOPPED.set()

    monkeypatch.setattr(Stop, "set", set_)


def works(given: StageInput) -> str:
    """Be in flight while another branch stops the run."""
    CALLS.append(f"{given.node} begins")
    BEGUN.set()
    assert STOPPED.wait(20)
    CALLS.append(f"{given.node} ends")
    return given.node


async def works_later(given: StageInput) -> str:
    """Do so in a task."""
    CALLS.append(f"{given.node} begins")
    BEGUN.set()
    assert await asyncio.to_thread(STOPPED.wait, 20)
    CALLS.append(f"{given.node} ends")
    return given.node


def meets(given: StageInput) -> str:
    """Wait until the other branch is in flight."""
    assert BEGUN.wait(20)
    return given.node


async def meets_later(given: StageInput) -> str:
    """Do so in a task."""
    return await asyncio.to_thread(meets, given)


def pauses(run: Run, given: StageInput) -> str:
    """Pause the run, with all its lanes."""
    run.pause("somebody has to look", everywhere=True)
    return given.node


async def pauses_later(run: Run, given: StageInput) -> str:
    """Do so in a task."""
    return pauses(run, given)


def strikes(given: StageInput) -> str:
    """Press Ctrl-C, as it were, once."""
    if STOPS:
        STOPS.clear()
        raise KeyboardInterrupt
    return given.node


async def strikes_later(given: StageInput) -> str:
    """Do so in a task."""
    return strikes(given)


def own(function: object, **more: object) -> Document:
    """Return a stage with a function of this module."""
    return {"handler": function, **more}


def sub(**nodes: Document) -> Document:
    """Return a subagent of these nodes."""
    return {"kind": "subagent", "graph": chain(**nodes)}


FLIGHTS: dict[str, Callable[[object], Document]] = {
    "stage": own,
    "child": lambda work: sub(inner=own(work), further=own(work)),
    "items": lambda work: own(
        work, kind="map", map_policy={"items": [0, 1, 2], "max_concurrent": 1}
    ),
    "nested": lambda work: sub(deep=sub(inner=own(work)), further=own(work)),
}
"""What may be in flight."""
HALTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "pause": (pauses, pauses_later),
    "Ctrl-C": (strikes, strikes_later),
}
"""What stops a run from one of its branches."""


@pytest.mark.parametrize("halt", HALTS)
@pytest.mark.parametrize("flight", FLIGHTS)
@pytest.mark.parametrize("lanes", ["threads", "tasks", "functions beside tasks"])
def test_what_is_in_flight_ends(
    book: Ledger, lanes: str, flight: str, halt: str
) -> None:
    """It ends once, is recorded, and nothing is begun; the resume does only the rest."""
    is_async = lanes != "threads"
    meet = meets_later if is_async else meets
    work: object = works_later if lanes == "tasks" else works
    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "meet": own(meet),
            "stop": own(HALTS[halt][is_async]),
            "flight": FLIGHTS[flight](work),
            "after": own(work),
            "both": {"kind": "join"},
        },
        edge("fork", "meet"),
        edge("meet", "stop"),
        edge("fork", "flight"),
        edge("flight", "after"),
        edge("stop", "both"),
        edge("after", "both"),
    )
    try:
        assert workflow_execute(book, "t", graph).status == "paused"
    except KeyboardInterrupt:
        assert halt != "pause"
    assert len(CALLS) == 2, CALLS
    (first,) = book.events(type="run.started", limit=1)
    root = str(first.run)
    assert all(one.status in ("paused", "interrupted") for one in book.runs())

    done = asyncio.run(book.aresume(root)) if is_async else book.resume(root)
    assert done.status == "completed", done.error
    counted = {one: CALLS.count(one) for one in CALLS}
    assert max(counted.values()) == (3 if flight == "items" else 1)
    assert replay(book, root, children=True).verdict == "acceptable"


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "tasks"])
def test_a_pause_waits_for_no_timer(book: Ledger, is_async: bool) -> None:
    """A timer that is in flight is waited for by the resume, and not by the pause."""

    def sleeps(run: Run, given: StageInput) -> str:
        BEGUN.set()
        run.sleep(30)
        return given.node

    async def sleeps_later(run: Run, given: StageInput) -> str:
        BEGUN.set()
        await run.asleep(30)
        return given.node

    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "meet": own(meets_later if is_async else meets),
            "stop": own(HALTS["pause"][is_async]),
            "sleep": own(sleeps_later if is_async else sleeps),
        },
        edge("fork", "meet"),
        edge("meet", "stop"),
        edge("fork", "sleep"),
    )
    began = time.monotonic()
    assert workflow_execute(book, "t", graph).status == "paused"
    assert time.monotonic() - began < 15
