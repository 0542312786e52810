"""What is counted: steps, alike in every run, and tokens, never fewer than there are."""

from __future__ import annotations

import time
from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment_plugins.workflow import artifact, workflow_execute


def uneven(stage: Any) -> str:
    """Take another time at each node, so that threads finish in another order."""
    time.sleep(0.002 * (hash((stage.node, time.monotonic_ns())) % 5))
    return "x"


def edge(source: str, target: str) -> dict[str, str]:
    """Return an edge."""
    return {"from": source, "to": target}


def looping() -> dict[str, Any]:
    """Return a fork whose branches loop for ever."""
    nodes: dict[str, Any] = {"f": {"kind": "fork"}}
    edges = [edge("f", one) for one in "abc"] + [edge(one, one) for one in "abc"]
    nodes |= {one: {"handler": uneven} for one in "abc"}
    return {"entry": "f", "nodes": nodes, "edges": edges}


def test_steps_are_counted_along_a_path(book: Ledger) -> None:
    """A branch goes as far as the limit from its fork on, whatever the others do."""
    seen = []
    for _ in range(5):
        done = workflow_execute(book, "t", looping(), [], {"max_steps": 4})
        visits = [
            one.data["node"]
            for one in book.events(run=done.run_id, type="node.activated")
        ]
        seen.append({one: visits.count(one) for one in "fabc"})
        assert done.status == "paused"
    assert all(one["f"] == 1 and max(one.values()) == 3 for one in seen), seen


def test_steps_of_branches_are_added_up_where_they_meet(book: Ledger) -> None:
    """Behind the join the count is that of fork, branches and join together."""
    nodes: dict[str, Any] = {"f": {"kind": "fork"}, "j": {"kind": "join"}}
    nodes |= {one: {"handler": uneven} for one in "abcz"}
    edges = [edge("f", one) for one in "abc"] + [edge(one, "j") for one in "abc"]
    graph = {"entry": "f", "nodes": nodes, "edges": [*edges, edge("j", "z")]}
    ends = {
        most: workflow_execute(book, "t", graph, [], {"max_steps": most}).status
        for most in (5, 6)
    }
    assert ends == {5: "paused", 6: "completed"}


@pytest.mark.parametrize("inner", [{"handler": uneven}, {"body": {"handler": uneven}}])
def test_a_map_is_one_step(inner: dict[str, Any], book: Ledger) -> None:
    """However many items there are."""
    node = {"kind": "map", "map_policy": {"items": [*range(10)]}, **inner}
    graph = {"nodes": {"act": node}}
    assert (
        workflow_execute(book, "t", graph, [], {"max_steps": 1}).status == "completed"
    )


@pytest.mark.parametrize("tokens", [0, 1, 24_999, 25_000, 30_000, None])
@pytest.mark.parametrize("form", ["text", "data"])
def test_an_artifact_weighs_what_its_body_weighs(
    tokens: int | None, form: str, book: Ledger
) -> None:
    """Stating fewer tokens goes around no budget; stating more is taken as it is."""
    body: Any = "word " * 20_000 if form == "text" else ["word " * 20_000]

    def heavy(_: Any) -> object:
        said = {"kind": "resource", form: body}
        return artifact(
            said if tokens is None else {**said, "estimated_tokens": tokens}
        )

    def plain(_: Any) -> object:
        return body

    for handler in (heavy, plain):
        nodes = {
            "m": {"handler": handler},
            "act": {"handler": _count, "context_policy": {"max_tokens": 10}},
        }
        graph = {"entry": "m", "nodes": nodes, "edges": [edge("m", "act")]}
        done = workflow_execute(book, "t", graph)
        assert done.artifacts[-1].text == "saw 0 characters"
        assert done.artifacts[0].estimated_tokens >= 25_000


def _count(stage: Any) -> str:
    return f"saw {sum(len(one.body) for one in stage.artifacts)} characters"
