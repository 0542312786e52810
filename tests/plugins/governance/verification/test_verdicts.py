"""Rules, engines and arbitration: each verdict is kept, and means something."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from muniment.encoding.registry import ValueTypes
from muniment.keys.ed25519 import PrivateKey
from muniment_plugins.governance import (
    GovernancePolicy,
    sign_bundle,
)
from muniment_plugins.governance.flows.steps.artifacts import content_digest
from muniment_plugins.governance.verification.arbitration import arbitrate
from muniment_plugins.governance.verification.engines import judged_by
from muniment_plugins.governance.verification.rulebook import Rulebook
from muniment_plugins.governance.verification.subjects import (
    EngineVerdict,
    Status,
    VerificationSubject,
)

VALUES = ValueTypes()
EVIDENCE: dict[str, Any] = {
    "evidence_id": "e1",
    "determinism": "deterministic",
    "digest": content_digest({"text": "x"}, VALUES),
    "content": {"text": "x"},
}
ARTIFACT: dict[str, Any] = {
    "artifact_id": "a1",
    "digest": content_digest({"sum": 6}, VALUES),
    "content": {"sum": 6},
}
BUNDLE: dict[str, Any] = {
    "bundle_id": "b1",
    "producer_agent_id": "writer",
    "claims": [
        {
            "claim_id": "k-1",
            "statement": f"by e1 {EVIDENCE['digest']} it is {ARTIFACT['digest']}",
            "confidence": 0.5,
            "supported_by": ["e1"],
        }
    ],
    "steps": [],
    "evidence_ids": ["e1"],
}


def book(**members: object) -> Rulebook:
    """Return the rules of a policy with these members."""
    document: Any = {"spec_version": "v1", **members}
    policy = GovernancePolicy.from_document(document, "policy.json")
    return Rulebook(policy.verification)


def subject(bundle: Any = BUNDLE, **members: Any) -> VerificationSubject:
    """Return a step with a bundle."""
    return VerificationSubject(
        "step/0-writer",
        "writer",
        {"digest": "sha256:0", "signature": None, **copy.deepcopy(bundle)},
        **{"evidence": (EVIDENCE,), "artifacts": (ARTIFACT,), **members},
    )


def claim(**members: object) -> dict[str, Any]:
    """Return the bundle with its claim changed."""
    return {**BUNDLE, "claims": [{**BUNDLE["claims"][0], **members}]}


def test_a_good_bundle_passes() -> None:
    """Nothing is wrong with a bundle that keeps all eight rules."""
    verdict = judged_by("content", subject(), book(), VALUES)
    assert (verdict.status, verdict.cost, len(verdict.rules)) == ("pass", 8, 8)


@pytest.mark.parametrize(
    ("bundle", "rule"),
    [
        (claim(supported_by=[]), "claim_requires_evidence"),
        (claim(confidence=1.5), "confidence_in_range"),
        (claim(confidence=-0.1), "confidence_in_range"),
        ({**BUNDLE, "claims": BUNDLE["claims"] * 2}, "unique_claim_ids"),
        ({**BUNDLE, "evidence_ids": []}, "bundle_evidence_ids_match_inputs"),
        ({**BUNDLE, "evidence_ids": ["e1", "e2"]}, "bundle_evidence_ids_match_inputs"),
        (claim(supported_by=["e1", "e2"]), "claim_supports_known_evidence"),
        (claim(statement="it is so"), "claim_mentions_evidence_id"),
        (
            claim(statement=f"by e1 it is {ARTIFACT['digest']}"),
            "claim_mentions_evidence_hash",
        ),
        (
            claim(statement=f"by e1 {EVIDENCE['digest']} it is six"),
            "claim_mentions_artifact_hash",
        ),
    ],
)
def test_each_rule_of_the_baseline(bundle: dict[str, Any], rule: str) -> None:
    """Each of the eight rules is broken by what it forbids."""
    verdict = judged_by("content", subject(bundle), book(), VALUES)
    assert verdict.status == "fail"
    assert rule in {one.rule for one in verdict.violations}


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({}, "fail"),
        (
            {"rules": [{"rule_id": "confidence_in_range", "severity": "warning"}]},
            "pass",
        ),
        ({"rules": [{"rule_id": "confidence_in_range", "severity": "info"}]}, "pass"),
        (
            {
                "rules": [{"rule_id": "confidence_in_range", "severity": "warning"}],
                "fail_on": ["confidence_in_range"],
            },
            "fail",
        ),
        ({"escalate_on": ["confidence_in_range"]}, "escalate"),
        ({"verification_level": "none"}, "abstain"),
        (
            {"verification_level": "none", "fail_on": ["confidence_in_range"]},
            "fail",
        ),
    ],
)
def test_what_follows_from_a_violation(members: dict[str, Any], status: str) -> None:
    """Severity, fail_on, escalate_on and the level decide what a violation comes to."""
    verdict = judged_by(
        "content", subject(claim(confidence=2)), book(**members), VALUES
    )
    assert verdict.status == status


def test_costs() -> None:
    """Rules are asked as long as the budget lasts; the first beyond it is a violation."""
    verdict = judged_by("content", subject(), book(max_rule_cost=3), VALUES)
    assert (verdict.status, verdict.cost, len(verdict.rules)) == ("fail", 3, 3)
    (wrong,) = verdict.violations
    assert wrong.rule == "verification_cost_budget"
    assert "would cost 4, of 3" in wrong.detail


def test_randomness_of_rules() -> None:
    """A rule that needs more randomness than is tolerated is not asked."""
    rule = {"rule_id": "unique_claim_ids", "randomness_requirement": "sampled"}
    verdict = judged_by("content", subject(), book(rules=[rule]), VALUES)
    assert [one.rule for one in verdict.violations] == [
        "rule_randomness_exceeds_policy"
    ]
    tolerant = book(rules=[rule], randomness_tolerance="sampled")
    assert judged_by("content", subject(), tolerant, VALUES).status == "pass"


def test_contents_are_hashed_again() -> None:
    """An artifact or evidence that is not what its digest says is found."""
    forged = {**ARTIFACT, "content": {"sum": 7}}
    verdict = judged_by("content", subject(artifacts=(forged,)), book(), VALUES)
    assert [one.rule for one in verdict.violations] == ["artifact_store_integrity"]


def test_evidence_that_is_required() -> None:
    """What the policy requires has to be collected by some step of the flow."""
    rules = book(required_evidence=["e1", "e9"])
    flow = VerificationSubject("flow", evidence=(EVIDENCE,))
    verdict = judged_by("content", flow, rules, VALUES)
    assert [one.detail for one in verdict.violations] == ["e9 is missing"]


@pytest.mark.parametrize(
    ("statements", "rule"),
    [
        (["the queue is empty", "not the queue is empty"], "contradiction"),
        (["The queue is not empty.", "the queue  is empty"], "contradiction"),
        (["it isn't so", "it is so"], "contradiction"),
        (["k-2 follows from k-2"], "circular_justification"),
        (["it is so", "it is not not so"], None),
        (["it is so", "it is notable"], None),
    ],
)
def test_contradictions(statements: list[str], rule: str | None) -> None:
    """A statement and its denial contradict each other, however they are spelled."""
    claims = [
        {
            "claim_id": f"k-{number}",
            "statement": text,
            "confidence": 1,
            "supported_by": [],
        }
        for number, text in enumerate(statements, 2)
    ]
    verdict = judged_by(
        "contradiction", subject({**BUNDLE, "claims": claims}), book(), VALUES
    )
    assert [one.rule for one in verdict.violations] == ([rule] if rule else [])


def test_less_sure_of_the_same() -> None:
    """The same statement with less confidence is a weakened one, in a flow as well."""
    strong, weak = (
        claim(confidence=0.9, statement="it is so"),
        claim(statement="it is so"),
    )
    flow = VerificationSubject("flow", bundles=(strong, weak))
    verdict = judged_by("contradiction", flow, book(), VALUES)
    assert [one.rule for one in verdict.violations] == ["weakened_restatement"]


def verdicts(*statuses: Status) -> list[EngineVerdict]:
    """Return verdicts of so many engines."""
    return [EngineVerdict(f"engine-{n}", one) for n, one in enumerate(statuses)]


@pytest.mark.parametrize(
    ("rule", "threshold", "statuses", "verdict"),
    [
        ("unanimous", None, ("pass", "pass"), "pass"),
        ("unanimous", None, ("pass", "fail", "escalate"), "fail"),
        ("unanimous", None, ("pass", "escalate"), "escalate"),
        ("unanimous", None, ("pass", "abstain"), "pass"),
        ("unanimous", None, ("abstain", "abstain"), "abstain"),
        ("quorum", None, ("pass", "pass", "fail"), "pass"),
        ("quorum", None, ("fail", "fail", "pass"), "fail"),
        ("quorum", None, ("pass", "fail"), "escalate"),
        ("quorum", 1, ("fail", "abstain", "abstain"), "fail"),
        ("quorum", 1, ("pass", "fail"), "pass"),
        ("quorum", 3, ("pass", "pass", "abstain"), "escalate"),
        ("strict_first_failure", None, ("pass", "escalate", "fail"), "escalate"),
        ("strict_first_failure", None, ("pass", "fail", "escalate"), "fail"),
        ("strict_first_failure", None, ("pass", "pass"), "pass"),
    ],
)
def test_arbitration(
    rule: str, threshold: int | None, statuses: tuple[Status, ...], verdict: str
) -> None:
    """Each rule of arbitration comes to what its table says."""
    policy: Any = {"rule": rule, "quorum_threshold": threshold}
    terms = book(arbitration_policy=policy).policy
    assert arbitrate("step/0", verdicts(*statuses), terms, ()).status == verdict


@pytest.mark.parametrize(
    ("tolerance", "determinism", "verdict"),
    [
        ("deterministic", "deterministic", "pass"),
        ("deterministic", "sampled", "escalate"),
        ("sampled", "sampled", "pass"),
        ("sampled", "external", "escalate"),
        ("statistical", "external", "pass"),
    ],
)
def test_uncertain_evidence(tolerance: str, determinism: str, verdict: str) -> None:
    """What passed on evidence less certain than is tolerated is for people to decide."""
    terms = book(randomness_tolerance=tolerance).policy
    made = arbitrate("step/0", verdicts("pass"), terms, [determinism])
    assert made.status == verdict


# -- signatures ------------------------------------------------------------------


def signed(key: PrivateKey) -> dict[str, Any]:
    """Return the bundle with a signature of *key*."""
    return sign_bundle(BUNDLE, key, "writer", 0)


def judged_signature(bundle: dict[str, Any], **members: object) -> EngineVerdict:
    """Return what the engine says of a signed bundle."""
    return judged_by("signature", subject(bundle), book(**members), VALUES)


def test_a_good_signature() -> None:
    """A signature over the very bundle passes; a bundle without one is not judged."""
    key = PrivateKey.generate()
    assert judged_signature(signed(key)).status == "pass"
    assert judged_signature(signed(key), signers=[key.public.keyid]).status == "pass"
    assert judged_signature(BUNDLE).status == "abstain"


def test_bad_signatures() -> None:
    """Another bundle, another key, a broken envelope, a stranger: each fails."""
    key, other = PrivateKey.generate(), PrivateKey.generate()
    good = signed(key)
    changed = {**good, "claims": [{**good["claims"][0], "confidence": 0.9}]}
    foreign = copy.deepcopy(good)
    foreign["signature"]["public_key"] = other.public.pem
    broken = copy.deepcopy(good)
    broken["signature"]["envelope"]["payloadType"] = "text/plain"
    garbage = {**good, "signature": {"envelope": {}, "public_key": "x"}}
    for bundle, says in (
        (changed, "another bundle was signed"),
        (foreign, "is not that of"),
        (broken, "the envelope is refused"),
        (garbage, "refused"),
        ({**good, "signature": {"sig": "x"}}, "an envelope and a public_key"),
    ):
        verdict = judged_signature(bundle)
        assert verdict.status == "fail"
        assert says in verdict.violations[0].detail
    stranger = judged_signature(good, signers=[other.public.keyid])
    assert "not among the signers" in stranger.violations[0].detail


def test_signatures_that_are_asked_for() -> None:
    """A policy that names the rule lets no unsigned bundle pass."""
    verdict = judged_signature(BUNDLE, fail_on=["signed_bundle"])
    assert [one.detail for one in verdict.violations] == ["the bundle is not signed"]


@pytest.mark.parametrize(
    ("members", "content", "step"),
    [
        ({}, "abstain", "abstain"),
        ({"verification_level": "none"}, "abstain", "abstain"),
        ({"fail_on": ["claim_requires_evidence"]}, "abstain", "abstain"),
        ({"verification_level": "strict"}, "fail", "fail"),
        ({"fail_on": ["missing_bundle"]}, "fail", "fail"),
        ({"escalate_on": ["missing_bundle"]}, "escalate", "escalate"),
    ],
)
@pytest.mark.parametrize("evidence", [(EVIDENCE,), ()])
def test_a_bundle_without_a_claim(
    members: dict[str, Any], content: str, step: str, evidence: tuple[Any, ...]
) -> None:
    """Who judged nothing passes nothing; a rule that wants reasoning is broken by it."""
    rules = book(**members)
    named = [one["evidence_id"] for one in evidence]
    empty = subject({**BUNDLE, "claims": [], "evidence_ids": named}, evidence=evidence)
    verdicts = [
        judged_by(one, empty, rules, VALUES)
        for one in ("content", "signature", "contradiction")
    ]
    assert [one.status for one in verdicts] == [content, "abstain", "abstain"]
    assert arbitrate("step", verdicts, rules.policy, []).status == step


def test_a_bundle_without_a_claim_and_its_evidence() -> None:
    """Evidence that was collected, and that such a bundle does not name, is a violation."""
    verdict = judged_by(
        "content", subject({**BUNDLE, "claims": [], "evidence_ids": []}), book(), VALUES
    )
    assert verdict.status == "fail"
    assert [one.rule for one in verdict.violations] == [
        "bundle_evidence_ids_match_inputs"
    ]
