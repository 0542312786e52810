"""A budget that is used up ends a graph where that happens: no retry, no edge leads on.

Each shape has one stage that may run, and one beyond the budget, somewhere below.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deciding import answer, approver
from governed_programs import policy
from muniment import replay, verify
from muniment.ledger import Ledger
from muniment_plugins.governance import GovernancePolicy
from muniment_plugins.governance.budgets.adopted import governing_of
from muniment_plugins.governance.budgets.amendments import amend, amendment_of
from muniment_plugins.governance.governed import governed
from muniment_plugins.workflow import (
    StageInput,
    run_record,
    workflow_execute,
)
from workflow_stages import Document, chain, edge, graph_of

CALLS: list[str] = []
HERE = f"{__name__}:works"
FIRST: Document = {"handler": HERE}
SECOND: Document = {"handler": HERE, "retry_policy": {"max_attempts": 3}}
MENDS: Document = {"handler": f"{__name__}:mends"}


def works(given: StageInput) -> str:
    """Note the call."""
    CALLS.append(given.node)
    return "done"


async def works_later(given: StageInput) -> str:
    """Note the call, as a task."""
    return works(given)


def mends(given: StageInput) -> str:
    """Note a call that nothing should lead to."""
    CALLS.append("mends")
    return works(given)


def led_on(second: Document, **more: Document) -> Document:
    """Return a graph whose second node has an edge for each way to fail."""
    nodes = {"first": FIRST, "second": second, "mends": MENDS, **more}
    ways = [edge("second", "mends", one) for one in ("error", "failed", "*")]
    return graph_of(nodes, edge("first", "second"), *ways[:2], edge("mends", "end"))


def forked(join: Document) -> Document:
    """Return a graph both branches of which ask for more than there is."""
    nodes = {
        "first": FIRST,
        "fork": {"kind": "fork"},
        "a": SECOND,
        "b": SECOND,
        "meet": {"kind": "join", "join_policy": join},
        "mends": MENDS,
    }
    edges = [edge("first", "fork"), edge("fork", "a"), edge("fork", "b")]
    edges += [edge("a", "meet"), edge("b", "meet"), edge("meet", "mends", "failed")]
    return graph_of(nodes, *edges)


def mapped(**more: object) -> Document:
    """Return a map of two items, after a stage."""
    return {"kind": "map", "map_policy": {"items": ["0", "1"]}, **more}


END = {"end": {"handler": HERE}}
INNER = chain(inner=SECOND)
SHAPES: dict[str, Document] = {
    "a stage": led_on(SECOND, **END),
    "branches": forked({}),
    "branches that may fail": forked({"strategy": "all", "min_completed": 1}),
    "a race": forked({"strategy": "first"}),
    "a map": led_on(mapped(handler=HERE), **END),
    "a map that may fail": led_on(
        mapped(handler=HERE, join_policy={"strategy": "all", "min_completed": 1}),
        **END,
    ),
    "a map with a body": led_on(mapped(body=SECOND), **END),
    "a subagent": led_on(
        {"kind": "subagent", "graph": INNER, "retry_policy": {"max_attempts": 3}}, **END
    ),
    "a subagent's subagent": led_on(
        {"kind": "subagent", "graph": chain(deep={"kind": "subagent", "graph": INNER})},
        **END,
    ),
}


@pytest.fixture
def book(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger that knows graphs and budgets."""
    del place
    CALLS.clear()
    plugins = ("workflow", "governance")
    where = tmp_path / "ledger.db"
    with Ledger.create(where, home=tmp_path / "home", plugins=plugins) as made:
        yield made


def terms(limit: int) -> GovernancePolicy:
    """Return a policy that allows so many stages."""
    budget = {"effect_limits": {"stage": limit}, "exhaustion_action": "halt"}
    return policy(execution_budget=budget)


def awaited(document: Any) -> Any:
    """Return *document*, its handlers as those that must be awaited."""
    if isinstance(document, dict):
        return {key: awaited(value) for key, value in document.items()}
    if isinstance(document, list):
        return [awaited(one) for one in document]
    return HERE.replace("works", "works_later") if document == HERE else document


@pytest.mark.parametrize("later", [False, True], ids=["threads", "tasks"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_halt_ends_the_graph(book: Ledger, shape: str, later: bool) -> None:
    """Nothing is tried or asked for after it; the run failed, and replays.

    The visit that it ended says so, and after an amendment the run goes on from there.
    """
    graph = awaited(SHAPES[shape]) if later else SHAPES[shape]
    key = approver(book, "ann")
    with governed(book, terms(1)):
        done = workflow_execute(book, "t", graph)
    run = done.run_id

    assert (done.status, CALLS) == ("failed", ["first"])
    assert "1 of 1 is spent" in str(done.error)
    tried = [one.raw for one in book.events(type="node.attempted")]
    assert all(one["attempt"] == 1 and "wait_s" not in one for one in tried)
    assert not list(book.events(type="timer.requested"))
    visited = [one.raw["node"] for one in book.events(type="node.activated")]
    assert "mends" not in visited
    ended = [one.raw for one in book.events(type="node.completed")]
    assert any(one["branch"] == "error" for one in ended if one["status"] == "failed")
    assert run_record(book, run)["status"] == "failed"
    assert replay(book, run).verdict == "acceptable"

    waiting = book.execute(
        amend, params=amendment_of(*governing_of(book, run), terms(9), None)
    )
    answer(book, key)
    assert book.resume(waiting.run_id).ok
    again = asyncio.run(book.aresume(run)) if later else book.resume(run)
    assert again.status == "completed", again.error
    assert set(CALLS) <= {"first", "second", "a", "b", "body", "inner", "end"}
    assert replay(book, run).verdict == "acceptable"
    assert verify(book.path, home=book.home).ok
