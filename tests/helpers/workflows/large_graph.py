"""A graph of thirty nodes with everything that a graph can have, for trials by kill."""

from __future__ import annotations

import copy
from typing import Any

from muniment_plugins.workflow import StageInput
from workflow_stages import chain, edge, graph_of

__all__ = ["CALLS", "LARGE", "UNDECIDED", "nodes_in"]

CALLS: list[str] = []
"""What was performed in this process: node and item."""


def noted(given: StageInput) -> str:
    """Note the call, and say how much there was to see."""
    CALLS.append(f"{given.node} {given.item} {len(given.artifacts)}")
    return f"{given.node} saw {len(given.artifacts)}"


def is_there(given: StageInput) -> bool:
    """Tell whether there is anything."""
    return bool(given.artifacts)


def has_repair(given: StageInput) -> bool:
    """Tell whether a repair was made."""
    return any(one.stage == "repair" for one in given.artifacts)


def _stage(**more: Any) -> dict[str, Any]:
    return {"kind": "stage", "handler": "large_graph:noted", **more}


def _map(**more: Any) -> dict[str, Any]:
    policy = {"items": ["x", "y"], "max_concurrent": 2}
    return {"kind": "map", "map_policy": policy, **more}


DEEPEST = chain(low=_stage(), lower=_stage())
DEEP = chain(begin=_stage(), down={"kind": "subagent", "graph": DEEPEST}, end=_stage())
CHILD = chain(first=_stage(), child={"kind": "subagent", "graph": DEEP}, last=_stage())

LARGE = graph_of(
    {
        "plan": _stage(),
        "if": {"kind": "condition", "handler": "large_graph:is_there"},
        "none": _stage(),
        "fork": {"kind": "fork"},
        "lint": _stage(retry_policy={"max_attempts": 2, "backoff_ms": 1}),
        "lint2": _stage(),
        "many": _map(body=_map(handler="large_graph:noted")),
        "inner": {"kind": "fork"},
        "left": _stage(),
        "right": _stage(),
        "meet": {"kind": "join"},
        "join": {"kind": "join"},
        "act": _stage(),
        "verify": {"kind": "verify", "verify": {"handler": "large_graph:has_repair"}},
        "repair": _stage(),
        "agent": {"kind": "subagent", "graph": CHILD},
        "ask": {"kind": "escalation", "escalation_policy": {"quorum": 2}},
        "refused": _stage(),
        "sum": {"kind": "reduce", "input_contract": {"input_kinds": ["artifact"]}},
        "report": _stage(),
        "done": _stage(),
    },
    edge("plan", "if"),
    edge("if", "fork", "true"),
    edge("if", "none", "false"),
    edge("fork", "lint"),
    edge("fork", "many"),
    edge("fork", "inner"),
    edge("lint", "lint2"),
    edge("lint2", "join"),
    edge("many", "join"),
    edge("inner", "left"),
    edge("inner", "right"),
    edge("left", "meet"),
    edge("right", "meet"),
    edge("meet", "join"),
    edge("join", "act"),
    edge("act", "verify"),
    edge("verify", "repair", "failed"),
    edge("repair", "verify", "retry"),
    edge("verify", "agent", "passed"),
    edge("agent", "ask"),
    edge("ask", "sum", "approved"),
    edge("ask", "refused", "denied"),
    edge("sum", "report"),
    edge("report", "done"),
    name="large",
)


UNDECIDED = copy.deepcopy(LARGE)
"""The same, where nobody is asked: what people sign is different in each run."""
UNDECIDED["nodes"]["ask"] = _stage()
for _edge in UNDECIDED["edges"]:
    if _edge["from"] == "ask":
        _edge["branch"] = "success" if _edge["to"] == "sum" else "failed"


def nodes_in(graph: dict[str, Any]) -> int:
    """Return how many nodes *graph*, its maps and its subagents have."""
    return sum(map(_size, graph["nodes"].values()))


def _size(node: dict[str, Any]) -> int:
    inner = _size(node["body"]) if "body" in node else 0
    return 1 + inner + (nodes_in(node["graph"]) if "graph" in node else 0)
