"""``stage``: a handler, or a model, works on what the node's context policy selects.

{"kind": "stage", "handler": "stages:act", "retry_policy": {"max_attempts": 3}}
{"kind": "stage", "mode": "llm", "prompt": "Fix it.", "model_policy": {"model": "…"}}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muniment_plugins.workflow.documents.words import BRANCHES, FAILED
from muniment_plugins.workflow.nodes.kind import WORK_KEYS
from muniment_plugins.workflow.nodes.work import work_findings, worked
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.stages.outputs import made_of, require_inputs

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode
    from muniment_plugins.workflow.findings import WorkflowFinding

__all__ = ["StageKind"]


class StageKind:
    """The kind ``stage``."""

    name = "stage"
    branches = BRANCHES["stage"]
    keys = WORK_KEYS

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a stage: nobody does its work."""
        return work_findings(node, graph)

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Do the work, as often as the policy says."""
        given = here.select()
        require_inputs(here.node, given)
        value, failed = await worked(here, given)
        if failed is not None:
            reason = getattr(failed, "reason", FAILED)
            return NodeOutcome(FAILED, reason, cause=failed)
        return NodeOutcome("success", "success", made_of(here, value, given))
