"""A graph is taken over, canceled or interrupted, with its children and its items."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from muniment import replay, verify
from muniment.errors import RefusedError, RunFenced
from muniment.ledger import Ledger
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import Document, chain, stage

CALLS: list[str] = []
STOP, GO = threading.Event(), threading.Event()
WAITS: list[bool] = []
STRIKE: list[int] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    CALLS.clear()
    WAITS.clear()
    STRIKE.clear()
    STOP.clear()
    GO.clear()


def counts(given: StageInput) -> str:
    """Note the call, and its item."""
    CALLS.append(f"{given.node} {given.item}")
    return "done"


def waits(given: StageInput) -> str:
    """Wait until another process, as it were, took the run over."""
    CALLS.append(given.node)
    if WAITS:
        WAITS.clear()
        STOP.set()
        GO.wait(60)
    return "waited"


def strikes(given: StageInput) -> str:
    """Press Ctrl-C at the items that somebody named."""
    number = int(str(given.item))
    if number in STRIKE:
        STRIKE.remove(number)
        raise KeyboardInterrupt
    return counts(given)


async def strikes_later(given: StageInput) -> str:
    """Do the same, in a task."""
    return strikes(given)


def own(function: object, **more: object) -> Document:
    """Return a stage with a function of this module."""
    return {"handler": function, **more}


def nested(graph: Document) -> Document:
    """Return a subagent that runs *graph*."""
    return {"kind": "subagent", "graph": graph}


def started(book: Ledger) -> list[str]:
    """Return all runs, the parent first."""
    return [str(one.run) for one in book.events(type="run.started")]


@pytest.mark.parametrize("depth", [1, 2])
def test_taken_over_while_its_child_runs(book: Ledger, depth: int) -> None:
    """The old owner is fenced with its children: they act no more, and write nothing."""
    graph = chain(slow=own(waits), last=own(counts))
    for _ in range(depth):
        graph = chain(first=own(counts), sub=nested(graph))
    WAITS.append(True)
    ends: list[object] = []

    def older() -> None:
        try:
            ends.append(workflow_execute(book, "t", graph))
        except RunFenced as error:
            ends.append(error)

    thread = threading.Thread(target=older)
    thread.start()
    assert STOP.wait(60)
    root = started(book)[0]
    CALLS.clear()
    done = book.resume(root, take_over=True)
    assert done.status == "completed"
    assert CALLS == ["slow", "last None"]

    before = book.head
    GO.set()
    thread.join(60)
    assert isinstance(ends[0], RunFenced)
    assert (book.head, CALLS) == (before, ["slow", "last None"])
    assert len(started(book)) == depth + 1
    assert replay(book, root, children=True).verdict == "acceptable"
    assert verify(book.path, home=book.home).ok


def test_canceled_with_its_children(book: Ledger) -> None:
    """A workflow that is canceled cancels its children, and none of them goes on."""
    low = chain(ask={"kind": "escalation"}, last=own(counts))
    done = workflow_execute(book, "t", chain(sub=nested(chain(sub=nested(low)))))
    assert done.status == "paused"
    book.cancel(done.run_id, "enough")

    canceled = [one.run for one in book.events(type="run.canceled")]
    assert sorted(map(str, canceled)) == sorted(started(book))
    for one in started(book):
        with pytest.raises(RefusedError, match="canceled"):
            book.resume(one)
    assert CALLS == []
    assert verify(book.path, home=book.home).ok


def test_canceled_while_its_child_runs(book: Ledger) -> None:
    """A child that is at work when its parent is canceled acts no more."""
    WAITS.append(True)
    graph = chain(sub=nested(chain(slow=own(waits), last=own(counts))))
    ends: list[object] = []

    def work() -> None:
        try:
            ends.append(workflow_execute(book, "t", graph))
        except RunFenced as error:
            ends.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert STOP.wait(60)
    book.cancel(started(book)[0], "enough")
    GO.set()
    thread.join(60)

    assert isinstance(ends[0], RunFenced)
    assert CALLS == ["slow"]


@pytest.mark.parametrize("handler", [strikes, strikes_later])
@pytest.mark.parametrize("strategy", ["all", "quorum"])
def test_interrupted_in_a_map(book: Ledger, handler: object, strategy: str) -> None:
    """Ctrl-C in the middle of a map leaves a run that resumes; no item is done twice."""
    join: dict[str, Any] = {"strategy": strategy}
    if strategy == "quorum":
        join["min_completed"] = 20
    many = own(
        handler,
        kind="map",
        map_policy={"items": [*range(20)], "max_concurrent": 4},
        join_policy=join,
    )
    graph = chain(before=own(counts), many=many, after=stage())
    STRIKE.append(10)
    before = {*threading.enumerate()}
    with pytest.raises(KeyboardInterrupt):
        workflow_execute(book, "t", graph)
    (run,) = started(book)
    assert not [one for one in threading.enumerate() if one not in before]
    assert not any(one.startswith("after") for one in CALLS)

    done = book.resume(run) if handler is strikes else asyncio.run(book.aresume(run))
    assert done.status == "completed", done.error
    counted = Counter(CALLS)
    assert set(counted) == {"before None", *(f"body {number}" for number in range(20))}
    if strategy == "all":  # who is first is one effect, which is performed again
        assert max(counted.values()) == 1
    assert replay(book, run).verdict == "acceptable"
    made = list(book.events(run=run, type="artifact.recorded"))
    assert len({one.data["id"] for one in made}) == 22


def test_names_of_children_may_be_those_of_their_parents(book: Ledger) -> None:
    """A child whose nodes are called as its parent's are makes artifacts of its own."""
    graph = chain(
        act=stage(), sub=nested(chain(act=stage(), sub=nested(chain(act=stage()))))
    )
    done = workflow_execute(book, "t", graph)

    assert [(one.id, one.text) for one in done.artifacts] == [
        ("act.1#0", "act: 0"),
        ("sub.1/act.1#0", "act: 1"),
        ("sub.1/sub.1/act.1#0", "act: 2"),
    ]
    assert replay(book, done.run_id, children=True).verdict == "acceptable"
