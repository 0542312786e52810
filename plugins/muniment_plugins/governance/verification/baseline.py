"""The eight rules of the baseline: what a bundle's claims must have.

    claim_mentions_evidence_hash    "… as e1 says (sha256:9f2b…)"

Rule: each returns what is wrong, one text for each claim; nothing if the rule holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from muniment_plugins.governance.verification.subjects import VerificationSubject

__all__ = ["BASELINE_CHECKS", "claims_of"]

Row = Mapping[str, object]
Check = Callable[[VerificationSubject], Iterator[str]]


def claims_of(bundle: Row | None) -> list[Row]:
    """Return the claims of a bundle."""
    return cast("list[Row]", [] if bundle is None else bundle["claims"])


def _support(claim: Row) -> list[str]:
    return cast("list[str]", claim["supported_by"])


def _name(claim: Row) -> str:
    return f"claim {claim['claim_id']!s:.80}"


def _requires_evidence(subject: VerificationSubject) -> Iterator[str]:
    for one in claims_of(subject.bundle):
        if not _support(one):
            yield f"{_name(one)} names no evidence"


def _confidence_in_range(subject: VerificationSubject) -> Iterator[str]:
    for one in claims_of(subject.bundle):
        if not 0 <= cast("float", one["confidence"]) <= 1:
            yield f"{_name(one)} has the confidence {one['confidence']}"


def _unique_ids(subject: VerificationSubject) -> Iterator[str]:
    counted = Counter(str(one["claim_id"]) for one in claims_of(subject.bundle))
    for name, count in counted.items():
        if count > 1:
            yield f"{count} claims have the id {name:.80}"


def _evidence_matches(subject: VerificationSubject) -> Iterator[str]:
    named = set(cast("list[str]", (subject.bundle or {}).get("evidence_ids") or []))
    there = {str(one["evidence_id"]) for one in subject.evidence}
    for name in sorted(named - there):
        yield f"the bundle names {name:.80}, which the step did not collect"
    for name in sorted(there - named):
        yield f"the step collected {name:.80}, which the bundle does not name"


def _known_evidence(subject: VerificationSubject) -> Iterator[str]:
    there = {str(one["evidence_id"]) for one in subject.evidence}
    for one in claims_of(subject.bundle):
        for name in _support(one):
            if name not in there:
                yield f"{_name(one)} rests on {name:.80}, which is unknown"


def _mentions_id(subject: VerificationSubject) -> Iterator[str]:
    for one in claims_of(subject.bundle):
        for name in _support(one):
            if name not in str(one["statement"]):
                yield f"{_name(one)} does not mention {name:.80}"


def _mentions_hash(subject: VerificationSubject) -> Iterator[str]:
    digests = {str(one["evidence_id"]): one["digest"] for one in subject.evidence}
    for one in claims_of(subject.bundle):
        for name in _support(one):
            digest = digests.get(name)
            if digest is None or not _says(one, digest):
                yield f"{_name(one)} does not mention the digest of {name:.80}"


def _mentions_artifact(subject: VerificationSubject) -> Iterator[str]:
    digests = [one["digest"] for one in subject.artifacts]
    for one in claims_of(subject.bundle) if digests else ():
        if not any(_says(one, digest) for digest in digests):
            yield f"{_name(one)} mentions the digest of no artifact"


def _says(claim: Row, digest: object) -> bool:
    return str(digest).removeprefix("sha256:") in str(claim["statement"])


BASELINE_CHECKS: Mapping[str, Check] = {
    "claim_requires_evidence": _requires_evidence,
    "confidence_in_range": _confidence_in_range,
    "unique_claim_ids": _unique_ids,
    "bundle_evidence_ids_match_inputs": _evidence_matches,
    "claim_supports_known_evidence": _known_evidence,
    "claim_mentions_evidence_id": _mentions_id,
    "claim_mentions_evidence_hash": _mentions_hash,
    "claim_mentions_artifact_hash": _mentions_artifact,
}
"""Rule → its check."""
