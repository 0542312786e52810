"""What can be wrong with edges: where they lead, and which branches take them.

Rule: some branch takes each edge, by the rule that a run follows (`documents.matching`); an
edge that none takes is named, with the edges that are before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muniment.documents.places import At, near
from muniment_plugins.workflow.documents.graph import WorkflowEdge, WorkflowGraph
from muniment_plugins.workflow.documents.matching import taken
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.words import ANY, SYNONYMS
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.kind import NodeKind

__all__ = ["edge_findings"]

_TOP = At("", "workflow", "edges")


def edge_findings(
    graph: WorkflowGraph, kinds: Mapping[str, NodeKind]
) -> Iterator[WorkflowFinding]:
    """Yield what is wrong with the edges of *graph*."""
    numbers: dict[str, list[int]] = {}
    for number, edge in enumerate(graph.edges):
        at = _TOP.item(number)
        for key, name in (("from", edge.source), ("to", edge.target)):
            if name not in graph.nodes:
                yield WorkflowFinding(
                    "EDGE_UNKNOWN",
                    "error",
                    at.key(key).path,
                    f"no node is called {name!r:.80}",
                    near(name, graph.nodes),
                )
        node = graph.nodes.get(edge.source)
        if node is None or node.kind not in kinds:
            continue
        numbers.setdefault(node.name, []).append(number)
        yield from _of_label(node, edge, kinds[node.kind], at)
    for name, found in numbers.items():
        if len(found) > 1:
            yield from _of_others(graph, graph.nodes[name], kinds, found)


def _of_label(
    node: WorkflowNode, edge: WorkflowEdge, kind: NodeKind, at: At
) -> Iterator[WorkflowFinding]:
    if edge.branch is None:
        return
    if node.kind == "fork":
        yield WorkflowFinding(
            "FORK_LABEL",
            "error",
            at.key("branch").path,
            "a fork takes all its edges, whatever their labels",
            "leave the branch out",
        )
        return
    if edge.branch == ANY:
        return
    known = {name for one in kind.branches.all for name in node.names_of(one)}
    known |= SYNONYMS.get(node.kind, {}).keys()
    if edge.branch not in known:
        yield WorkflowFinding(
            "LABEL_DEAD",
            "error",
            at.key("branch").path,
            f"{node.name}, a {node.kind}, never ends in {edge.branch!r:.60}",
            near(edge.branch, sorted(known)),
        )


def _of_others(
    graph: WorkflowGraph,
    node: WorkflowNode,
    kinds: Mapping[str, NodeKind],
    numbers: list[int],
) -> Iterator[WorkflowFinding]:
    """Yield which edges of *node* nothing takes, since another one takes its branches."""
    edges = [graph.edges[one] for one in numbers]
    if node.kind == "fork":
        yield from _of_fork(edges, numbers)
        return
    branches = kinds[node.kind].branches
    takes = {one: taken(node, branches, edges, one) for one in branches.all}
    live = {found[0] for found in takes.values() if found is not None}
    for place, edge in enumerate(edges):
        alone = [
            one
            for one in branches.all
            if taken(node, branches, [edge], one) is not None
        ]
        if place in live or not alone:  # a dead label is another mistake
            continue
        before = sorted(
            {found[0] for one in alone if (found := takes[one]) is not None}
        )
        same = any(edges[one].target == edge.target for one in before)
        others = " and ".join(f"edges[{numbers[one]}]" for one in before)
        words = "takes" if len(before) == 1 else "take"
        yield _twice(
            "EDGE_DUPLICATE" if same else "EDGE_AMBIGUOUS",
            _TOP.item(numbers[place]),
            f"nothing takes it: {others} {words} {', '.join(alone)} of {node.name} before",
        )


def _of_fork(
    edges: list[WorkflowEdge], numbers: list[int]
) -> Iterator[WorkflowFinding]:
    seen = set[str]()
    for number, edge in zip(numbers, edges, strict=True):
        if edge.target in seen:
            at = _TOP.item(number)
            yield _twice("EDGE_DUPLICATE", at, "both lead to the same branch")
        seen.add(edge.target)


def _twice(code: str, at: At, message: str) -> WorkflowFinding:
    remedy = "leave one of them out; a node of the kind fork takes several ways at once"
    return WorkflowFinding(code, "error", at.path, message, remedy)
