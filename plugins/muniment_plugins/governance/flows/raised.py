"""Whether people have raised a limit that a flow counts by itself.

    amendment.requested   {"budget": "flow flow-boring", "limit": "step_limit", "used": 3}
    amendment.completed   4, the limit as it is now
    amendment.failed      it is still 3: the run is halted

Rule: the governor answers, since it alone knows what was amended.
"""

from __future__ import annotations

from muniment import EffectFailed, GateAnswer
from muniment_plugins.governance.flows.failed import FlowFailed

__all__ = ["EFFECTS", "answer_about", "used_up"]

EFFECTS = {
    "step_limit": "step",
    "artifact_limit": "artifact",
    "artifact_step_limit": "artifact",
    "evidence_limit": "evidence",
}
"""Limit of a flow → what it counts."""


def used_up(budget: str, limit: str, used: int) -> FlowFailed:
    """Return the failure of a flow that made as much as it may."""
    return FlowFailed(
        f"{EFFECTS.get(limit, 'thing')}s are used up: {used} of {used}",
        rule="flow/budget",
        place=f"{budget}: {limit}",
        remedy="`muniment amend` asks people to raise it; or raise it in a new run",
    )


def answer_about(budget: str, limit: str, used: int, present: int | None) -> GateAnswer:
    """Return the *present* limit if it is above what is *used*; else halt the run."""
    if present is not None and present > used:
        return GateAnswer(present)
    failed = used_up(budget, limit, used)
    told = EffectFailed(
        "amendment", "FlowFailed", str(failed), {"budget": budget, "limit": limit}
    )
    return GateAnswer(error=told, halts=True)
