"""Policies that somebody signed: the document in an envelope, in place of the document.

    {"payload": "<b64 of the canonical policy>",
     "payloadType": "application/vnd.muniment.policy+json",
     "signatures": [{"keyid": "SHA256:…", "sig": "<b64>"}]}

Rules:

- The envelope is DSSE, and has one signature. Its payload is the policy as canonical JSON,
  so the digest of a policy is the same whether it is signed or not.
- A run adopts a signed policy only if an approver of its ledger signed it. The run's
  record has the envelope, so that whoever has the record can check it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue, canonical, parse, parse_canonical
from muniment.errors import MunimentError, RefusedError
from muniment.formats.dsse import Envelope, Signer, sign_payload

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "POLICY_TYPE",
    "is_envelope",
    "refuse_forged",
    "sealed",
    "signer_of",
    "unsealed",
]

POLICY_TYPE = "application/vnd.muniment.policy+json"
_MEMBERS = frozenset({"payload", "payloadType", "signatures"})


def is_envelope(value: JsonValue) -> bool:
    """Tell whether *value*, read from a file, is an envelope rather than a policy."""
    return isinstance(value, dict) and value.keys() == _MEMBERS


def unsealed(value: JsonValue, place: str) -> tuple[JsonValue, Mapping[str, JsonValue]]:
    """Return the document in the envelope *value*, and the envelope; nothing is verified.

    Raises:
        UsageError: it is not the envelope of a policy.

    """
    try:
        envelope = Envelope.from_json(canonical(value), POLICY_TYPE)
        document = parse_canonical(envelope.payload)
    except MunimentError as error:
        raise At(place, "policy").wrong(
            f"it is not the envelope of a policy: {error.message}",
            "envelope",
            "write one with `muniment policy sign`",
        ) from None
    return document, _object(envelope)


def sealed(
    document: Mapping[str, JsonValue], signer: Signer
) -> Mapping[str, JsonValue]:
    """Return the envelope of the policy *document*, signed by *signer*."""
    return _object(sign_payload(canonical(dict(document)), signer, POLICY_TYPE))


def _object(envelope: Envelope) -> Mapping[str, JsonValue]:
    return cast("Mapping[str, JsonValue]", parse(envelope.to_json()))


def signer_of(envelope: Mapping[str, JsonValue]) -> str:
    """Return the id of the key that *envelope* names, which nothing has verified."""
    return Envelope.from_json(canonical(dict(envelope)), POLICY_TYPE).keyid


def refuse_forged(
    ledger: Ledger,
    document: Mapping[str, JsonValue],
    sealed_by: Mapping[str, JsonValue],
    place: str,
) -> None:
    """Refuse the policy *document* if no approver of *ledger* sealed it so.

    Raises:
        RefusedError: the signature is another's, or not good.

    """
    envelope = Envelope.from_json(canonical(dict(sealed_by)), POLICY_TYPE)
    known = {one.keyid: one for one in ledger.keys.current("approver")}
    key = known.get(envelope.keyid)
    why = "is not good"
    if key is None:
        why = f"is by {envelope.keyid}, which is no approver's key of this ledger"
    elif envelope.verify(key) and envelope.payload == canonical(dict(document)):
        return
    raise RefusedError(
        f"the signature {why}",
        rule="policy/signature",
        place=place,
        remedy="`muniment keys list` shows who may approve; "
        "let one of them sign with `muniment policy sign`",
    )
