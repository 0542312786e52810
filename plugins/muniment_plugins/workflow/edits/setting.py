"""Editing one member of a node, or of the graph: policies first, and any other.

    workflow_set_retry_policy(graph, "act", {"max_attempts": 3}, reason="it is flaky")
    workflow_set(graph, "act", "timeout_s", 60)
    workflow_set(graph, None, "entry", "act")

Rules:

- The whole value is replaced; None takes the member away.
- What a node's kind does not read, it may be given; the graph is not committed then.
"""

from __future__ import annotations

from typing import cast

from muniment_plugins.workflow.documents.graph import (
    GraphLike,
    WorkflowGraph,
    workflow_graph,
)
from muniment_plugins.workflow.edits.edited import (
    EditNote,
    edited,
    parts_of,
    require_node,
)

__all__ = [
    "workflow_set",
    "workflow_set_auto_compact",
    "workflow_set_capability_policy",
    "workflow_set_context_policy",
    "workflow_set_model_policy",
    "workflow_set_output_visibility",
    "workflow_set_retry_policy",
]


def workflow_set(
    graph: GraphLike,
    node: str | None,
    key: str,
    value: object,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with *value* under *key* of *node*.

    Args:
        graph: a graph, or its document.
        node: the name of a node; None is the graph itself.
        key: a member, such as ``timeout_s``.
        value: the whole of it; None takes it away.
        reason: why.
        actor: who does it.

    Raises:
        UsageError: there is no such node, or there is a mistake of form.

    """
    return _set(
        workflow_graph(graph), key, value, EditNote("set", node, key, reason, actor)
    )


def workflow_set_model_policy(
    graph: GraphLike,
    node: str,
    policy: object,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with another model policy of *node*; see `workflow_set`."""
    return _policy(graph, node, "model_policy", policy, reason, actor)


def workflow_set_context_policy(
    graph: GraphLike,
    node: str,
    policy: object,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with another context policy of *node*; see `workflow_set`."""
    return _policy(graph, node, "context_policy", policy, reason, actor)


def workflow_set_retry_policy(
    graph: GraphLike,
    node: str,
    policy: object,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with another retry policy of *node*; see `workflow_set`."""
    return _policy(graph, node, "retry_policy", policy, reason, actor)


def workflow_set_capability_policy(
    graph: GraphLike,
    node: str | None,
    policy: object,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with another capability policy of *node*, or of the graph (None)."""
    return _policy(graph, node, "capability_policy", policy, reason, actor)


def workflow_set_auto_compact(
    graph: GraphLike,
    node: str,
    policy: object,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with another policy of compaction for the session of *node*.

    See `workflow_set`, and `compact_policy` for the keys.
    """
    return _policy(graph, node, "auto_compact", policy, reason, actor)


def workflow_set_output_visibility(
    graph: GraphLike,
    node: str,
    visibility: object,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with another visibility of what *node* says; see `workflow_set`."""
    return _policy(graph, node, "output_visibility", visibility, reason, actor)


def _policy(
    graph: GraphLike,
    node: str | None,
    key: str,
    value: object,
    reason: str,
    actor: str | None,
) -> WorkflowGraph:
    note = EditNote("set_policy", node, key, reason, actor)
    return _set(workflow_graph(graph), key, value, note)


def _set(
    graph: WorkflowGraph, key: str, value: object, note: EditNote
) -> WorkflowGraph:
    document = parts_of(graph)
    part = document
    if note.node is not None:
        require_node(graph, note.node)
        nodes = cast("dict[str, dict[str, object]]", document["nodes"])
        part = nodes[note.node]
    part.pop(key, None)
    if value is not None:
        part[key] = value
    return edited(graph, document, note)
