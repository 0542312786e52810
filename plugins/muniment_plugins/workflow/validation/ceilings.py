"""What a node asks for beyond its ceiling.

Rules:

- What a ceiling refuses keeps the graph from being run; what it narrows does not.
- A handler is code of whoever wrote the graph, a kind of a plugin is code of its author,
  and nothing confines them: under a ceiling the node has to declare its side-effect level
  in its capability policy. A command is of the level ``process_exec``. A level that was
  set by somebody who knows nothing of the handler, such as a plan, declares nothing.
- A tool is what it and the host state; whoever wrote the graph, or the graph around it,
  can raise its level, and not lower it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.levels import (
    SIDE_EFFECT_LEVELS,
    SideEffectLevel,
    level_rank,
)
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy, policy_of
from muniment_plugins.workflow.contracts.reading import reading_fault
from muniment_plugins.workflow.contracts.verifier import VerifierContract
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.words import BRANCHES, HANDLER_LEVEL
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.stages.permissions import permissions_of
from muniment_plugins.workflow.tools.registry import RegistryLike
from muniment_plugins.workflow.tools.surface import tool_findings

__all__ = ["held_findings"]

Object = Mapping[str, JsonValue]
_COMMAND: SideEffectLevel = "process_exec"


def held_findings(
    graph: WorkflowGraph,
    node: WorkflowNode,
    ceiling: Object | None,
    host: Object | None,
) -> Iterator[WorkflowFinding]:
    """Yield what *node*, and its tools, ask for that *ceiling* does not have.

    Args:
        graph: the graph of the node.
        node: the node, or the body of a map.
        ceiling: what is left for the graph.
        host: the policy of the host, whose labels describe tools; None if there is none.

    """
    yield from ceiling_findings(graph, node, ceiling)
    if "tools" in node.document:
        may = permissions_of(graph, node, ceiling)
        yield from tool_findings(
            cast("RegistryLike", node.document["tools"]),
            policy=node.part("capability_policy") or None,
            ceiling=replace(
                may.policy, tool_annotations=policy_of(host, "ceiling").tool_annotations
            ),
            approvals=may.approvals,
            prompt=str(node.document.get("prompt", "")),
            place=node.at.path,
        )


def ceiling_findings(
    graph: WorkflowGraph, node: WorkflowNode, ceiling: Object | None
) -> Iterator[WorkflowFinding]:
    """Yield what *node* asks for that *ceiling* does not have."""
    may = permissions_of(graph, node, ceiling)
    for row in may.refused:
        yield _beyond(
            node.at.key("capability_policy").path,
            f"{row.what} exceeds the host ceiling: {row.why}",
        )
    if node.kind == "verify":
        yield from _reading(node, may.policy)
    level = may.policy.side_effect_level
    if level is None:
        return
    command = node.part("verify").get("command")
    if command is not None and level_rank(level) < level_rank(_COMMAND):
        yield _beyond(
            node.at.key("verify").key("command").path,
            f"a command is {_COMMAND}, which exceeds the host ceiling {level}",
        )
    who = "its handler"
    if node.kind not in BRANCHES:
        who = f"the kind {node.kind}"
    elif node.handler is None and "handler" not in node.part("verify"):
        return
    yield from _undeclared(graph, node, ceiling, who)


def _undeclared(
    graph: WorkflowGraph, node: WorkflowNode, ceiling: Object | None, who: str
) -> Iterator[WorkflowFinding]:
    """Yield that nobody declares what code does, or that it does more than it may."""
    at, seen = node.at.key("capability_policy"), node
    declared = node.part("capability_policy").get("side_effect_level")
    if HANDLER_LEVEL in node.metadata:
        declared, seen = _declared(node), _without_level(node)
    level = permissions_of(graph, seen, ceiling).policy.side_effect_level
    if level is None:
        return
    if declared is None:
        yield WorkflowFinding(
            "CEILING_UNDECLARED",
            "error",
            at.path,
            f"under the ceiling {level} {who} has to declare what it does",
            f'write {{"side_effect_level": "{level}"}}, if that is true',
        )
    elif seen is not node and level_rank(level) < level_rank(_declared(node) or level):
        why = "above_ceiling"
        yield _beyond(at.path, f"{declared} exceeds the host ceiling: {why}")


def _declared(node: WorkflowNode) -> SideEffectLevel | None:
    """Return the level that somebody declared who knows the handler of *node*."""
    said = node.metadata[HANDLER_LEVEL]
    return next((one for one in SIDE_EFFECT_LEVELS if one == said), None)


def _without_level(node: WorkflowNode) -> WorkflowNode:
    policy = {**node.part("capability_policy")}
    policy.pop("side_effect_level", None)
    said = {**node.document, "capability_policy": policy}
    return WorkflowNode(node.name, said, node.at, node.outer)


def _reading(node: WorkflowNode, policy: CapabilityPolicy) -> Iterator[WorkflowFinding]:
    """Yield why a verifier may not look at the files that it asks for."""
    checks = VerifierContract(node.name, node.part("verify")).checks
    paths = [str(one.value) for one in checks if one.kind == "path"]
    fault = reading_fault(policy, paths)
    if fault is not None:
        place = node.at.key("verify").key("required_paths").path
        yield _beyond(place, f"it exceeds the host ceiling: {fault}")


def _beyond(place: str, message: str) -> WorkflowFinding:
    remedy = "ask for less, or raise the ceiling"
    return WorkflowFinding("CEILING_EXCEEDED", "error", place, message, remedy)
