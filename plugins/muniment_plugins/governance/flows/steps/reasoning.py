"""Reasoning bundles: claims, how sure they are, what supports them, how they follow.

    {"bundle_id": "b1", "evidence_ids": ["e1"],
     "claims": [{"claim_id": "c1", "statement": "…", "confidence": 0.9,
                 "supported_by": ["e1"]}],
     "steps": [{"step_id": "s1", "input_claims": [], "output_claims": ["c1"],
                "method": "…"}]}

Rules:

- Here only the form is required; whether the claims hold up is judged by rules.
- A claim states its confidence; no number is assumed of one that does not.
- Without ``evidence_ids`` a bundle is about the evidence that its claims name.
- A signature is a DSSE envelope over the canonical bundle without it; `sign_bundle` makes
  one, and the engine ``signature`` verifies it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Anything,
    Items,
    Numeric,
    ObjectShape,
    Text,
)
from muniment.encoding.canonical import JsonValue, canonical, parse, sha256_tag
from muniment.errors import UsageError
from muniment.formats.dsse import Signer, sign_payload
from muniment_plugins.governance.flows.edition import EDITION
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.verification.signatures import BUNDLE_TYPE

__all__ = ["BUNDLE", "ReasoningBundle", "bundle_of", "sign_bundle"]

_TEXTS = Items(Text())
_CLAIM = ObjectShape(
    {"claim_id": Text(), "statement": Text()},
    {"confidence": Numeric(float("-inf")), "supported_by": _TEXTS},
)
_STEP = ObjectShape(
    {"step_id": Text()},
    {"input_claims": _TEXTS, "output_claims": _TEXTS, "method": Text()},
)
BUNDLE = ObjectShape(
    {"claims": Items(_CLAIM)},
    {
        "bundle_id": Text(),
        "steps": Items(_STEP),
        "evidence_ids": _TEXTS,
        "producer_agent_id": Text(),
        "signature": Anything(),
    },
)
"""What a reasoner may return."""

Row = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ReasoningBundle:
    """What was concluded about a step's outputs."""

    bundle_id: str
    producer: str
    claims: tuple[Row, ...]
    steps: tuple[Row, ...]
    evidence_ids: tuple[str, ...]
    signature: Row | None = field(default=None, repr=False)

    def document(self) -> dict[str, JsonValue]:
        """Return the bundle without its signature: what is signed, and judged."""
        return {
            "bundle_id": self.bundle_id,
            "producer_agent_id": self.producer,
            "claims": [dict(one) for one in self.claims],
            "steps": [dict(one) for one in self.steps],
            "evidence_ids": [*self.evidence_ids],
        }

    @property
    def digest(self) -> str:
        """The digest of the canonical bundle, without its signature."""
        return sha256_tag(canonical(self.document()))

    def stated(self) -> dict[str, object]:
        """Return the fact that the bundle was made."""
        signed = None if self.signature is None else dict(self.signature)
        return {
            "bundle_id": self.bundle_id,
            "producer": self.producer,
            "claim_ids": [one["claim_id"] for one in self.claims],
            "evidence_ids": [*self.evidence_ids],
            "digest": self.digest,
            "claims": [dict(one) for one in self.claims],
            "steps": [dict(one) for one in self.steps],
            "signature": signed,
        }


def bundle_of(
    value: object, agent: str, step: int, place: str, edition: int = EDITION
) -> ReasoningBundle:
    """Return the bundle that a reasoner returned as *value*.

    Raises:
        FlowFailed: it has another form.

    """
    at = At(place, "flow")
    try:
        BUNDLE.check(cast("JsonValue", value), at)
        if edition > 1:
            _require_confidences(cast("Row", value), at)
    except UsageError as error:
        raise FlowFailed(
            error.message,
            rule="flow/reasoning",
            place=error.place,
            remedy=error.remedy or 'return {"claims": […], "evidence_ids": […]}',
        ) from None
    said = cast("Row", value)
    claims = tuple(map(_claim, cast("Sequence[Row]", said["claims"])))
    named = [one for row in claims for one in cast("list[str]", row["supported_by"])]
    about = cast("list[str] | None", said.get("evidence_ids"))
    return ReasoningBundle(
        bundle_id=cast("str", said.get("bundle_id") or f"{agent}/{step}"),
        producer=cast("str", said.get("producer_agent_id") or agent),
        claims=claims,
        steps=tuple(map(_step, cast("Sequence[Row]", said.get("steps") or []))),
        evidence_ids=tuple(dict.fromkeys(named)) if about is None else tuple(about),
        signature=cast("Row | None", said.get("signature")),
    )


def _require_confidences(said: Row, at: At) -> None:
    """Refuse a claim that does not say how sure it is: no number is assumed.

    The first edition assumed 1.0.
    """
    for number, one in enumerate(cast("Sequence[Row]", said["claims"])):
        if one.get("confidence") is None:
            raise (
                at.key("claims")
                .item(number)
                .key("confidence")
                .wrong("it is missing", "missing-key", "write a number from 0 to 1")
            )


def _claim(row: Row) -> Row:
    confidence = row.get("confidence")
    return {
        "claim_id": row["claim_id"],
        "statement": row["statement"],
        "confidence": 1.0 if confidence is None else confidence,
        "supported_by": [*cast("list[str]", row.get("supported_by") or [])],
    }


def _step(row: Row) -> Row:
    return {
        "step_id": row["step_id"],
        "input_claims": [*cast("list[str]", row.get("input_claims") or [])],
        "output_claims": [*cast("list[str]", row.get("output_claims") or [])],
        "method": row.get("method") or "",
    }


def sign_bundle(
    value: Mapping[str, JsonValue], signer: Signer, agent: str, step: int
) -> dict[str, JsonValue]:
    """Return the bundle *value*, as a reasoner returns it, with a signature.

    Args:
        value: the bundle without a signature.
        signer: whoever signs it.
        agent: the agent of the step.
        step: the number of the step.

    """
    made = bundle_of(dict(value), agent, step, "sign_bundle")
    envelope = sign_payload(canonical(made.document()), signer, BUNDLE_TYPE)
    return {
        **made.document(),
        "signature": {
            "envelope": parse(envelope.to_json()),
            "public_key": signer.public.pem,
        },
    }
