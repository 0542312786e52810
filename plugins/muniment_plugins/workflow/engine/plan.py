"""What a graph would do, without doing any of it, and the hash of that.

    {"workflow": "repair_loop", "graph": "sha256:…", "plan": "sha256:…",
     "steps": [{"node": "act", "kind": "stage", "does": "stages:act",
                "then": [{"to": "verify"}]}, …], …}

Rules:

- Everything that a run needs has been found before: functions, files, executor.
- Equal plans have equal hashes. Other code of a handler is another plan.
- Nodes come in the order in which paths can first come to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.programs.references import refer
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.subgraphs import body_node
from muniment_plugins.workflow.engine.program import WorkflowProgram
from muniment_plugins.workflow.nodes.model import model_of
from muniment_plugins.workflow.runtime.artifact_rows import content_digest_of

__all__ = ["workflow_plan"]

Object = dict[str, JsonValue]


def workflow_plan(program: WorkflowProgram) -> Object:
    """Return what *program* would do."""
    graph = program.graph
    said: Object = {
        "workflow": graph.name,
        "version": graph.version,
        "graph": graph.digest,
        "task": program.task,
        "artifacts": [
            {"id": one.id, "kind": one.kind, "digest": content_digest_of(one)}
            for one in program.artifacts
        ],
        "options": program.options.to_json(),
        "functions": {
            path: cast("Object", refer(one))
            for path, one in sorted(program.functions.items())
        },
        "steps": [_step(graph.nodes[name], graph) for name in _in_order(graph)],
    }
    return {**said, "plan": sha256_tag(canonical(said))}


def _in_order(graph: WorkflowGraph) -> Iterator[str]:
    left, seen = [graph.entry], {graph.entry}
    for name in left:
        yield name
        for one in graph.out(name):
            if one.target not in seen:
                seen.add(one.target)
                left.append(one.target)


def _step(node: WorkflowNode, graph: WorkflowGraph) -> Object:
    then: list[JsonValue] = []
    for one in graph.out(node.name):
        way: Object = {"to": one.target}
        then.append(way if one.branch is None else {**way, "branch": one.branch})
    return {"node": node.name, "kind": node.kind, "does": _does(node), "then": then}


def _does(node: WorkflowNode) -> str:
    """Return in a few words what *node* does."""
    parts: list[str] = []
    if node.kind == "map":
        items = node.part("map_policy").get("items")
        many = f"{len(items)} items" if isinstance(items, list) else "each artifact"
        parts.append(many)
        inner = body_node(node)
        if inner is not None:
            parts.append(f"{inner.kind}: {_does(inner)}")
    if node.handler is not None:
        parts.append(node.handler)
    elif node.mode in ("llm", "agent"):
        parts.append(f"asks {model_of(node)}")
    parts += _checks(node.part("verify"))
    if node.kind == "subagent" and "graph" in node.document:
        parts.append("runs a graph of its own")
    if node.kind == "join":
        parts.append(node.join.strategy)
    if node.kind == "escalation":
        parts.append("asks people")
    most = node.retry.max_attempts
    return ", ".join(parts) + (f" (up to {most} attempts)" if most > 1 else "")


def _checks(said: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield what a verifier looks at."""
    for key in ("command", "handler", "contract_path"):
        if key in said:
            yield f"{key} {said[key]}" if key != "handler" else str(said[key])
    others = sorted(said.keys() - {"command", "handler", "contract_path"})
    if others:
        yield ", ".join(others)
