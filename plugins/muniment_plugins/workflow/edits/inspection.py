"""What a graph is, and what its nodes may do, in one answer each.

    workflow_inspect(graph).document()
    {"graph": {…}, "validation": {"valid": true, …}, "node_count": 3, "edge_count": 3}

    workflow_policy_report(graph, {"side_effect_level": "read_only"}).nodes[0].refused
    ({'member': 'side_effect_level', …},)

Rule: the report states what an execution under the same ceiling would hold each node to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.permission import CallFacts, denial
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy, policy_of
from muniment_plugins.workflow.documents.graph import (
    GraphLike,
    WorkflowGraph,
    workflow_graph,
)
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.nodes.box import BOX
from muniment_plugins.workflow.nodes.kind import NodeKind
from muniment_plugins.workflow.stages.permissions import permissions_of
from muniment_plugins.workflow.tools.registry import RegistryLike, registry_of
from muniment_plugins.workflow.validation.checks import (
    ValidationReport,
    workflow_validate,
)

__all__ = [
    "NodePolicy",
    "PolicyReport",
    "WorkflowInspection",
    "workflow_inspect",
    "workflow_policy_report",
]

Object = Mapping[str, JsonValue]
_OF_TOOLS = ("tool_not_allowed", "level_exceeded", "capability_not_allowed")
"""Denials that need no arguments."""


@dataclass(frozen=True, slots=True)
class WorkflowInspection:
    """A graph, and what is wrong with it."""

    graph: WorkflowGraph
    validation: ValidationReport
    node_count: int
    edge_count: int

    def document(self) -> dict[str, JsonValue]:
        """Return it as a JSON object."""
        return {
            "graph": dict(self.graph.document),
            "validation": self.validation.document(),
            "node_count": self.node_count,
            "edge_count": self.edge_count,
        }


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """What a node may do at most."""

    node_id: str
    policy: Object
    """What the ceiling, the graph and the node leave."""
    approvals: Object
    tools: tuple[str, ...]
    """Those of its tools that it may call with some arguments."""
    denied: Mapping[str, str]
    """Each of its other tools, and why not."""
    narrowed: tuple[Object, ...]
    refused: tuple[Object, ...]
    """What it asks for in vain; such a graph is not run."""

    def document(self) -> dict[str, JsonValue]:
        """Return it as a JSON object."""
        return {
            "node_id": self.node_id,
            "policy": dict(self.policy),
            "approvals": dict(self.approvals),
            "tools": [*self.tools],
            "denied": dict(self.denied),
            "narrowed": [dict(one) for one in self.narrowed],
            "refused": [dict(one) for one in self.refused],
        }


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """What the nodes of a graph may do under a ceiling."""

    workflow_policy: Object
    """What the graph asks for."""
    ceiling: Object
    validation: ValidationReport
    nodes: tuple[NodePolicy, ...]

    def document(self) -> dict[str, JsonValue]:
        """Return it as a JSON object."""
        return {
            "workflow_policy": dict(self.workflow_policy),
            "ceiling": dict(self.ceiling),
            "validation": self.validation.document(),
            "nodes": [one.document() for one in self.nodes],
        }


def workflow_inspect(
    graph: GraphLike,
    ceiling: Object | None = None,
    *,
    kinds: Mapping[str, NodeKind] = BOX,
) -> WorkflowInspection:
    """Return *graph* in its normal form, and what is wrong with it.

    Args:
        graph: a graph, or its document.
        ceiling: the capability policy that it is held to.
        kinds: the kinds of nodes that are known.

    Raises:
        UsageError: it has a mistake of form.

    """
    typed = workflow_graph(graph)
    report = workflow_validate(typed, ceiling, kinds=kinds)
    return WorkflowInspection(typed, report, len(typed.nodes), len(typed.edges))


def workflow_policy_report(
    graph: GraphLike,
    ceiling: Object | None = None,
    *,
    kinds: Mapping[str, NodeKind] = BOX,
) -> PolicyReport:
    """Return what each node of *graph* may do under *ceiling*; see `workflow_inspect`.

    Raises:
        UsageError: it has a mistake of form, or roots cannot be compared.

    """
    typed = workflow_graph(graph)
    held = None if ceiling is None else policy_of(ceiling, "ceiling").document()
    asked = cast("Object", typed.document.get("capability_policy", {}))
    return PolicyReport(
        asked,
        held or {},
        workflow_validate(typed, ceiling, kinds=kinds),
        tuple(_of_node(typed, one, held) for one in typed.nodes.values()),
    )


def _of_node(
    graph: WorkflowGraph, node: WorkflowNode, ceiling: Object | None
) -> NodePolicy:
    may = permissions_of(graph, node, ceiling)
    denied = dict(_denied(node, may.policy))
    tools = registry_of(cast("RegistryLike", node.document.get("tools"))).tools
    return NodePolicy(
        node.name,
        may.policy.document(),
        {} if may.approvals is None else may.approvals.document(),
        tuple(one for one in sorted(tools) if one not in denied),
        denied,
        tuple(one.document() for one in may.narrowed),
        tuple(one.document() for one in may.refused),
    )


def _denied(node: WorkflowNode, policy: CapabilityPolicy) -> list[tuple[str, str]]:
    tools = registry_of(cast("RegistryLike", node.document.get("tools"))).tools
    found: list[tuple[str, str]] = []
    for name, tool in tools.items():
        fault = denial(policy, CallFacts(name, {}, tool.label))
        if fault is not None and fault.code in _OF_TOOLS:
            found.append((name, fault.message))
    return found
