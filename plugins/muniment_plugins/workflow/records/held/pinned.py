"""What a record has, held against the graph that its run pinned.

    pinned(skeleton, params)      the skeleton without visits of nodes that no graph has
    is_of_graph(params)           whether these are the params of a run of a graph

Rules:

- A visit is of a node of the graph, of its kind; on an item of a map, of the map's body. A
  way on is along an edge. What is said below a visit that was none is dropped with it.
- An id is in a record once: that of the first artifact that has it.
- Without the graph, once the params of the run were erased, nothing is held against it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from muniment_plugins.workflow.records.rows import Row, above

__all__ = ["is_of_graph", "pinned"]

_WORK = ("handler", "mode")


def is_of_graph(params: Mapping[str, Any]) -> bool:
    """Tell whether *params* have what those of every run of a graph have."""
    options, graph = params.get("options"), params.get("graph")
    return (
        isinstance(params.get("task"), str)
        and isinstance(options, dict)
        and isinstance(cast("Row", options).get("cwd"), str)
        and _listed(params.get("artifacts"), "id")
        and isinstance(graph, dict)
        and _is_graph(cast("Row", graph))
    )


def _is_graph(graph: Row) -> bool:
    nodes: object = graph.get("nodes")
    return (
        isinstance(nodes, dict)
        and isinstance(graph.get("entry", ""), str)
        and _listed(graph.get("edges", []), "from", "to")
        and all(map(_is_node, cast("Row", nodes).values()))
    )


def _is_node(node: object) -> bool:
    if not isinstance(node, dict):
        return False
    said = cast("Row", node)
    return isinstance(said.get("graph", {}), dict) and (
        "body" not in said or _is_node(said["body"])
    )


def _listed(rows: object, *names: str) -> bool:
    return isinstance(rows, list) and all(
        isinstance(one, dict)
        and all(isinstance(cast("Row", one).get(name), str) for name in names)
        for one in cast("list[object]", rows)
    )


def pinned(skeleton: Row, params: Mapping[str, Any]) -> Row:
    """Return *skeleton* without what a run of the graph in *params* cannot have."""
    given = {one["id"] for one in params.get("artifacts", [])}
    kept = {**skeleton, "artifacts": _each_once(skeleton["artifacts"], given)}
    graph = params.get("graph")
    if graph is None:
        return kept
    nodes: Mapping[str, Row] = graph["nodes"]
    odd = {
        scope
        for scope, stage in skeleton["stages"].items()
        if not _is_of(skeleton, stage, nodes)
    }
    ways = {(one["from"], one["to"]) for one in graph.get("edges", [])}
    kept["transitions"] = [
        one
        for one in skeleton["transitions"]
        if (one["source"], one["target"]) in ways and one["stage"] not in odd
    ]
    return _without(kept, odd) if odd else kept


def _each_once(rows: list[Row], given: Collection[str]) -> list[Row]:
    seen, kept = set(given), list[Row]()
    for one in rows:
        name = one["row"]["id"]
        if name not in seen:
            seen.add(name)
            kept.append(one)
    return kept


def _is_of(skeleton: Row, stage: Row, nodes: Mapping[str, Row]) -> bool:
    """Tell whether *stage* is a visit of one of *nodes*, or of a body of a map."""
    node = _node_of(skeleton, stage, nodes)
    return node is not None and node.get("kind", "stage") == stage["kind"]


def _node_of(skeleton: Row, stage: Row, nodes: Mapping[str, Row]) -> Row | None:
    owner = stage.get("item_of")
    if owner is None:
        return nodes.get(stage["node"])
    around = _node_of(skeleton, skeleton["stages"][owner], nodes)
    if around is None or stage["node"] != "body":
        return None
    if "body" in around:
        return cast("Row", around["body"])
    return {} if any(name in around for name in _WORK) else None


def _without(skeleton: Row, odd: Collection[str]) -> Row:
    """Return *skeleton* without the stages *odd*, and what is below them."""

    def is_odd(scope: str | None) -> bool:
        return scope is not None and any(one in odd for one in above(scope))

    stages = skeleton["stages"]
    return {
        **skeleton,
        "stages": {scope: one for scope, one in stages.items() if not is_odd(scope)},
        "latest": {
            path: {name: one for name, one in names.items() if not is_odd(one)}
            for path, names in skeleton["latest"].items()
        },
        "closed": {
            scope: seq for scope, seq in skeleton["closed"].items() if not is_odd(scope)
        },
        **{
            name: [one for one in skeleton[name] if not is_odd(one["scope"])]
            for name in ("transitions", "artifacts")
        },
        "children": {
            place: {**one, "stage": None} if is_odd(one["stage"]) else one
            for place, one in skeleton["children"].items()
        },
    }
