"""Escalation: what engines cannot decide is decided by people, who sign.

    muniment inbox          1 of 2 have answered      approve the claims of step/0-agent-a?

Rules:

- The question is the kernel's (`run.decide`): the run pauses, nothing polls, and the
  answer is a signature over what was asked. The subject has the digests of what is
  approved, and every violation.
- The policy's ``approvers`` say whose answers count, and how many. A denial fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from muniment.runs.run import Run
from muniment_plugins.governance.documents.policy import Approvers
from muniment_plugins.governance.documents.policy_verification import (
    VerificationPolicy,
)
from muniment_plugins.governance.verification.arbitration import (
    ArbitratedVerdict,
    exceeds,
)
from muniment_plugins.governance.verification.subjects import (
    Status,
    VerificationSubject,
    Violation,
)

__all__ = ["decided_by_people", "uncertain"]


def decided_by_people(
    lane: Run,
    verdict: ArbitratedVerdict,
    subject: VerificationSubject,
    violations: Iterable[Violation],
    approvers: Approvers,
    why: str = "",
) -> ArbitratedVerdict:
    """Return the verdict of the people who may decide about *verdict*.

    Raises:
        RunPaused: they have not decided yet.

    """
    bundles = [subject.bundle] if subject.bundle is not None else [*subject.bundles]
    violations = [*violations]
    asked = {
        "target": verdict.target,
        "verdict": verdict.stated(),
        "violations": [one.document() for one in violations],
        "bundles": [one["digest"] for one in bundles],
        "evidence": [one["digest"] for one in subject.evidence],
        "artifacts": [one["digest"] for one in subject.artifacts],
    }
    prompt = _prompt(verdict.target, violations, why)
    decision = lane.decide(asked, prompt, approvers.quorum, approvers.keys)
    status: Status = "pass" if decision.approved else "fail"
    return replace(verdict, status=status, decided_by="people")


def uncertain(subject: VerificationSubject, policy: VerificationPolicy) -> str:
    """Return which evidence of a step is less certain than *policy* tolerates, if any."""
    if subject.is_flow:
        return ""
    for one in subject.evidence:
        if exceeds(str(one["determinism"]), policy):
            return (
                f"the evidence {one['evidence_id']!s:.80} is {one['determinism']}, and "
                f"{policy.randomness_tolerance} is tolerated"
            )
    return ""


def _prompt(target: str, violations: list[Violation], why: str) -> str:
    """Return what people read first: what is asked, and the first reason."""
    reasons = [one.detail for one in violations if one.status != "noted"]
    reasons += [why] if why else []
    why = reasons[0] if reasons else "the engines do not agree"
    others = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    what = "the flow" if target == "flow" else target
    return f"accept what {what} made? {why}{others}"
