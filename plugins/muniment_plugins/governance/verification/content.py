"""The engine ``content``: the baseline, a policy's own rules, and what they may cost.

Rules:

- Of the level *none*, only what policy and flow name is asked; *baseline* adds its eight
  rules, and *strict* that each step reasons about what it made.
- A bundle without a claim passes nothing: the engine abstains, unless a rule is broken or
  the policy has a rule of its own about it. Where each step must reason, it breaks that.
- Rules are asked in their order as long as ``max_rule_cost`` lasts; the first that is too
  much breaks ``verification_cost_budget``. One that needs more randomness than is
  tolerated is not asked, and breaks ``rule_randomness_exceeds_policy``.
- ``required_evidence`` is a matter of the whole flow; every digest is computed again.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode
from muniment.encoding.registry import ValueTypes
from muniment_plugins.governance.documents.policy_verification import (
    BASELINE,
    RuleSpec,
)
from muniment_plugins.governance.verification.baseline import BASELINE_CHECKS, claims_of
from muniment_plugins.governance.verification.rulebook import Rulebook, asked
from muniment_plugins.governance.verification.subjects import (
    EngineVerdict,
    VerificationSubject,
    Violation,
    worst,
)

__all__ = ["judge_content"]

_OF_EVIDENCE = "bundle_evidence_ids_match_inputs"
"""The rule of the baseline that is about more than claims."""


def judge_content(
    subject: VerificationSubject, book: Rulebook, values: ValueTypes
) -> EngineVerdict:
    """Return what the rules say about *subject*."""
    found: list[Violation] = []
    names: list[str] = []
    cost = 0
    for rule in _rules(subject, book):
        if not book.tolerates(rule):
            detail = f"{rule.rule_id} needs {rule.randomness_requirement} verification"
            found.append(book.violation("rule_randomness_exceeds_policy", detail))
            continue
        limit = book.policy.max_rule_cost
        if limit is not None and cost + rule.cost > limit:
            detail = f"{rule.rule_id} would cost {cost + rule.cost}, of {limit}"
            found.append(book.violation("verification_cost_budget", detail))
            break
        cost += rule.cost
        names.append(rule.rule_id)
        found += [
            book.violation(rule.rule_id, one) for one in _said(rule, subject, book)
        ]
    found += _computed(subject, book, values)
    if not found and not _has_judged(names, subject):
        return EngineVerdict("content", "abstain")
    violations = tuple(found)
    return EngineVerdict("content", worst(violations), tuple(names), cost, violations)


def _rules(subject: VerificationSubject, book: Rulebook) -> Iterator[RuleSpec]:
    if subject.bundle is not None:
        for name in BASELINE:
            asks = book.policy.verification_level != "none" or book.wants(name)
            if asks and (name == _OF_EVIDENCE or claims_of(subject.bundle)):
                yield book.rule(name)
    for rule in book.own_rules():
        if _is_about(rule, subject):
            yield rule


def _has_judged(names: list[str], subject: VerificationSubject) -> bool:
    """Tell whether rules that hold say something: of no claim, the baseline does not."""
    claims = claims_of(subject.bundle)
    return any(claims or one not in BASELINE for one in names)


def _is_about(rule: RuleSpec, subject: VerificationSubject) -> bool:
    """Tell whether the target of a policy's rule is here."""
    if subject.is_flow or rule.target == "flow":
        return subject.is_flow and rule.target == "flow"
    there = {
        "reasoning_bundle": subject.bundle is not None,
        "evidence": bool(subject.evidence),
        "artifact": bool(subject.artifacts),
    }
    return there[rule.target]


def _said(rule: RuleSpec, subject: VerificationSubject, book: Rulebook) -> list[str]:
    check = BASELINE_CHECKS.get(rule.rule_id)
    if check is not None:
        return [*check(subject)]
    return asked(book.checks[rule.rule_id], subject, rule)


def _computed(
    subject: VerificationSubject, book: Rulebook, values: ValueTypes
) -> Iterator[Violation]:
    for one in (*subject.artifacts, *subject.evidence):
        if one.get("content") is None:
            continue  # of an ephemeral artifact, only the digest is kept
        digest = sha256_tag(canonical(encode(one["content"], values)))
        if digest != one["digest"]:
            name = one.get("artifact_id", one.get("evidence_id"))
            detail = f"{name!s:.80} has the digest {digest}, not {one['digest']}"
            yield book.violation("artifact_store_integrity", detail)
    if subject.is_flow:
        there = {str(one["evidence_id"]) for one in subject.evidence}
        for name in book.policy.required_evidence:
            if name not in there:
                yield book.violation("required_evidence", f"{name:.80} is missing")
    elif not claims_of(subject.bundle) and _must_reason(book):
        yield book.violation("missing_bundle", "the step reasoned about nothing")


def _must_reason(book: Rulebook) -> bool:
    strict = book.policy.verification_level == "strict"
    return strict or book.wants("missing_bundle")
