"""Orchestration that changes: edits of a graph are checked, compared, committed.

python edit_a_graph.py        edits a graph, commits it twice, and reads its history

An edit makes another graph; who made it, why, and what it changed go into the ledger with
the commit, and each version is what its edits lead to.
"""

from __future__ import annotations

import muniment
from muniment_plugins.workflow import (
    workflow_clone,
    workflow_commit,
    workflow_diff,
    workflow_graph,
    workflow_history,
    workflow_insert_node,
    workflow_inspect,
    workflow_policy_report,
    workflow_replace_node,
    workflow_rewire,
    workflow_set_auto_compact,
    workflow_set_context_policy,
    workflow_set_model_policy,
    workflow_set_output_visibility,
    workflow_validate,
)

CEILING = {"side_effect_level": "read_only", "tools": ["read"]}
begun = workflow_graph(
    {
        "name": "answer",
        "nodes": {
            "read": {"mode": "llm", "model_policy": {"model": "scripted:a.json"}},
            "write": {
                "mode": "llm",
                "model_policy": {"model": "scripted:a.json", "session_id": "desk"},
                "capability_policy": {"tools": ["read", "write"]},
            },
        },
        "edges": [{"from": "read", "to": "write"}],
    }
)

graph = workflow_insert_node(
    begun,
    {"id": "check", "kind": "verify", "verify": {"assert_text": "Dear"}},
    {"from": "write"},
    reason="nobody looked",
    actor="ann",
)
graph = workflow_replace_node(
    graph,
    "check",
    {"kind": "verify", "verify": {"assert_text": "Dear", "notes": ["Greet first."]}},
    reason="say why",
    actor="ann",
)
graph = workflow_rewire(graph, "check", "write", "failed", actor="bob")
graph = workflow_set_model_policy(
    graph, "read", {"model": "scripted:b.json", "temperature": 0}, actor="bob"
)
graph = workflow_set_context_policy(graph, "write", {"max_tokens": 1200}, actor="bob")
graph = workflow_set_auto_compact(
    graph, "write", {"enabled": True, "token_threshold": 4000}, actor="bob"
)
graph = workflow_set_output_visibility(graph, "write", "public", actor="bob")

if __name__ == "__main__":
    seen = workflow_inspect(graph)
    print(f"{seen.node_count} nodes, {seen.edge_count} edges: {seen.validation.valid}")
    found = workflow_diff(begun, graph)
    print(f"added {', '.join(found.nodes_added)}")
    for name, changes in found.nodes_changed.items():
        print(f"  {name}: {', '.join(one.member for one in changes)}")
    for edge in found.edges_added:
        print(f"  {edge['from']} to {edge['to']} by {edge.get('branch', 'success')}")

    # A ceiling narrows what nodes may do; what asks for more is an error, not a surprise.
    print(f"under the ceiling: valid {workflow_validate(graph, CEILING).valid}")
    for node in workflow_policy_report(graph, CEILING).nodes:
        for refused in node.refused:
            print(f"  {node.node_id} is refused: {dict(refused)}")

    with muniment.open(create=True) as ledger:
        workflow_commit(ledger, begun, "a beginning")
        made = workflow_commit(ledger, graph, "what is written is checked")
        for version in workflow_history(ledger, "answer"):
            edits = [f"{one.edit.op} {one.edit.actor}" for one in version.edits]
            print(f"version {version.version}: {', '.join(edits)}")
        copied = workflow_clone(made, reason="for another desk")
        print(f"{copied.name}, version {copied.version}")
