"""What is judged, and what an engine says about it.

    {"target": "step/0-agent-a", "agent": "agent-a", "bundle": {…}, "evidence": [{…}],
     "artifacts": [{…}], "bundles": [{…}]}

Rule: engines, and the checks of policies, get plain values, as the ledger has them. So an
auditor calls the same functions with what the events say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muniment.encoding.canonical import JsonValue

__all__ = ["EngineVerdict", "Status", "VerificationSubject", "Violation", "worst"]

Row = Mapping[str, object]
Status: TypeAlias = Literal["pass", "fail", "escalate", "abstain"]


@dataclass(frozen=True, slots=True)
class VerificationSubject:
    """A step that is judged; or the flow, with the bundles of all its steps."""

    target: str
    """``step/<number>-<agent>``, or ``flow``."""
    agent: str | None = None
    bundle: Row | None = None
    """Of a step that reasoned: the canonical bundle, with ``digest`` and ``signature``."""
    evidence: tuple[Row, ...] = ()
    artifacts: tuple[Row, ...] = ()
    bundles: tuple[Row, ...] = ()
    """Of the flow: one for each step that reasoned."""

    @property
    def is_flow(self) -> bool:
        """Whether the flow is judged, and no step of it."""
        return self.agent is None

    def document(self) -> dict[str, object]:
        """Return it as checks and foreign engines get it."""
        return {
            "target": self.target,
            "agent": self.agent,
            "bundle": self.bundle,
            "evidence": [*self.evidence],
            "artifacts": [*self.artifacts],
            "bundles": [*self.bundles],
        }


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold."""

    rule: str
    severity: str
    status: str
    """``fail``, ``escalate``, or ``noted``."""
    detail: str

    def document(self) -> dict[str, JsonValue]:
        """Return it as a fact has it."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "status": self.status,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class EngineVerdict:
    """What one engine says."""

    engine: str
    status: Status
    rules: tuple[str, ...] = ()
    """The rules that were asked."""
    cost: int = 0
    violations: tuple[Violation, ...] = ()

    def stated(self, target: str) -> dict[str, object]:
        """Return the fact that the engine judged *target*."""
        return {
            "target": target,
            "engine": self.engine,
            "status": self.status,
            "rules": [*self.rules],
            "cost": self.cost,
            "violations": [one.document() for one in self.violations],
        }


def worst(violations: tuple[Violation, ...]) -> Status:
    """Return what an engine with these *violations* says."""
    found = {one.status for one in violations}
    return "fail" if "fail" in found else "escalate" if "escalate" in found else "pass"
