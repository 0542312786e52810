"""What a batch may do at most: with which tools, of which level, and where it writes.

Rules:

- A batch has those tools of its template that its actions name. Actions that name none
  give it none: a list that is empty, or not there, is no tool.
- It may do no more than its class says, whatever its tools are: `LEVELS`. The level is a
  limit, and no word about what a handler does: under a ceiling a template still has to
  declare that itself.
- Target paths narrow. They are asked beside the approval policies, and approve nothing:
  what nobody approved is denied with them as without.
"""

from __future__ import annotations

from typing import cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError
from muniment_plugins.workflow.actions.batches import ActionBatch
from muniment_plugins.workflow.actions.planned import PlannedAction
from muniment_plugins.workflow.actions.words import LEVELS
from muniment_plugins.workflow.ceilings.intersection import intersect
from muniment_plugins.workflow.ceilings.names import TOOL_NAME
from muniment_plugins.workflow.ceilings.policy import policy_of
from muniment_plugins.workflow.documents.words import (
    HANDLER_LEVEL,
    TARGET_PATHS,
    UNDECLARED,
)
from muniment_plugins.workflow.tools.registry import (
    RegistryLike,
    ToolRegistry,
    registry_of,
    tool_select,
)

__all__ = ["held"]

Node = dict[str, JsonValue]
_WITH_TOOLS = frozenset({"tools", "tool_servers", "body", "graph"})
"""The keys of a template by which it, or what is in it, can have tools."""


def held(batch: ActionBatch, template: Node, at: At) -> Node:
    """Return what of the node of *batch* is not as the *template* at a place has it.

    Raises:
        UsageError: the tools, or the policy, of the template have a mistake.
        RefusedError: an action names a tool that is not there.

    """
    if not _WITH_TOOLS & template.keys():
        return {}
    made: Node = {}
    tools = registry_of(
        cast("RegistryLike", template.get("tools")), at.key("tools").path
    )
    for action in batch.actions:
        _require_tools(action, tools, served="tool_servers" in template)
    if "tools" in template:
        here = [name for name in batch.tools if name in tools.tools]
        made["tools"] = tool_select(tools, here).document()
    own = template.get("capability_policy")
    most: Node = {"tools": [*batch.tools]}
    level = LEVELS.get(batch.tool_class)
    metadata = dict(cast("Node", template.get("metadata") or {}))
    if level is not None:
        most["side_effect_level"] = level
        metadata[HANDLER_LEVEL] = _declared(own, at)
    if batch.target_paths:
        metadata[TARGET_PATHS] = [*batch.target_paths]
    limits = policy_of(cast("Node | None", own), at.key("capability_policy").path)
    made["capability_policy"] = intersect(limits, most).result.document()
    return {**made, "metadata": metadata}


def _declared(policy: JsonValue, at: At) -> str:
    """Return the level that a template declares for what its handler does."""
    place = at.key("capability_policy").path
    level = policy_of(cast("Node | None", policy), place).side_effect_level
    return UNDECLARED if level is None else level


def _require_tools(action: PlannedAction, tools: ToolRegistry, *, served: bool) -> None:
    """Require that the tools that *action* names are there, or may be on a server."""
    for number, name in enumerate(action.tools):
        at = At("the plan", "workflow").key(action.id).key("tools")
        if name in tools.tools:
            continue
        if served:
            TOOL_NAME.check(name, at.item(number))
            continue
        raise RefusedError(
            f"there is no tool {name!r:.60} for {action.id}",
            rule="workflow/plan-tool",
            place=f"the plan: {action.id}.tools",
            remedy=near(name, tools.tools),
        )
