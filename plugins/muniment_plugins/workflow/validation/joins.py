"""Whether as many paths come to a join as its policy needs.

    c ── x ──┐
    └── y ── join     {"min_completed": 2}     JOIN_QUORUM: one path comes, by x or by y

Rules:

- As many paths meet in a join as branches of its fork lead to it. Where the ways of a
  condition meet, behind no fork, a single path comes, and nothing is waited for.
- A policy has to hold however paths come: the least number of them decides. `first`, and a
  quorum of one, hold where a single path comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.structure import ForkRegion, Structure
from muniment_plugins.workflow.findings import WorkflowFinding

__all__ = ["fewest_paths", "join_findings"]


def fewest_paths(graph: WorkflowGraph, structure: Structure) -> Mapping[str, int]:
    """Return how many paths meet at least in each join that paths come to.

    It follows them as a run does: within a fork up to its join, and on from there.
    """
    fewest: dict[str, int] = {}

    def note(join: str, count: int) -> None:
        fewest[join] = min(count, fewest.get(join, count))

    left: list[tuple[str, str | None]] = [(graph.entry, None)]
    seen = set[tuple[str, str | None]]()
    while left:
        one = name, until = left.pop()
        if one in seen or name == until or name not in graph.nodes:
            continue
        seen.add(one)
        goes_on: str | None = name
        if graph.nodes[name].kind == "fork":
            region = structure.regions[name]
            left += [(first, region.join) for first in region.branches]
            goes_on = region.join
            if goes_on is not None:
                note(goes_on, _meeting(graph, region))
        elif graph.nodes[name].kind == "join":
            note(name, 1)
        if goes_on is not None:
            left += [(edge.target, until) for edge in graph.out(goes_on)]
    return fewest


def _meeting(graph: WorkflowGraph, region: ForkRegion) -> int:
    """Return how many branches of a fork lead to its join; the others end."""
    return sum(
        first == region.join
        or any(edge.target == region.join for one in nodes for edge in graph.out(one))
        for first, nodes in region.branches.items()
    )


def join_findings(
    graph: WorkflowGraph, structure: Structure
) -> Iterator[WorkflowFinding]:
    """Yield which joins of *graph* need more paths than come to them."""
    for name, fewest in sorted(fewest_paths(graph, structure).items()):
        policy = graph.nodes[name].join
        at = graph.nodes[name].at.key("join_policy")
        entering = sum(one.target == name for one in graph.edges)
        alone = "a single path comes to it, from no fork that it closes"
        if policy.requires_all and fewest == 1:
            yield WorkflowFinding(
                "JOIN_QUORUM",
                "error",
                at.key("require_all_inputs").path,
                f"all are required, and {alone}",
                "leave it out, or let a fork lead to it",
            )
        # More than enter it at all is found with the numbers of its policy.
        if fewest < (policy.min_completed or 1) <= entering:
            branches = f"no more than {fewest} branches of a fork lead to it"
            yield WorkflowFinding(
                "JOIN_QUORUM",
                "error",
                at.key("min_completed").path,
                f"{policy.min_completed} can never complete: "
                f"{alone if fewest == 1 else branches}",
                f"write at most {fewest}, or let a fork lead to it",
            )
