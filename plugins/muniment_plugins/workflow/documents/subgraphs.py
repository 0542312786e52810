"""Graphs in graphs: what subagents run, and the functions that all of them name.

Rule: a subagent without a graph runs a graph of the one stage that its node describes.
What a node says of itself is not what it says of its child (`_OF_PARENT`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from muniment.documents.places import At
from muniment_plugins.workflow.documents.compaction_shape import CALLBACKS
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.tools.registry import RegistryLike, registry_of

__all__ = [
    "answering",
    "body_node",
    "child_graph",
    "compactors_of",
    "graphs_in",
    "handlers_of",
    "with_bodies",
]

_OF_PARENT = frozenset(
    {
        "max_visits",
        "branch_semantics",
        "input_contract",
        "context_policy",
        "retry_policy",
    }
)


def body_node(node: WorkflowNode) -> WorkflowNode | None:
    """Return the node in the ``body`` of a map; None if there is none."""
    body = node.document.get("body")
    if not isinstance(body, dict):
        return None
    said = {"kind": "stage", **body}
    return WorkflowNode("body", said, node.at.key("body"), node)


def with_bodies(node: WorkflowNode) -> Iterator[WorkflowNode]:
    """Yield *node*, its body if it is a map with one, the body of that, and so on."""
    one: WorkflowNode | None = node
    while one is not None:
        yield one
        one = body_node(one)


def handlers_of(node: WorkflowNode) -> Iterator[tuple[str, At]]:
    """Yield the import path of each function that *node* names, and its place."""
    at = node.at
    if node.handler is not None:
        yield node.handler, at.key("handler")
    check = node.part("verify").get("handler")
    if check is not None:
        yield str(check), at.key("verify").key("handler")
    for name, path in compactors_of(node).items():
        yield path, at.key("auto_compact").key(name)
    tools = registry_of(cast("RegistryLike", node.document.get("tools"))).tools
    for name, tool in tools.items():
        if tool.handler is not None:
            yield tool.handler, at.key("tools").key(name)
    for number, path in enumerate(node.tool_servers):
        yield path, at.key("tool_servers").item(number)
    inner = body_node(node)
    if inner is not None:
        yield from handlers_of(inner)


def answering(graph: WorkflowGraph) -> Iterator[tuple[str, At]]:
    """Yield the import path of each function that answers an update, and its place."""
    box = graph.document.get("mailbox")
    updates = box.get("updates") if isinstance(box, dict) else None
    at = At(graph.place, "workflow").key("mailbox").key("updates")
    if isinstance(updates, dict):
        for name, path in updates.items():
            yield str(path), at.key(name)


def compactors_of(node: WorkflowNode) -> Mapping[str, str]:
    """Return the functions that compact the session of *node*: key → import path."""
    said = node.part("auto_compact")
    return {name: str(said[name]) for name in CALLBACKS if name in said}


def graphs_in(graph: WorkflowGraph) -> Iterator[WorkflowGraph]:
    """Yield *graph*, and the graphs of its subagents, at every depth."""
    yield graph
    for node in graph.nodes.values():
        inner = child_graph(graph, node)
        if inner is not None:
            yield from graphs_in(inner)


def child_graph(graph: WorkflowGraph, node: WorkflowNode) -> WorkflowGraph | None:
    """Return the graph that the *node* runs as a child; None if it runs none."""
    if node.kind != "subagent":
        inner = body_node(node)
        return None if inner is None else child_graph(graph, inner)
    written = node.document.get("graph")
    place = f"{graph.place}: {node.at.path}"
    if isinstance(written, dict):
        return WorkflowGraph.from_document(
            {"name": node.name, **written}, place, graph.functions
        )
    kept = {key: value for key, value in node.document.items() if key not in _OF_PARENT}
    stage = {**kept, "kind": "stage"}
    return WorkflowGraph.from_document(
        {"name": node.name, "nodes": {node.name: stage}, "entry": node.name},
        place,
        graph.functions,
    )
