"""What a flow counts by itself: steps, artifacts, evidence.

    budget.exhausted   {"budget": "flow flow-boring", "limit": "step_limit", "action": "halt",
                        "effect": "step", "detail": "3 of 3"}

Rules:

- The program counts what only it makes, in its own order: so a resume and a replay come
  to the same counts, with or without plugins. All other budgets are the governor's.
- Each limit of the policy and of the flow counts, the policy's first. Before one more
  than the limit: *halt* fails the flow; *degrade* puts the fallback in its place, and says
  so; *mark_non_certifiable* marks the run, once for each limit, and goes on. Under an
  unsafe policy the violation is noted instead, and the run is marked.
- Whether people amended a limit is asked by an effect, of the kind ``amendment``, which
  fails if nobody has: so a resume asks again, and a replay knows the answer.
- In place of a step, a fallback is an answer, an agent, or nothing; in place of an
  artifact or of evidence it is nothing: that is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed
from muniment.runs.run import Run, current_run
from muniment_plugins.governance.documents.budgets import ExecutionBudget
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.governed import limit_in_force

__all__ = ["FlowCounts"]

_MARK = "non_certifiable"
_EFFECTS = {
    "step_limit": "step",
    "artifact_limit": "artifact",
    "artifact_step_limit": "artifact",
    "evidence_limit": "evidence",
}


@dataclass(slots=True)
class FlowCounts:
    """The counts of one run of a flow."""

    budgets: tuple[tuple[str, ExecutionBudget], ...]
    """Name and budget, the policy's first."""
    is_unsafe: bool = False
    """Whether the policy lets the flow go on beyond its limits, and has that noted."""
    used: dict[str, int] = field(default_factory=dict[str, int])
    _told: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _amended: dict[tuple[str, str], int] = field(
        default_factory=dict[tuple[str, str], int]
    )

    def begin_step(self) -> None:
        """Count the artifacts of another step."""
        self.used["artifact_step_limit"] = 0

    def take(self, lane: Run, *limits: str) -> JsonValue:
        """Count one more under each of *limits*; return what takes its place, if anything.

        Raises:
            FlowFailed: a limit was reached, and its action is to halt.

        """
        for limit in limits:
            for name, budget in self.budgets:
                instead = self._beyond(lane, name, budget, limit)
                if instead is not None:
                    return instead
        for limit in limits:
            self.used[limit] = self.used.get(limit, 0) + 1
        return None

    def _beyond(
        self, lane: Run, name: str, budget: ExecutionBudget, limit: str
    ) -> JsonValue:
        declared = cast("int | None", getattr(budget, limit))
        most = self._amended.get((name, limit), declared)
        used = self.used.get(limit, 0)
        if most is None or used < most:
            return None
        action, effect = budget.exhaustion_action, _EFFECTS[limit]
        once = self.is_unsafe or action == "mark_non_certifiable"
        if once and (name, limit) in self._told:
            return None
        self._told.add((name, limit))
        detail = f"{most} of {most}"
        if self.is_unsafe:
            said = {"target": lane.scope_path, "rule": limit, "detail": detail}
            lane.record("violation.noted", said)
            lane.mark(_MARK, f"{name}: {limit} {most} was exceeded, and unsafe goes on")
            return None
        lane.record(
            "budget.exhausted",
            {
                "budget": name,
                "limit": limit,
                "action": action,
                "effect": effect,
                "scope": lane.scope_path,
                "detail": detail,
            },
        )
        if action == "halt":
            self._amended[name, limit] = _asked(lane, name, limit, effect, used)
            return None
        if action == "mark_non_certifiable":
            lane.mark(_MARK, f"{name}: {limit} {most} was exceeded")
            return None
        instead = budget.fallback
        if effect != "step" or instead == "cached":
            instead = "skip"  # nothing else can be in its place
        lane.record(
            "effect.degraded",
            {
                "effect": effect,
                "scope": lane.scope_path,
                "fallback": instead,
                "budget": name,
                "limit": limit,
            },
        )
        return instead


def _asked(lane: Run, name: str, limit: str, effect: str, used: int) -> int:
    """Return the limit as people have amended it.

    Raises:
        FlowFailed: nobody has, or not above what is *used*.

    """

    def look(_: object) -> int:
        found = limit_in_force(current_run().memory, name, limit)
        if found is None or found <= used:
            raise FlowFailed(
                f"{effect}s are used up: {used} of {used}",
                rule="flow/budget",
                place=f"{name}: {limit}",
                remedy="`muniment amend` asks people to raise it; or raise it in a new run",
            )
        return found

    request = {"budget": name, "limit": limit, "used": used}
    try:
        return cast("int", lane.effect("amendment", request, look))
    except EffectFailed as failed:
        raise FlowFailed(
            failed.message,
            rule="flow/budget",
            place=f"{lane.scope_path or 'flow'}: {limit}",
            remedy="`muniment amend` asks people to raise it; or raise it in a new run",
        ) from failed
