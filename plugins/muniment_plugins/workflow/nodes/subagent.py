"""``subagent``: a graph of its own, run as a child run with a record of its own.

    {"kind": "subagent", "graph": {"nodes": {…}}, "capability_policy": {…}}
    {"kind": "subagent", "handler": "stages:review"}          a graph of this one stage

Rules:

- The child gets the task, what the context policy selects, and at most what its parent
  may do; its depth is one less.
- What the child made comes back marked as delegated, made from what the child was given;
  the child's own record says more.
- A child that pauses pauses its parent; a child that failed is a branch ``failed``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed
from muniment_plugins.workflow.documents.words import BRANCHES, FAILED
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.kind import WORK_KEYS
from muniment_plugins.workflow.runtime.artifact_rows import (
    are_rows,
    read_rows,
    time_of,
)
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.stages.outputs import require_inputs

if TYPE_CHECKING:
    from muniment_plugins.workflow.artifacts.artifact import Artifact
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = ["SubagentKind", "child_fault"]

_HELD = frozenset(
    {"context_policy", "capability_policy", "approval_policy", "retry_policy"}
)
"""The keys that hold for a subagent with a graph, too."""


class SubagentKind:
    """The kind ``subagent``."""

    name = "subagent"
    branches = BRANCHES["subagent"]
    keys = WORK_KEYS | {"graph"}

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a subagent: it is nobody, or two."""
        del graph
        if ("graph" in node.document) == (node.mode is not None):
            yield WorkflowFinding(
                "SUBAGENT_WORK",
                "error",
                node.at.path,
                "it has neither a graph nor a handler or mode"
                if node.mode is None
                else "it has a graph, and a handler or a mode of its own",
                "write one of them",
            )
        elif "graph" in node.document:
            for key in sorted((WORK_KEYS - _HELD) & node.document.keys()):
                yield WorkflowFinding(
                    "KEY_INERT",
                    "error",
                    node.at.key(key).path,
                    "the nodes of its graph do the work",
                    "write it into the graph",
                )

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Run the child to its end."""
        given = here.select()
        require_inputs(here.node, given)
        here.path.stop.check()
        program = here.conduct.child_of(here, given)

        async def once() -> object:
            name, params = program.graph.name, program.params()
            if here.conduct.lanes.is_async:
                return await here.lane.acall(program, params, name)
            return here.lane.call(program, params, name)

        try:
            value = await here.attempt(once)
        except EffectFailed as error:
            return NodeOutcome(FAILED, FAILED, cause=error)
        rows = cast("Mapping[str, JsonValue]", value)["artifacts"]
        known = {one.id for one in given}
        made = [
            one
            for one in read_rows(rows, time_of(here.path.began, here.path.steps))
            if one.id not in known
        ]
        made = [_delegated(here, one, given) for one in made]
        return NodeOutcome("success", "subagent_completed", made)


def _delegated(here: NodeVisit, made: Artifact, given: Sequence[Artifact]) -> Artifact:
    """Return what a child made, as the parent has it."""
    return replace(
        made,
        lineage=tuple(one.id for one in given),
        metadata={**made.metadata, "delegated": True, "worker_name": here.node.name},
    )


def child_fault(request: object, value: object) -> str | None:
    """Say what is wrong with *value* as what a run of a graph, which was called, returned."""
    params = cast("Mapping[str, Mapping[str, object]]", request).get("params") or {}
    if not {"graph", "task", "artifacts", "options", "pins"} <= params.keys():
        return None  # a program of the user's own
    said = cast("Mapping[str, object]", value if isinstance(value, Mapping) else {})
    if are_rows(said.get("artifacts")):
        return None
    return "it has artifacts, a list, each with id and kind, and a text or data"
