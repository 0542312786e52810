"""What the engine states is stated by nobody else, whoever holds a lane of its run."""

from __future__ import annotations

import threading
import time
import typing
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from muniment import Run, current_run
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageCall,
    StageInput,
    run_record,
    workflow_execute,
)
from muniment_plugins.workflow.records.record import walks_graph
from muniment_plugins.workflow.vocabulary import TYPES
from workflow_stages import Document, chain, edge, graph_of, stage

NAMES = [one.name for one in TYPES]
SAMPLES: dict[Any, object] = {str: "act", int: 1, object: None}


def sample(kind: Any) -> object:
    """Return a value of an annotated field."""
    while typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    origin = typing.get_origin(kind)
    return origin() if origin in (list, dict) else SAMPLES.get(kind)


def data_of(name: str) -> dict[str, object]:
    """Return data that fit the type *name*."""
    (found,) = (one for one in TYPES if one.name == name)
    hints = typing.get_type_hints(found.model, include_extras=True)
    return {
        field: sample(kind)
        for field, kind in hints.items()
        if not hasattr(found.model, field)
    }


REFUSED: list[tuple[str, str]] = []
"""The types that handlers stated in vain, with the rules by which they were refused."""


def tried(lane: Run) -> None:
    """State each type, and go on as if nothing had been."""
    for name in NAMES:
        try:
            lane.record(name, data_of(name))
        except UsageError as error:
            REFUSED.append((name, error.rule))


def performed(given: StageInput) -> str:
    """State it while one is performed."""
    tried(current_run())
    return given.node


def in_lane(run: Run, given: StageCall) -> str:
    """State it in the lane of one's node, below it, and in a child run."""
    tried(run)
    with run.scope("ask.1") as lane:
        tried(lane)
    run.call(tried)
    return given.node


LATE = threading.Event()


def slow(given: StageInput) -> str:
    """State it when one's time is up, and others are at work."""
    run = current_run()
    LATE.wait(60)
    tried(run)
    return given.node


def waits(given: StageInput) -> str:
    """Be at work until all was stated."""
    LATE.set()
    least = int(str(given.metadata["least"])) * len(NAMES)
    while len(REFUSED) < least:
        time.sleep(0.001)
    return given.node


HERE = __name__


def node(name: str, **more: object) -> Document:
    """Return a stage with a handler of this module."""
    return {"kind": "stage", "handler": f"{HERE}:{name}", **more}


GRAPHS: dict[str, tuple[Document, int]] = {
    "performed": (chain(act=node("performed")), 1),
    "in its lane": (chain(act=node("in_lane")), 3),
    "too late": (
        graph_of(
            {
                "act": node("slow", timeout_s=0.02),
                "end": node("waits", metadata={"least": 1}),
            },
            edge("act", "end", "*"),
        ),
        1,
    ),
    "on an item": (
        chain(
            act={"kind": "map", "map_policy": {"items": [1]}, "body": node("in_lane")}
        ),
        3,
    ),
    "in a race": (
        graph_of(
            {
                "f": {"kind": "fork"},
                "act": node("in_lane"),
                "other": node("waits", metadata={"least": 3}),
                "j": {"kind": "join", "join_policy": {"strategy": "first"}},
            },
            edge("f", "act"),
            edge("f", "other"),
            edge("act", "j"),
            edge("other", "j"),
        ),
        3,
    ),
}


@pytest.mark.parametrize("way", GRAPHS)
def test_handlers_state_none(book: Ledger, way: str) -> None:
    """A handler is refused, wherever and whenever; the record has the graph's nodes alone."""
    graph, times = GRAPHS[way]
    REFUSED.clear()
    LATE.clear()
    done = workflow_execute(book, "t", graph)
    assert done.status == "completed", done.error
    assert [(name, "event/own") for name in NAMES] * times == REFUSED
    record = run_record(book, done.run_id)
    assert {one["node_id"] for one in record["stages"]} <= {*graph["nodes"], "body"}
    (started,) = book.events(run=done.run_id, type="workflow.started")
    assert started.scope in ("", None)


@pytest.mark.parametrize("name", NAMES)
def test_plain_programs_state_none(book: Ledger, name: str) -> None:
    """A program that walks no graph is refused, and passes for none."""
    done = book.execute(lambda run: run.record(name, data_of(name)))
    with pytest.raises(UsageError, match="event/own") as caught:
        done.raise_failure()
    assert name in caught.value.place
    assert not walks_graph(book, done.run_id)
    with pytest.raises(UsageError, match="walks no graph"):
        run_record(book, done.run_id)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_appends_one(book: Ledger, name: str) -> None:
    """Outside of runs nobody states one, either."""
    size = book.head.size
    with pytest.raises(UsageError, match="event/own"):
        book.append(name, data_of(name))
    assert book.head.size == size


def test_a_refusal_is_an_error_of_the_node(book: Ledger) -> None:
    """A handler that does not expect it ends in the branch error, with rule and place."""
    graph = graph_of({"act": node("bold"), "end": stage()}, edge("act", "end", "error"))
    done = workflow_execute(book, "t", graph)
    act, end = run_record(book, done.run_id)["stages"]
    assert (done.status, act["branch"], end["branch"]) == (
        "completed",
        "error",
        "success",
    )
    assert act["rule"] == "event/own"
    assert "node.completed" in act["error"]


def bold(run: Run, given: StageCall) -> str:
    """State that one is done."""
    run.record("node.completed", data_of("node.completed"))
    return given.node


def test_the_visit_is_no_part_of_a_call() -> None:
    """What the engine itself states with is nothing that a handler is given."""
    public: Callable[[object], list[str]] = lambda one: [  # noqa: E731 - read once
        name for name in dir(one) if not name.startswith("_")
    ]
    allowed = {*public(StageInput), "tool", "atool", "mail"}
    assert {*public(StageCall)} <= allowed
