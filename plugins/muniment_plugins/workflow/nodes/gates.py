"""``fork`` and ``join``: where paths part, and where they meet.

    {"kind": "fork"}
    {"kind": "join", "join_policy": {"strategy": "quorum", "min_completed": 2}}

Rule: the engine takes a fork with all its branches and its join (`engine.forks`). A join
that a single path comes to, behind a condition, is passed; its policy may ask for no more
than that one (`validation.joins`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muniment_plugins.workflow.documents.words import BRANCHES
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = ["ForkKind", "JoinKind", "quorum_findings"]

_BRANCHES = 2
"""Fewer are no fork."""


class ForkKind:
    """The kind ``fork``."""

    name = "fork"
    branches = BRANCHES["fork"]
    keys = frozenset[str]()

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a fork: it has one way, or ways with labels."""
        edges = graph.out(node.name)
        if len(edges) < _BRANCHES:
            yield WorkflowFinding(
                "FORK_NARROW",
                "error",
                node.at.path,
                f"it has {len(edges)} edges",
                "give it an edge to each branch, two at least",
            )

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Fail: the engine takes forks itself."""
        raise AssertionError(here.node.name)


class JoinKind:
    """The kind ``join``."""

    name = "join"
    branches = BRANCHES["join"]
    keys = frozenset({"join_policy"})

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a join: too little leads to it."""
        entering = [one for one in graph.edges if one.target == node.name]
        if len(entering) < _BRANCHES:
            yield WorkflowFinding(
                "JOIN_NARROW",
                "warning",
                node.at.path,
                f"it joins {len(entering)} edges",
                "leave it out, or let more lead to it",
            )
        yield from quorum_findings(node, len(entering))

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Let the only path that came pass."""
        del here
        return NodeOutcome("join", "joined")


def quorum_findings(node: WorkflowNode, most: int | None) -> Iterable[WorkflowFinding]:
    """Return what is wrong with the numbers of a join policy; *most* can complete."""
    policy, there = node.join, node.at.key("join_policy")
    said = node.part("join_policy")
    strategy = said.get("strategy", "all")
    if strategy == "first" and policy.min_completed is not None:
        yield WorkflowFinding(
            "JOIN_QUORUM",
            "error",
            there.key("min_completed").path,
            "the first one that completes is enough",
            'leave it out, or write the strategy "quorum"',
        )
    if said.get("require_all_inputs") and strategy != "all":
        yield WorkflowFinding(
            "JOIN_QUORUM",
            "error",
            there.key("require_all_inputs").path,
            f"all are required, and the strategy is {strategy}",
            "leave one of them out",
        )
    if policy.requires_all and policy.min_completed is not None:
        yield WorkflowFinding(
            "JOIN_QUORUM",
            "error",
            there.key("min_completed").path,
            "all are required",
            "leave one of them out",
        )
    if policy.strategy == "quorum" and policy.min_completed is None:
        yield WorkflowFinding(
            "JOIN_QUORUM",
            "error",
            there.path,
            "a quorum of how many?",
            "write min_completed",
        )
    if (
        most is not None
        and policy.min_completed is not None
        and policy.min_completed > most
    ):
        yield WorkflowFinding(
            "JOIN_QUORUM",
            "error",
            there.key("min_completed").path,
            f"{policy.min_completed} of {most} can never complete",
            f"write at most {most}",
        )
