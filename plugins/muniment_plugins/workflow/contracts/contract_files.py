"""The files of contracts that verifiers name: read once, and held to what graphs are held to.

Rule: what a file says is as if the graph said it. So a command in a file is beyond a
ceiling, or without one, like a command in the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.contracts.verifier import read_contract, united
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.subgraphs import graphs_in, with_bodies

__all__ = ["contract_files", "with_contracts"]

Object = Mapping[str, JsonValue]


def contract_files(graph: WorkflowGraph, folder: Path) -> dict[str, Object]:
    """Return path → contract of all files that *graph*, and those in it, name.

    Raises:
        UsageError: one cannot be read, or says something that nothing checks.

    """
    named = (
        inner.part("verify").get("contract_path")
        for one in graphs_in(graph)
        for node in one.nodes.values()
        for inner in with_bodies(node)
    )
    paths = dict.fromkeys(str(one) for one in named if one is not None)
    return {path: read_contract(folder / path) for path in paths}


def with_contracts(graph: WorkflowGraph, files: Mapping[str, Object]) -> WorkflowGraph:
    """Return *graph* as if its verifiers said what their *files* say."""
    document = cast("JsonValue", _graph(graph.document, files))
    return WorkflowGraph.from_document(document, graph.place)


def _graph(document: Object, files: Mapping[str, Object]) -> Object:
    nodes = cast("Mapping[str, Object]", document["nodes"])
    return {
        **document,
        "nodes": {name: dict(_node(one, files)) for name, one in nodes.items()},
    }


def _node(node: Object, files: Mapping[str, Object]) -> Object:
    found = dict(node)
    said = cast("Object", node.get("verify") or {})
    if "contract_path" in said:
        found["verify"] = united(said, files)
    for key, inner in (("body", _node), ("graph", _graph)):
        if key in node:
            found[key] = dict(inner(cast("Object", node[key]), files))
    return found
