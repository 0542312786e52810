"""Which types of events hold claims, verdicts and violations.

Rules:

- A page says that there is none of them only if none of these types is there: whoever
  states another type that holds one adds it here, or a page would deny it.
- A type is known by its name alone: a page about a run needs no plugin that stated it.
"""

from __future__ import annotations

__all__ = ["CLAIMS", "VERDICTS", "VIOLATIONS"]

CLAIMS = ("claim.stated", "reasoning.recorded")
"""What states claims: of a run, or of the reasoner of a step."""
VERDICTS = (
    "verdict.reached",
    "property.tested",
    "verification.judged",
    "verification.arbitrated",
    "replay.judged",
)
"""What states a verdict: on a hypothesis, a property, a step or a flow, or a replay."""
VIOLATIONS = ("violation.noted", "verification.judged")
"""What states violations: noted as the run went on, or found by an engine."""
