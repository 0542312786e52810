"""Branches and items that ask people wait each for itself: people find all questions together.

Rules: in threads and in tasks alike. What runs one after the other asks one after the
other. What others do meanwhile is done once, and no decision is asked for twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

import pytest

from deciding import approver, signed
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment.verification.verify import verify
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import Document, chain, edge, graph_of

DONE: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _forget() -> None:
    DONE.clear()


def does(given: StageInput) -> str:
    """Do something, which counts."""
    DONE[f"{given.node} {given.item}"] += 1
    return given.node


async def does_later(given: StageInput) -> str:
    """Do so in a task."""
    await asyncio.sleep(0)
    return does(given)


def asks(run: Run, given: StageInput) -> str:
    """Ask in a handler."""
    return run.decide([given.node, given.item], f"{given.node}?").outcome


ASK: Document = {"kind": "escalation"}


def sub(**nodes: Document) -> Document:
    """Return a subagent of these nodes."""
    return {"kind": "subagent", "graph": chain(**nodes)}


def mapped(body: Document, items: int, at_once: int | None = None) -> Document:
    """Return a map of so many items."""
    policy: Document = {"items": list(range(items))}
    if at_once is not None:
        policy["max_concurrent"] = at_once
    return {"kind": "map", "map_policy": policy, "body": body}


def forked(**branches: Document) -> Document:
    """Return a graph of these branches, each followed by something that is done."""
    work = {"handler": does}
    return graph_of(
        {
            "fork": {"kind": "fork"},
            **branches,
            **{f"after_{name}": work for name in branches},
            "both": {"kind": "join"},
        },
        *(edge("fork", name) for name in branches),
        *(edge(name, f"after_{name}") for name in branches),
        *(edge(f"after_{name}", "both") for name in branches),
    )


GRAPHS: dict[str, tuple[Document, list[int]]] = {
    "branches": (forked(a=ASK, b={"handler": does}, c={"handler": asks}), [2]),
    "items": (chain(many=mapped(ASK, 5), then={"handler": does}), [5]),
    "two at once": (chain(many=mapped(ASK, 5, 2), then={"handler": does}), [5]),
    "one at a time": (chain(many=mapped(ASK, 3, 1)), [1, 1, 1]),
    "subagents": (forked(a=sub(ask=ASK, work={"handler": does}), b=sub(ask=ASK)), [2]),
    "items of subagents": (chain(many=mapped(sub(ask=ASK), 3)), [3]),
    "in each other": (forked(a=mapped(ASK, 2), b=mapped(mapped(ASK, 2), 2)), [6]),
    "one after the other": (forked(a=ASK, b=sub(ask=ASK, again=ASK)), [2, 1]),
    "a race elsewhere": (
        forked(
            a=ASK,
            b={**mapped({"handler": does}, 2), "join_policy": {"strategy": "first"}},
        ),
        [1],
    ),
}
"""Graph → how many questions there are in each round, if people answer all of them."""


def holds(book: Ledger, run: str) -> None:
    """Check that the run replays with those below it, and the ledger verifies."""
    assert replay(book, run, children=True).verdict == "acceptable"
    report = verify(book.path, home=book.home)
    assert report.ok, str(report)


@pytest.mark.parametrize("lanes", ["threads", "tasks"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_people_find_all_questions_together(
    book: Ledger, graph: str, lanes: str
) -> None:
    """One pause asks them all, and one resume goes on with all the answers."""
    ann = approver(book, "ann")
    document, rounds = GRAPHS[graph]
    if lanes == "tasks":
        document = _later(document)
    done: Any = workflow_execute(book, "t", document)
    for count in rounds:
        assert done.status == "paused", done.error
        waiting = book.pending()
        assert len(waiting) == count
        for one in waiting:
            book.answer(signed(one, ann, "approved"))
        run = done.run_id
        done = (
            book.resume(run) if lanes == "threads" else asyncio.run(book.aresume(run))
        )
    assert done.status == "completed", done.error
    assert set(DONE.values()) <= {1} or "race" in graph
    holds(book, done.run_id)


def _later(value: Any) -> Any:
    """Return a graph whose functions that do something must be awaited."""
    if isinstance(value, dict):
        return {name: _later(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_later(one) for one in value]
    return does_later if value is does else value


@pytest.mark.parametrize("lanes", ["threads", "tasks"])
def test_some_answers_go_on_with_some_items(book: Ledger, lanes: str) -> None:
    """What nobody answered yet is asked no second time; a denial fails its item alone."""
    ann = approver(book, "ann")
    body = chain(ask=ASK, work={"handler": does})
    graph = chain(many=mapped({"kind": "subagent", "graph": body}, 4))
    if lanes == "tasks":
        graph = _later(graph)
    done: Any = workflow_execute(book, "t", graph)
    asked = [one.asked for one in book.pending()]
    for outcome, left in (("approved", 3), ("denied", 2), ("approved", 1)):
        book.answer(signed(book.pending()[0], ann, outcome))
        run = done.run_id
        done = (
            book.resume(run) if lanes == "threads" else asyncio.run(book.aresume(run))
        )
        assert [one.asked for one in book.pending()] == asked[-left:]
        assert done.status == "paused"
    book.answer(signed(book.pending()[0], ann, "approved"))
    run = done.run_id
    done = book.resume(run) if lanes == "threads" else asyncio.run(book.aresume(run))
    assert done.status == "completed", done.error
    assert sum(DONE.values()) == 3
    (joined,) = book.events(run=run, type="branches.joined")
    ends = [joined.raw["arrived"], joined.raw["failed"]]
    assert [len(cast("list[str]", one)) for one in ends] == [
        3,
        1,
    ]  # questions are in the order in which they came
    holds(book, run)
