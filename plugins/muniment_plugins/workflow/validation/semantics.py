"""What can be wrong with the names that a node gives to its branches.

    {"success": "done", "failure": "broken"}       fine
    {"success": "failed"}                          SEMANTICS_TAKEN: a failure is called so

Rule: a name means one branch. So it is no usual name of another branch, no other word for
one, not ``*``, and no name that the same node gives to another branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from muniment.documents.places import near
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.words import ANY, SEMANTICS, SYNONYMS
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.kind import NodeKind

__all__ = ["semantics_findings"]


def semantics_findings(node: WorkflowNode, kind: NodeKind) -> Iterator[WorkflowFinding]:
    """Yield which members of ``branch_semantics`` name no branch, or take a name."""
    known = SEMANTICS.get(node.kind, {})
    there = node.at.key("branch_semantics")
    means: dict[str, str] = {one: one for one in kind.branches.all}
    means |= SYNONYMS.get(node.kind, {})
    for member, value in node.part("branch_semantics").items():
        name, at = cast("str", value), there.key(member)
        branch = known.get(member)
        if branch is None:
            yield WorkflowFinding(
                "SEMANTICS_UNKNOWN",
                "error",
                at.path,
                f"a node of the kind {node.kind} has no such branch",
                near(member, known),
            )
            continue
        other = "every branch" if name == ANY else means.setdefault(name, branch)
        if other != branch:
            yield WorkflowFinding(
                "SEMANTICS_TAKEN",
                "error",
                at.path,
                f"{name!r:.60} means {other} of {node.name} already",
                "write a name that is free",
            )
