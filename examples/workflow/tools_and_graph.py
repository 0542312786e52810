"""Tools that say what they may do, and a graph that is checked before anything runs.

python tools_and_graph.py        validates the graph, then under two ceilings
"""

from __future__ import annotations

from muniment_plugins.workflow import (
    tool_define,
    tool_registry,
    tool_select,
    workflow_graph,
    workflow_validate,
)
from muniment_plugins.workflow.tools.registry import ToolRegistry


def review_tools() -> ToolRegistry:
    """Return three tools, each with a policy of its own."""
    tools = tool_registry()
    tools = tool_define(
        tools,
        "read",
        "Read a file",
        {
            "parameters": {"path": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": None,
            "policy": {
                "capabilities": {"workspace": ["read_text"]},
                "side_effect_level": "read_only",
                "path_params": ["path"],
                "mutation_classification": "read_only",
            },
        },
    )
    tools = tool_define(
        tools,
        "edit",
        "Edit a file",
        {
            "parameters": {"path": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": None,
            "policy": {
                "capabilities": {"workspace": ["write_text"]},
                "side_effect_level": "workspace_write",
                "path_params": ["path"],
                "mutation_classification": "apply_workspace",
            },
        },
    )
    return tool_define(
        tools,
        "run",
        "Run a command",
        {
            "parameters": {"command": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": None,
            "policy": {
                "capabilities": {"process": ["exec"]},
                "side_effect_level": "process_exec",
                "mutation_classification": "ambient_side_effect",
            },
        },
    )


tools = review_tools()
graph = workflow_graph(
    {
        "name": "repair_loop",
        "entry": "act",
        "nodes": {
            "act": {"kind": "stage", "mode": "agent", "tools": tools},
            "verify": {
                "kind": "verify",
                "mode": "agent",
                "verify": {"rubric": "Do the tests pass?"},
                "tools": tool_select(tools, ["run"]),
            },
            "repair": {
                "kind": "stage",
                "mode": "agent",
                "tools": tool_select(tools, ["edit", "run"]),
            },
        },
        "edges": [
            {"from": "act", "to": "verify"},
            {"from": "verify", "to": "repair", "branch": "failed"},
            {"from": "repair", "to": "verify", "branch": "retry"},
        ],
    }
)

report = workflow_validate(graph)
print(
    f"{graph.name}: valid {report.valid}, reaches {', '.join(report.reachable_nodes)}"
)

# The registry is what says which level a tool needs: nodes need not repeat it.
for level in ("process_exec", "workspace_write"):
    report = workflow_validate(graph, {"side_effect_level": level})
    print(f"under the ceiling {level}: valid {report.valid}")
    for one in report.errors:
        print(f"  {one.place}: {one.code}")
