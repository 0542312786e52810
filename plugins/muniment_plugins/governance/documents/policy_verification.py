"""What a policy says about verification: rules, engines, arbitration.

Rules:

- A rule is one of the eight of the baseline, whose severity and cost a policy may change,
  or has a ``check``: a function by import path.
- ``fail_on`` and ``escalate_on`` name rules that exist, and no rule is in both.
- A quorum has a threshold that the engines can reach; nothing else has a threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment_plugins.governance.documents.words import (
    ENGINES,
    Arbitration,
    FailureMode,
    Randomness,
    Severity,
    VerificationLevel,
)

__all__ = [
    "BASELINE",
    "COMPUTED",
    "RuleSpec",
    "VerificationPolicy",
    "verification_policy",
]

Object = Mapping[str, JsonValue]

BASELINE: Mapping[str, str] = {
    "claim_requires_evidence": "each claim names evidence",
    "confidence_in_range": "a confidence is from 0 to 1",
    "unique_claim_ids": "no two claims have one id",
    "bundle_evidence_ids_match_inputs": "a bundle names the evidence of its step",
    "claim_supports_known_evidence": "a claim names evidence that the step collected",
    "claim_mentions_evidence_id": "a claim's text has the ids of its evidence",
    "claim_mentions_evidence_hash": "a claim's text has the digests of its evidence",
    "claim_mentions_artifact_hash": "a claim's text has the digest of an artifact",
}
"""The rules that the engine ``content`` always asks, and what they say."""
COMPUTED: Mapping[str, str] = {
    "verification_cost_budget": "the rules together cost no more than max_rule_cost",
    "rule_randomness_exceeds_policy": "no rule needs more randomness than is tolerated",
    "required_evidence": "the evidence that the policy requires was collected",
    "artifact_store_integrity": "each artifact has the digest that it was stored with",
    "signed_bundle": "a bundle that is signed has a signature that verifies",
    "contradiction": "no claim says the opposite of another",
    "weakened_restatement": "no statement is repeated with less confidence",
    "circular_justification": "no claim's text names the claim itself",
    "missing_bundle": "each step reasoned about what it made",
}
"""The rules that engines ask beside those."""


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """A rule, as a policy or the baseline declares it."""

    rule_id: str
    description: str
    severity: Severity
    target: str
    randomness_requirement: Randomness
    cost: int
    check: str | None
    """``module:function``; None for the rules in the box."""
    parameters: JsonValue


@dataclass(frozen=True, slots=True)
class VerificationPolicy:
    """How the outputs of a flow are judged."""

    verification_level: VerificationLevel
    failure_mode: FailureMode
    randomness_tolerance: Randomness
    arbitration: Arbitration
    quorum_threshold: int | None
    required_evidence: tuple[str, ...]
    max_rule_cost: int | None
    rules: Mapping[str, RuleSpec]
    fail_on: frozenset[str]
    escalate_on: frozenset[str]
    engines: tuple[str, ...]
    signers: tuple[str, ...]
    """Fingerprints of those whose signatures of bundles count; everybody's if empty."""


def verification_policy(said: Object, at: At) -> VerificationPolicy:
    """Return what *said*, whose shape was checked, says about verification.

    Raises:
        UsageError: a rule is there twice or unknown, or the quorum cannot be reached.

    """
    engines = cast("list[str] | None", said.get("engines"))
    named = ENGINES if engines is None else tuple(engines)
    rules = _rules(said, at.key("rules"))
    level = cast("VerificationLevel", said.get("verification_level") or "baseline")
    arbitration, threshold = _arbitration(said, named, at.key("arbitration_policy"))
    known = [*BASELINE, *COMPUTED, *rules]
    fail_on = _named_rules(said, "fail_on", known, at)
    escalate_on = _named_rules(said, "escalate_on", known, at)
    for position, one in enumerate(escalate_on):
        if one in fail_on:
            raise (
                at.key("escalate_on")
                .item(position)
                .wrong(f"{one} is in fail_on, too", "duplicate", "keep one of them")
            )
    return VerificationPolicy(
        verification_level=level,
        failure_mode=cast("FailureMode", said.get("failure_mode") or "halt"),
        randomness_tolerance=cast(
            "Randomness", said.get("randomness_tolerance") or "deterministic"
        ),
        arbitration=arbitration,
        quorum_threshold=threshold,
        required_evidence=tuple(cast("list[str]", said.get("required_evidence") or [])),
        max_rule_cost=cast("int | None", said.get("max_rule_cost")),
        rules=rules,
        fail_on=frozenset(fail_on),
        escalate_on=frozenset(escalate_on),
        engines=named,
        signers=tuple(cast("list[str]", said.get("signers") or [])),
    )


def _arbitration(
    said: Object, engines: tuple[str, ...], at: At
) -> tuple[Arbitration, int | None]:
    row = cast("Object", said.get("arbitration_policy") or {})
    rule = cast("Arbitration", row.get("rule") or "unanimous")
    threshold = cast("int | None", row.get("quorum_threshold"))
    there = at.key("quorum_threshold")
    if threshold is None:
        return rule, None
    if rule != "quorum":
        raise there.wrong(
            f"nothing counts it: the rule is {rule}",
            "quorum",
            "write rule: quorum, or leave it out",
        )
    if threshold > len(engines):
        raise there.wrong(
            f"{threshold} of {len(engines)} engines can never agree",
            "quorum",
            "lower it, or name more engines",
        )
    return rule, threshold


def _rules(said: Object, at: At) -> dict[str, RuleSpec]:
    found: dict[str, RuleSpec] = {}
    for number, one in enumerate(cast("list[Object]", said.get("rules") or [])):
        there, name = at.item(number), cast("str", one["rule_id"])
        if name in found:
            raise there.key("rule_id").wrong(
                f"{name!r:.80} is there twice", "duplicate", "keep one of them"
            )
        check = cast("str | None", one.get("check"))
        boxed = name in BASELINE or name in COMPUTED
        if check is None and not boxed:
            raise there.key("rule_id").wrong(
                f"{name!r:.80} has no check, and is not in the box",
                "rule-unknown",
                f'write check: "module:function", or {near(name, [*BASELINE, *COMPUTED])}',
            )
        if check is not None and boxed:
            raise there.key("check").wrong(
                f"{name} is in the box", "rule-unknown", "give yours another rule_id"
            )
        found[name] = _rule(one, name, check)
    return found


def _rule(one: Object, name: str, check: str | None) -> RuleSpec:
    described = BASELINE.get(name) or COMPUTED.get(name) or name
    cost = one.get("cost")
    return RuleSpec(
        rule_id=name,
        description=cast("str", one.get("description") or described),
        severity=cast("Severity", one.get("severity") or "error"),
        target=cast("str", one.get("target") or "reasoning_bundle"),
        randomness_requirement=cast(
            "Randomness", one.get("randomness_requirement") or "deterministic"
        ),
        cost=1 if cost is None else cast("int", cost),
        check=check,
        parameters=one.get("parameters"),
    )


def _named_rules(said: Object, key: str, known: list[str], at: At) -> list[str]:
    names = cast("list[str]", said.get(key) or [])
    for position, one in enumerate(names):
        if one not in known:
            raise (
                at.key(key)
                .item(position)
                .wrong(
                    f"no rule is called {one!r:.80}", "rule-unknown", near(one, known)
                )
            )
    return names
