"""Arbitration: the verdicts of engines, made into one by the rule of a policy.

| rule | is *pass* | is *fail* | else |
|---|---|---|---|
| unanimous | if all pass | if one fails | escalate |
| quorum | if as many pass as the threshold | if as many fail | escalate |
| strict_first_failure | if all pass | the first that does not pass decides | |

Rules:

- Who had nothing to judge has no vote; if nobody has one, there is no verdict, and that
  stands in nobody's way.
- The threshold of a quorum is the majority of the votes, if the policy has none.
- Where evidence less certain than the policy tolerates was collected, what does not fail
  is escalated: whatever the engines say of it, and whether or not its step reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muniment_plugins.governance.documents.policy_verification import (
    VerificationPolicy,
)
from muniment_plugins.governance.documents.words import RANDOMNESS, rank
from muniment_plugins.governance.verification.subjects import EngineVerdict, Status

__all__ = ["ArbitratedVerdict", "arbitrate", "exceeds"]

_CERTAINTY = {"deterministic": 0, "sampled": 1, "external": 2}
"""How far along `RANDOMNESS` evidence is, by its determinism."""


@dataclass(frozen=True, slots=True)
class ArbitratedVerdict:
    """The one verdict about a target."""

    target: str
    rule: str
    threshold: int | None
    votes: Mapping[str, str]
    status: Status
    decided_by: str = "engines"

    def stated(self) -> dict[str, object]:
        """Return the fact that the verdicts became this one."""
        return {
            "target": self.target,
            "rule": self.rule,
            "threshold": self.threshold,
            "votes": dict(self.votes),
            "status": self.status,
            "decided_by": self.decided_by,
        }


def arbitrate(
    target: str,
    verdicts: Iterable[EngineVerdict],
    policy: VerificationPolicy,
    determinism: Iterable[str],
    *,
    even_unjudged: bool = True,
) -> ArbitratedVerdict:
    """Return the verdict about *target*.

    Args:
        target: what was judged.
        verdicts: what the engines said, in the order of the policy.
        policy: whose rule decides.
        determinism: that of the evidence which was collected.
        even_unjudged: whether evidence counts that no engine had anything to say about.

    """
    votes: dict[str, Status] = {one.engine: one.status for one in verdicts}
    given: list[Status] = [one for one in votes.values() if one != "abstain"]
    threshold = None
    if policy.arbitration == "quorum":
        threshold = policy.quorum_threshold or len(given) // 2 + 1
    status = _status(given, policy.arbitration, threshold)
    stands = ("pass", "abstain") if even_unjudged else ("pass",)
    if status in stands and any(exceeds(one, policy) for one in determinism):
        status = "escalate"
    return ArbitratedVerdict(target, policy.arbitration, threshold, votes, status)


def _status(given: Sequence[Status], rule: str, threshold: int | None) -> Status:
    if not given:
        return "abstain"
    if rule == "strict_first_failure":
        others: list[Status] = [one for one in given if one != "pass"]
        return others[0] if others else "pass"
    if threshold is not None:
        if given.count("pass") >= threshold:
            return "pass"
        return "fail" if given.count("fail") >= threshold else "escalate"
    if "fail" in given:
        return "fail"
    return "pass" if set(given) == {"pass"} else "escalate"


def exceeds(determinism: str, policy: VerificationPolicy) -> bool:
    """Tell whether evidence of this *determinism* is less certain than is tolerated."""
    most = rank(policy.randomness_tolerance, RANDOMNESS)
    return _CERTAINTY[determinism] > most
