"""Record and status of a run say what its events say, whatever the run did.

Rules: graphs are drawn that loop, race, wait, fail, call others and are tried again. Each is
run, answered, resumed and forked at any event; then every run of the ledger is held to what
its events say by themselves: `told_runs`.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciding import approver, signed
from drawn_regions import walked_graphs
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    workflow_execute,
    workflow_status,
    workflow_validate,
)
from told_runs import held_at_each_event, require_told
from workflow_stages import chain, edge, graph_of, stage

Document = dict[str, Any]


@contextlib.contextmanager
def desk() -> Iterator[Ledger]:
    """Give a ledger in a folder of its own, where the handlers stand."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        where, home = Path(folder, "ledger.db"), Path(folder, "home")
        with Ledger.create(where, home=home, plugins=("workflow",)) as book:
            yield book


def is_async(book: Ledger, run: str) -> bool:
    """Tell whether the program of *run* must be awaited."""
    program: Any = next(book.events(run=run, limit=1)).raw["program"]
    return "async" in program["name"]


def go_on(book: Ledger, run: str) -> Any:
    """Resume *run*."""
    if is_async(book, run):
        return asyncio.run(book.aresume(run))
    return book.resume(run)


def fork(book: Ledger, run: str, at: int) -> Any:
    """Fork *run* after its event *at*."""
    if is_async(book, run):
        return asyncio.run(book.afork(run, at=at))
    return book.fork(run, at=at)


def hold_all(book: Ledger) -> None:
    """Hold every run of *book* to what its events say."""
    for one in list(book.runs()):
        require_told(book, one.id)
        held_at_each_event(book, one.id)


@given(walked_graphs(), st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_a_run_does(document: Document, data: st.DataObject) -> None:
    """Visits, ways, artifacts, calls, and where it is: at its end, and after each event."""
    assert workflow_validate(document).valid, workflow_validate(document).errors
    steps = data.draw(st.integers(1, 30))
    with desk() as book:
        ann = approver(book, "ann")
        done: Any = workflow_execute(book, "t", document, [], {"max_steps": steps})
        hold_all(book)
        for _ in range(data.draw(st.integers(0, 3))):
            if done.status not in ("paused", "failed"):
                break
            for one in book.pending():
                outcome = data.draw(st.sampled_from(["approved", "denied"]))
                book.answer(signed(one, ann, outcome))
            done = go_on(book, done.run_id)
            hold_all(book)
        seqs = [one.seq for one in book.events(run=done.run_id)]
        with contextlib.suppress(RefusedError):  # people decided for that run alone
            fork(book, done.run_id, data.draw(st.sampled_from(seqs[1:])))
        hold_all(book)


FIRST: Document = {"join_policy": {"strategy": "first"}}
ITEMS: Document = {"kind": "map", "map_policy": {"items": [1, 0, 2]}}


def raced(**branches: Document) -> Document:
    """Return a graph of a race of *branches*, what comes then, and a question."""
    nodes = {"f": {"kind": "fork"}, **branches, "j": {"kind": "join", **FIRST}}
    edges = [edge("f", one) for one in branches] + [edge(one, "j") for one in branches]
    then = [edge("j", "end", "*"), edge("end", "ask")]
    nodes |= {"end": stage(), "ask": {"kind": "escalation"}}
    return graph_of(nodes, *edges, *then)


def mapped(**body: Any) -> Document:
    """Return a graph of a race of items, what comes then, and a question."""
    many = {**ITEMS, **FIRST, **body}
    graph = chain(m=many, end=stage(), ask={"kind": "escalation"})
    graph["edges"][0]["branch"] = "*"
    return graph


def pruned() -> Document:
    """Return a graph of a race whose branches conditions end, beside a question."""
    ends = {"kind": "condition", "metadata": {"artifact_kind": "plan"}}
    race = raced(a=ends, b={**ends})
    nodes = {"o": {"kind": "fork"}, **race["nodes"], "x": stage(), "y": stage()}
    nodes |= {"k": {"kind": "escalation"}}
    edges = [edge("o", "f"), edge("o", "k")]
    edges += [edge("a", "x", "false"), edge("b", "y", "false")]
    for one in race["edges"]:
        labels = {"branch": "true"} if one["to"] == "j" else {}
        edges.append({**one, **labels})
    return graph_of(nodes, *edges)


RACES = {
    "that conditions end": pruned(),
    "won": raced(a=stage(), b=stage("two")),
    "lost": raced(a=stage("fails"), b=stage("raises")),
    "of a child": raced(
        a={"kind": "subagent", "graph": chain(x=stage("two"))}, b=stage()
    ),
    "of a coroutine": raced(a=stage("says_later"), b=stage("data")),
    "of items": mapped(handler="workflow_stages:odd_raises"),
    "of items as they are": mapped(),
    "of maps": mapped(body={**ITEMS, "handler": "workflow_stages:odd_raises"}),
    "in a branch": graph_of(
        {"o": {"kind": "fork"}, **raced(a=stage(), b=stage())["nodes"], "k": stage()},
        edge("o", "f"),
        edge("o", "k"),
        *raced(a=stage(), b=stage())["edges"],
    ),
}


@pytest.mark.parametrize("race", RACES)
def test_a_fork_begins_after_a_race(race: str) -> None:
    """What the winners made is in the record of a fork, wherever it begins."""
    with desk() as book:
        done = workflow_execute(book, "t", RACES[race])
        assert done.status == "paused", done.error
        seqs = [one.seq for one in book.events(run=done.run_id)]
        for seq in seqs[1::5]:
            fork(book, done.run_id, seq)
        hold_all(book)
        whole = require_told(book, fork(book, done.run_id, seqs[-1]).run_id)
        assert not [one for one in whole["stages"] if "@race." in one["id"]]


def test_the_status_says_where_a_run_waits() -> None:
    """Where steps are used up it is at the node that is next; after a race, not at a loser."""
    with desk() as book:
        many = chain(a=stage(), b=stage(), c=stage())
        done = workflow_execute(book, "t", many, [], {"max_steps": 2})
        assert workflow_status(book, done.run_id)["at"] == ["c"]
        slow = stage("sleeps", metadata={"seconds": 0.1})
        for graph in (RACES["of a coroutine"], raced(a=stage(), b=slow, c=slow)):
            done = workflow_execute(book, "t", graph)
            assert workflow_status(book, done.run_id)["at"] == ["ask"]
        hold_all(book)
