"""Editing graphs: each function returns another graph, which carries what was done.

    graph = workflow_insert_node(graph, {"id": "lint", "handler": "stages:lint"},
                                 {"from": "act", "to": "lint"}, reason="issue 7")
    graph = workflow_rewire(graph, "fork", "lint", old="check")
    graph.edits[-1].op, graph.edits[-1].reason          ('rewire', '')

Rules:

- A graph, or its document, goes in; nothing that was given is changed.
- An edit names nodes that are there: nothing is overwritten, and nothing is invented. The
  graph need not be able to run after each edit; `workflow_commit` refuses one that is not.
- *reason* and *actor* are kept with the edit; without an actor, whoever commits it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
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
    with_edit,
)

__all__ = [
    "workflow_clone",
    "workflow_insert_node",
    "workflow_remove_node",
    "workflow_replace_node",
    "workflow_rewire",
    "workflow_rewrite",
]

Node = Mapping[str, object]
_Nodes = dict[str, object]
_Edges = list[dict[str, JsonValue]]


def workflow_clone(
    graph: GraphLike, *, reason: str = "", actor: str | None = None
) -> WorkflowGraph:
    """Return *graph* under another name, ``…_clone``, with a version one higher."""
    typed = workflow_graph(graph)
    document = parts_of(typed)
    document["name"] = f"{typed.name}_clone"
    document["version"] = typed.version + 1
    return edited(typed, document, EditNote("clone", None, "name", reason, actor))


def workflow_insert_node(
    graph: GraphLike,
    node: Node,
    edge: Mapping[str, object] | None = None,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with one more node.

    Args:
        graph: a graph, or its document.
        node: the node; its ``id`` is its name, ``node_<n+1>`` without one.
        edge: an edge to add; an end that it does not name is the new node.
        reason: why.
        actor: who does it.

    Raises:
        UsageError: the name is taken, or there is a mistake of form.

    """
    typed = workflow_graph(graph)
    document = parts_of(typed)
    name = _new_name(typed, node)
    cast("_Nodes", document["nodes"])[name] = dict(node)
    if edge is not None:
        added = _edge_of(typed, name, edge)
        cast("list[object]", document["edges"]).append(added)
    return edited(
        typed, document, EditNote("insert_node", name, "nodes", reason, actor)
    )


def _new_name(graph: WorkflowGraph, node: Node) -> str:
    given = node.get("id")
    name = str(_free_name(graph) if given is None else given)
    if name in graph.nodes:
        at = At(graph.place, "workflow").key("nodes").key(name)
        raise at.wrong(
            "there is a node of this name",
            "node-taken",
            "give it another id, or replace the node by workflow_replace_node",
        )
    return name


def _edge_of(
    graph: WorkflowGraph, name: str, edge: Mapping[str, object]
) -> dict[str, object]:
    """Return the *edge* that is added with the node *name*."""
    said = {key: one for key, one in edge.items() if one is not None}
    ends = {key: said.get(key, name) for key in ("from", "to")}
    if not ends.keys() & said.keys():
        message = "it names neither of its ends"
        raise _edges_of(graph).wrong(message, "edge", "name the other node")
    for one in ends.values():
        if one != name:
            require_node(graph, one)
    return {**said, **ends}


def _free_name(graph: WorkflowGraph) -> str:
    number = len(graph.nodes) + 1
    while f"node_{number}" in graph.nodes:
        number += 1
    return f"node_{number}"


def workflow_replace_node(
    graph: GraphLike,
    id: str,  # noqa: A002 - as documents call it
    node: Node,
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* with another node in the place of the one called *id*.

    Raises:
        UsageError: there is none, or there is a mistake of form.

    """
    typed = workflow_graph(graph)
    require_node(typed, id)
    document = parts_of(typed)
    cast("_Nodes", document["nodes"])[id] = dict(node)
    return edited(typed, document, EditNote("replace_node", id, "nodes", reason, actor))


def workflow_remove_node(
    graph: GraphLike,
    id: str,  # noqa: A002 - as above
    *,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* without the node *id*, and without the edges that touch it.

    Raises:
        UsageError: there is none.

    """
    typed = workflow_graph(graph)
    require_node(typed, id)
    document = parts_of(typed)
    del cast("_Nodes", document["nodes"])[id]
    edges = cast("_Edges", document["edges"])
    document["edges"] = [one for one in edges if id not in (one["from"], one["to"])]
    return edited(typed, document, EditNote("remove_node", id, "nodes", reason, actor))


def workflow_rewire(  # noqa: PLR0913 - an edge has these parts
    graph: GraphLike,
    source: str,
    target: str,
    branch: str | None = None,
    *,
    old: str | None = None,
    reason: str = "",
    actor: str | None = None,
) -> WorkflowGraph:
    """Return *graph* in which *source* leads to *target*, in *branch*.

    With *old*, the edge to that node leads to *target* instead. Without it, the only edge
    of *source* in *branch* does, or a new one if there is none. A fork, which takes all its
    edges, gets one more: its other branches stay in any case.

    Args:
        graph: a graph, or its document.
        source: where the edge begins.
        target: where it leads to.
        branch: its label; None is an edge without one.
        old: where the edge led to before.
        reason: why.
        actor: who does it.

    Raises:
        UsageError: a node or the old edge is not there, or several edges could be meant.

    """
    typed = workflow_graph(graph)
    for name in (source, target):
        require_node(typed, name)
    document = parts_of(typed)
    edges = cast("_Edges", document["edges"])
    found = [
        one for one in edges if one["from"] == source and one.get("branch") == branch
    ]
    if old is None and any(one["to"] == target for one in found):
        return typed
    moved = _moved(typed, source, found, branch, old)
    if moved is None:
        label = {} if branch is None else {"branch": branch}
        edges.append({"from": source, "to": target, **label})
    elif target != moved["to"] and any(one["to"] == target for one in found):
        raise _edges_of(typed).wrong(
            f"{source} leads to {target} in this branch already",
            "edge-there",
            "leave it as it is, or remove the other one",
        )
    else:
        moved["to"] = target
    return edited(typed, document, EditNote("rewire", source, "edges", reason, actor))


def _moved(
    graph: WorkflowGraph,
    source: str,
    found: _Edges,
    branch: str | None,
    old: str | None,
) -> dict[str, JsonValue] | None:
    """Return the edge that leads elsewhere from now on; None if one is added."""
    there = [str(one["to"]) for one in found]
    if old is not None:
        for one in found:
            if one["to"] == old:
                return one
        label = "without a label" if branch is None else f"labelled {branch!r:.60}"
        raise _edges_of(graph).wrong(
            f"no edge {label} leads from {source} to {old!r:.80}",
            "edge-unknown",
            near(old, there),
        )
    if graph.nodes[source].kind == "fork" or not found:
        return None
    if len(found) > 1:
        raise _edges_of(graph).wrong(
            f"{len(found)} edges of {source} are in this branch",
            "edge-several",
            f"say which by old=: {', '.join(there)}",
        )
    return found[0]


def workflow_rewrite(
    graph: GraphLike, to: GraphLike, *, reason: str = "", actor: str | None = None
) -> WorkflowGraph:
    """Return the graph *to*, as an edit of *graph*: for graphs that were edited as files.

    Raises:
        UsageError: there is a mistake of form.

    """
    typed, other = workflow_graph(graph), workflow_graph(to)
    functions = {**typed.functions, **other.functions}
    made = WorkflowGraph.from_document(other.document, other.place, functions)
    return with_edit(typed, made, EditNote("rewrite", reason=reason, actor=actor))


def _edges_of(graph: WorkflowGraph) -> At:
    return At(graph.place, "workflow").key("edges")
