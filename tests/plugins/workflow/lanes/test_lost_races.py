"""Who loses a race ends at its next step, in threads and in tasks, with its child runs.

Rules: what a loser was about to do is not done; it is `cancelled` in the record, whatever
it consists of; a child run of it is canceled, and nobody resumes it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from muniment import replay, verify
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import StageInput, workflow_execute
from muniment_plugins.workflow.runtime.lanes import Stop
from workflow_stages import Document, chain, edge, graph_of

CALLS: list[str] = []
BEGUN, WON = threading.Event(), threading.Event()


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLS.clear()
    BEGUN.clear()
    WON.clear()
    tells = Stop.set

    def set_(stop: Stop, *, lost: bool = False) -> None:
        tells(stop, lost=lost)
        if lost:
            WON.set()

    monkeypatch.setattr(Stop, "set", set_)


def wins(given: StageInput) -> str:
    """End once the loser is at work."""
    assert BEGUN.wait(20)
    return given.node


def begins(given: StageInput) -> str:
    """Be at work until the race is won."""
    CALLS.append(given.node)
    BEGUN.set()
    assert WON.wait(20)
    return given.node


def goes_on(given: StageInput) -> str:
    """Note what must not be done any more."""
    CALLS.append(given.node)
    return given.node


async def wins_later(given: StageInput) -> str:
    """Do as `wins` does, in a task."""
    return await asyncio.to_thread(wins, given)


async def begins_later(given: StageInput) -> str:
    """Be at work until somebody cancels it."""
    CALLS.append(given.node)
    BEGUN.set()
    await asyncio.sleep(20)
    return given.node


async def goes_on_later(given: StageInput) -> str:
    """Do as `goes_on` does, in a task."""
    return goes_on(given)


Handlers = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
LANES: dict[str, Handlers] = {
    "threads": (wins, begins, goes_on),
    "tasks": (wins_later, begins_later, goes_on_later),
    "functions beside tasks": (wins_later, begins, goes_on),
}


def own(function: object, **more: object) -> Document:
    """Return a stage with a function of this module."""
    return {"handler": function, **more}


def sub(graph: Document, **more: object) -> Document:
    """Return a subagent that runs *graph*."""
    return {"kind": "subagent", "graph": graph, **more}


def steps(begin: object, go: object) -> Document:
    """Return a graph of three steps."""
    return chain(x=own(begin), y=own(go), z=own(go))


def forking(begin: object, go: object) -> Document:
    """Return a graph whose steps are branches."""
    nodes = {
        "two": {"kind": "fork"},
        "x": own(begin),
        "x2": own(go),
        "y": own(go),
        "both": {"kind": "join"},
        "z": own(go),
    }
    ways = [("two", "x"), ("two", "x2"), ("x", "y"), ("y", "both"), ("x2", "both")]
    return graph_of(nodes, *(edge(*one) for one in [*ways, ("both", "z")]))


def racing(begin: object, go: object) -> Document:
    """Return a graph whose steps are in a race of their own."""
    graph = forking(begin, go)
    graph["nodes"]["both"]["join_policy"] = {"strategy": "quorum", "min_completed": 2}
    return graph


def mapping(begin: object, go: object) -> Document:
    """Return a graph that works on items, one after the other."""
    policy = {"items": [0, 1, 2], "max_concurrent": 1}
    many = {"kind": "map", "map_policy": policy, "body": own(begin)}
    return chain(many=many, z=own(go))


LOSERS: dict[str, Callable[[object, object], Document]] = {
    "steps": lambda begin, go: sub(steps(begin, go)),
    "one step": lambda begin, _: sub(chain(x=own(begin))),
    "nested": lambda begin, go: sub(chain(deep=sub(steps(begin, go)), z=own(go))),
    "forks": lambda begin, go: sub(forking(begin, go)),
    "races": lambda begin, go: sub(racing(begin, go)),
    "maps": lambda begin, go: sub(mapping(begin, go)),
    "tried again": lambda begin, go: sub(
        steps(begin, go), retry_policy={"max_attempts": 3}
    ),
    "plain": lambda begin, _: own(begin),
}
"""What a losing branch may consist of."""


@pytest.mark.parametrize("many", [False, True], ids=["branches", "items"])
@pytest.mark.parametrize("loser", LOSERS)
@pytest.mark.parametrize("lanes", LANES)
def test_a_loser_ends_at_its_next_step(
    book: Ledger, lanes: str, loser: str, many: bool
) -> None:
    """It does nothing further, is cancelled, and nobody resumes what it had called."""
    win, begin, go = LANES[lanes]
    lost = LOSERS[loser](begin, go)
    if many:
        lost = {"kind": "map", "map_policy": {"items": [0]}, "body": lost}
    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "lost": lost,
            "won": own(win),
            "meet": {"kind": "join", "join_policy": {"strategy": "first"}},
            "end": own(go),
        },
        edge("fork", "lost"),
        edge("fork", "won"),
        edge("lost", "meet"),
        edge("won", "meet"),
        edge("meet", "end"),
    )
    done = workflow_execute(book, "t", graph)

    assert done.status == "completed", done.error
    assert [one.stage for one in done.artifacts] == ["won", "end"]
    assert {*CALLS} <= {"x", "x2", "lost", "body", "end"}
    assert CALLS.count("x") <= 1
    (met,) = [
        one.data
        for one in book.events(run=done.run_id, type="branches.joined")
        if one.data["node"] == "meet"
    ]
    assert (met["arrived"], met["cancelled"]) == (["won"], ["lost"])
    children = [one for one in book.runs() if one.id != done.run_id]
    assert {one.status for one in children} <= {"canceled"}
    assert bool(children) == (loser != "plain")
    before = [*CALLS]
    for one in children:
        with pytest.raises(RefusedError, match="canceled"):
            asyncio.run(book.aresume(one.id))
    assert before == CALLS
    assert replay(book, done.run_id, children=True).verdict == "acceptable"
    assert verify(book.path, home=book.home).ok


def one_of_two(given: StageInput) -> str:
    """Win with the first item, and be late with the other."""
    return (begins if given.item else wins)(given)


async def one_of_two_later(given: StageInput) -> str:
    """Do so in a task; the late one does not end by being cancelled."""
    return await asyncio.shield(asyncio.to_thread(one_of_two, given))


@pytest.mark.parametrize("function", [one_of_two, one_of_two_later])
def test_who_comes_late_has_not_won(book: Ledger, function: object) -> None:
    """An item whose last step ends after the race was won is cancelled, in any lanes."""
    races: Document = {"join_policy": {"strategy": "first"}}
    many = own(function, kind="map", map_policy={"items": [0, 1]}, **races)
    done = workflow_execute(book, "t", chain(many=many))

    assert [one.text for one in done.artifacts] == ["body"]
    (met,) = book.events(run=done.run_id, type="branches.joined")
    assert (met.data["arrived"], met.data["cancelled"]) == (["0"], ["1"])
    assert replay(book, done.run_id).verdict == "acceptable"
