"""Each refusal of a graph is a fact; each mistake of a call is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    tool_define,
    tool_registry,
    workflow_execute,
    workflow_validate,
)


def act(stage: Any) -> str:
    """Take what a stage takes."""
    return f"done by {stage.node}"


def two(run: Any, stage: Any) -> bool:
    """Take the lane, too."""
    return bool(run and stage)


def nothing() -> str:
    """Take nothing."""
    return "x"


def three(one: Any, other: Any, more: Any) -> str:
    """Take too much."""
    return f"{one}{other}{more}"


def condition(handler: Any) -> dict[str, Any]:
    """Return a graph of a condition."""
    return {
        "entry": "c",
        "nodes": {
            "c": {"kind": "condition", "handler": handler},
            "t": {"handler": act},
        },
        "edges": [
            {"from": "c", "to": "t", "branch": "true"},
            {"from": "c", "to": "t", "branch": "*"},
        ],
    }


TOOLS = tool_define(
    tool_registry(),
    "t",
    "T",
    {"parameters": {}, "handler": act, "policy": {"side_effect_level": "read_only"}},
)
GRAPHS: dict[str, tuple[Any, str]] = {
    "form": ({"nodes": {"act": {"handler": act, "foo": 1}}}, "FORM_UNKNOWN_KEY"),
    "no object": ([], "FORM_TYPE"),
    "finding": ({"nodes": {"act": {}}}, "WORK_MISSING"),
    "no model": ({"nodes": {"act": {"mode": "agent"}}}, "MODEL_MISSING"),
    "contract": (
        {
            "nodes": {
                "act": {"kind": "verify", "verify": {"contract_path": "gone.json"}}
            }
        },
        "FILE",
    ),
    "handler": ({"nodes": {"act": {"handler": "os:nope"}}}, "PART"),
    "condition of two": (condition(two), "HANDLER_ARGUMENTS"),
    "of nothing": ({"nodes": {"act": {"handler": nothing}}}, "HANDLER_ARGUMENTS"),
    "of three": ({"nodes": {"act": {"handler": three}}}, "HANDLER_ARGUMENTS"),
    "in a child": (
        {"nodes": {"s": {"kind": "subagent", "graph": condition(two)}}},
        "HANDLER_ARGUMENTS",
    ),
    "in a body": (
        {
            "nodes": {
                "m": {
                    "kind": "map",
                    "map_policy": {"items": [1]},
                    "body": {"handler": three},
                }
            }
        },
        "HANDLER_ARGUMENTS",
    ),
    "tools of one argument": (
        {"nodes": {"act": {"handler": act, "tools": TOOLS}}},
        "TOOLS_UNCALLED",
    ),
}


@pytest.mark.parametrize("case", sorted(GRAPHS))
def test_a_refused_graph_is_recorded(case: str, book: Ledger, place: Path) -> None:
    """Form, findings, modes, contracts and functions: one fact each, and no run."""
    del place
    graph, code = GRAPHS[case]
    with pytest.raises(MunimentError):
        workflow_execute(book, "t", graph)
    (refused,) = book.events(type="workflow.refused")
    said: Any = book.resolve(refused)
    assert [one["code"] for one in said["findings"]] == [code]
    assert isinstance(said["workflow"], str)
    assert list(book.runs()) == []


@pytest.mark.parametrize("case", [one for one in sorted(GRAPHS) if "FORM" not in one])
def test_validation_finds_what_it_can_know(case: str) -> None:
    """A function that is given as such is looked at before anything is run."""
    graph, code = GRAPHS[case]
    found = [one.code for one in workflow_validate(graph).errors]
    known = code not in ("MODEL_MISSING", "FILE", "PART")
    assert (code in found) == known


@pytest.mark.parametrize("options", [{"max_steps": 0}, {"cwd": "gone"}, {"nope": 1}])
def test_a_mistake_of_the_call_is_no_refusal(options: Any, book: Ledger) -> None:
    """What is wrong with options says nothing about the graph, and leaves nothing."""
    with pytest.raises(MunimentError):
        workflow_execute(book, "t", {"nodes": {"act": {"handler": act}}}, [], options)
    assert list(book.events(type="workflow.refused")) == []


def test_a_verifier_and_a_reducer_may_take_the_lane(book: Ledger) -> None:
    """Only a condition computes from what it is given alone."""
    nodes = {
        "v": {"kind": "verify", "verify": {"handler": two}},
        "r": {"kind": "reduce", "handler": two},
    }
    graph = {"entry": "v", "nodes": nodes, "edges": [{"from": "v", "to": "r"}]}
    assert workflow_execute(book, "t", graph).status == "completed"
