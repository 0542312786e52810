"""Each run that a graph called is held to the call that it states, whatever became of it."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment_plugins.workflow import run_record, workflow_execute
from told_runs import require_told
from workflow_stages import Document, chain, edge, graph_of, stage


def child(handler: str = "raises", **more: object) -> Document:
    """Return a subagent whose graph has one stage, and a name that others have, too."""
    graph = {"name": "same", "nodes": {"act": stage(handler)}}
    return {"kind": "subagent", "graph": graph, **more}


TRIED: Document = {"retry_policy": {"max_attempts": 3}}
BRANCHES = graph_of(
    {"f": {"kind": "fork"}, "a": child(**TRIED), "b": child(), "j": {"kind": "join"}},
    edge("f", "a"),
    edge("f", "b"),
    edge("a", "j"),
    edge("b", "j"),
)
GRAPHS: dict[str, tuple[Document, int]] = {
    "tried again": (chain(a=child(**TRIED)), 3),
    "in branches, with one name": (BRANCHES, 4),
    "items of a map": (
        chain(
            m={
                "kind": "map",
                "map_policy": {"items": [1, 1, 2]},
                "body": child(**TRIED),
            }
        ),
        9,
    ),
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_each_has_the_stage_that_called_it(book: Ledger, graph: str) -> None:
    """Failed attempts have it, too, also after a resume, and edges lead from there."""
    document, count = GRAPHS[graph]
    done: Any = workflow_execute(book, "t", document)
    assert done.status == "failed"
    for _ in range(2):
        record = require_told(book, done.run_id)
        assert len(record["child_runs"]) == count
        assert all("parent_stage_id" in one for one in record["child_runs"])
        book.resume(done.run_id)


@pytest.mark.parametrize(
    ("graph", "is_clear"), [("tried again", True), (BRANCHES, False)]
)
def test_what_was_asked_is_erased(book: Ledger, graph: Any, is_clear: bool) -> None:
    """A run is of the call that was open; where two were, the record says of none, not a wrong one."""
    document = GRAPHS[graph][0] if is_clear else graph
    done = workflow_execute(book, "t", document)
    before = {one["run_id"]: one for one in run_record(book, done.run_id)["child_runs"]}
    for one in book.events(run=done.run_id, type="child.requested"):
        said: Any = one.raw["request"]
        if book.holds(said["$blob"]):
            book.erase(said["$blob"], reason="asked for")
    record = run_record(book, done.run_id)
    for one in record["child_runs"]:
        stage_id = before[one["run_id"]]["parent_stage_id"]
        assert one.get("parent_stage_id", stage_id) == stage_id
        assert "parent_stage_id" in one or not is_clear
    edges = record["observability"]["action_graph_edges"]
    assert not [x for x in edges if (x["from_id"], x["kind"]) == ("run", "delegates")]
