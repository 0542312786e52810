"""Which edge a branch takes: the one rule for runs and for validation.

    taken(node, kind, edges, "success")      (0, "exact"), or None

Rules, for a node that ended in a branch:

1. An edge with the label of the branch, or with the node's own name for it, takes it.
2. Else one whose label is another word for the branch, such as ``retry`` of a stage.
3. Else one with ``*``.
4. Else, if the branch means success, one without a label.

Of several in one group the first takes it, in the order of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.words import ANY, SYNONYMS, Branches

__all__ = ["Labelled", "taken"]


class Labelled(Protocol):
    """An edge."""

    @property
    def branch(self) -> str | None:
        """Its label; None for the branches that mean success, ``*`` for any."""
        ...


def taken(
    node: WorkflowNode, branches: Branches, edges: Sequence[Labelled], branch: str
) -> tuple[int, str] | None:
    """Return the number of the edge that *branch* takes, and how it was matched.

    Args:
        node: the node that ended.
        branches: those of its kind.
        edges: the edges that leave it, in their order.
        branch: the usual name of how it ended.

    """
    names = node.names_of(branch)
    for number, one in enumerate(edges):
        if one.branch in names:
            return number, "exact" if one.branch == branch else "alias"
    synonyms = SYNONYMS.get(node.kind, {})
    for number, one in enumerate(edges):
        if one.branch is not None and synonyms.get(one.branch) == branch:
            return number, "alias"
    for number, one in enumerate(edges):
        if one.branch == ANY:
            return number, "any"
    if branch in branches.success:
        for number, one in enumerate(edges):
            if one.branch is None:
                return number, "default"
    return None
