"""What each node of a run may do at most, and what it asked for in vain.

    policy.intersected {"node": "act", "narrowed": [{"member": "tools", …}], "refused": []}

Rules:

- A node may do what the run, the graph and the node itself all allow; the body of a map
  what the map may do, too. A nested run may do what the node that runs it may do, one
  level further down.
- Approvals that nobody gave are no policy: the gate then denies whatever does more than
  read. Target paths in the metadata of a node are asked beside all approvals, and are
  none themselves: they deny, and let nothing pass that was denied without them.
- Whatever a ceiling takes away is stated when the run begins; what it refuses keeps the
  graph from being run at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.approvals import (
    ToolApprovalPolicy,
    approvals_of,
    intersect_approvals,
)
from muniment_plugins.workflow.ceilings.intersection import PolicyRow, intersect
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy, policy_of
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.words import TARGET_PATHS

__all__ = ["NodePermissions", "permissions_of"]

Object = Mapping[str, JsonValue]
_UNLIMITED = CapabilityPolicy()


@dataclass(frozen=True, slots=True)
class NodePermissions:
    """What a node may do at most."""

    policy: CapabilityPolicy
    approvals: ToolApprovalPolicy | None
    narrowed: tuple[PolicyRow, ...] = ()
    refused: tuple[PolicyRow, ...] = ()

    def stated(self, node: str) -> dict[str, JsonValue] | None:
        """Return the fact of what was taken away; None if nothing was."""
        if not (self.narrowed or self.refused):
            return None
        return {
            "node": node,
            "result": self.policy.document(),
            "narrowed": [one.document() for one in self.narrowed],
            "refused": [one.document() for one in self.refused],
        }


def permissions_of(
    graph: WorkflowGraph,
    node: WorkflowNode,
    ceiling: Object | None,
    approvals: Object | None = None,
) -> NodePermissions:
    """Return what *node* of *graph* may do under *ceiling*.

    Raises:
        UsageError: roots cannot be compared.

    """
    nodes = _outermost_first(node)
    said = [graph.document, *(one.document for one in nodes)]
    policy = policy_of(ceiling, "ceiling")
    narrowed: list[PolicyRow] = []
    refused: list[PolicyRow] = []
    asked: ToolApprovalPolicy | None = None
    if approvals is not None:
        asked = approvals_of(approvals)
    for one in said:
        own = _object(one, "approval_policy")
        if own is not None:
            asked = intersect_approvals(asked, own)
        asked_for = _object(one, "capability_policy")
        if asked_for is None and policy == _UNLIMITED:
            continue  # as in most graphs: all of all is left
        found = intersect(policy, asked_for)
        policy = found.result
        narrowed += found.narrowed
        refused += found.refused
    for inner in nodes:
        if TARGET_PATHS in inner.metadata:
            asked = intersect_approvals(approvals_of(asked), _only_below(inner))
    return NodePermissions(
        policy, asked, tuple(dict.fromkeys(narrowed)), tuple(dict.fromkeys(refused))
    )


def _only_below(node: WorkflowNode) -> ToolApprovalPolicy:
    """Return the policy that denies what *node* would write beside its target paths.

    It lets everything else pass, so that it never stands alone.
    """
    place = node.at.key("metadata").key(TARGET_PATHS).path
    paths = node.metadata[TARGET_PATHS]
    return approvals_of({"write_path_allowlist": paths, "default": "allow"}, place)


def _outermost_first(node: WorkflowNode) -> list[WorkflowNode]:
    """Return the maps whose body *node* is, and then the node."""
    return [*([] if node.outer is None else _outermost_first(node.outer)), node]


def _object(document: Object, key: str) -> Object | None:
    found = document.get(key)
    return found if isinstance(found, dict) else None
