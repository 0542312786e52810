"""``escalation``: people decide whether the path goes on.

    {"kind": "escalation",
     "escalation_policy": {"queue": "release", "level": "senior", "quorum": 2,
                           "reason": "it changes the schema"}}

Rules:

- The run pauses until enough people have decided, by ``muniment approve`` or ``deny``;
  nothing waits in between. What they decide on names the artifacts that they saw, by their
  digests.
- ``of`` names the keys that may answer; every approver's if it is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from muniment.formats.decisions import MAX_KEYS
from muniment_plugins.workflow.documents.words import BRANCHES
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.stages.outputs import require_inputs

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = ["EscalationKind"]

_REASON = "manual review required"


class EscalationKind:
    """The kind ``escalation``."""

    name = "escalation"
    branches = BRANCHES["escalation"]
    keys = frozenset({"escalation_policy", "context_policy"})

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with an escalation: more are to answer than may."""
        del graph
        policy, at = node.part("escalation_policy"), node.at.key("escalation_policy")
        of = cast("list[str] | None", policy.get("of"))
        quorum = cast("int | None", policy.get("quorum"))
        most = MAX_KEYS if of is None else min(len(of), MAX_KEYS)
        if (quorum or 1) > most:
            yield WorkflowFinding(
                "ESCALATION_QUORUM",
                "error",
                at.key("quorum").path,
                f"{quorum or 1} of {most} can never answer",
                f"write at most {most}" + (", or name more in of" if of else ""),
            )
        if of is not None and len(of) > MAX_KEYS:
            yield WorkflowFinding(
                "ESCALATION_QUORUM",
                "error",
                at.key("of").path,
                f"it names {len(of)} keys, and at most {MAX_KEYS} can be asked",
                "name fewer, or none: then every approver may answer",
            )

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Ask people, and go on as they decided."""
        given = here.select()
        require_inputs(here.node, given)
        policy = here.node.part("escalation_policy")
        reason = str(policy.get("reason", _REASON))
        subject: dict[str, JsonValue] = {
            "workflow": here.conduct.graph.name,
            "node": here.node.name,
            "level": policy.get("level"),
            "queue": policy.get("queue"),
            "reason": reason,
            "artifacts": {one.id: here.conduct.digest_of([one]) for one in given},
        }
        quorum = cast("int", policy.get("quorum", 1))
        of = cast("list[str]", policy.get("of", []))
        decision = here.lane.decide(subject, reason, quorum, of)
        data: JsonValue = {
            "queue": policy.get("queue"),
            "level": policy.get("level"),
            "reason": reason,
            "outcome": decision.outcome,
        }
        made = here.artifact(reason, data, lineage=given)
        good = decision.outcome == "approved"
        return NodeOutcome(
            "approved" if good else "denied",
            "escalated" if good else "denied",
            [made] if good else [],
        )
