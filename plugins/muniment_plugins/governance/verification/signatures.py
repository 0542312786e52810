"""The engine ``signature``: whether a bundle that is signed has a good signature.

    "signature": {"envelope": {"payload": "<b64>", "payloadType": "application/vnd.…",
                               "signatures": [{"keyid": "SHA256:…", "sig": "<b64>"}]},
                  "public_key": "-----BEGIN PUBLIC KEY-----…"}

Rules:

- The envelope is DSSE, its payload the canonical bundle without the signature: the very
  bundle that is judged. The key is read from beside it; a policy that names ``signers``
  takes only theirs, by fingerprint.
- A bundle without a signature is not judged, unless policy or flow name the rule
  ``signed_bundle``: then it fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import KeyRefused, MunimentError
from muniment.formats.dsse import Envelope
from muniment.keys.ed25519 import PublicKey
from muniment_plugins.governance.verification.rulebook import Rulebook
from muniment_plugins.governance.verification.subjects import (
    EngineVerdict,
    VerificationSubject,
    worst,
)

__all__ = ["BUNDLE_TYPE", "judge_signature"]

BUNDLE_TYPE = "application/vnd.muniment.reasoning-bundle+json"
_RULE = "signed_bundle"


def judge_signature(subject: VerificationSubject, book: Rulebook) -> EngineVerdict:
    """Return what the signature of the bundle says about it."""
    bundle = subject.bundle
    if bundle is None or (bundle.get("signature") is None and not book.wants(_RULE)):
        return EngineVerdict("signature", "abstain")
    details = [*_wrongs(bundle, book)]
    violations = tuple(book.violation(_RULE, one) for one in details)
    cost = book.rule(_RULE).cost
    return EngineVerdict("signature", worst(violations), (_RULE,), cost, violations)


def _wrongs(bundle: Mapping[str, object], book: Rulebook) -> Iterator[str]:
    """Yield what is wrong with the signature."""
    signature = bundle.get("signature")
    if not isinstance(signature, Mapping):
        yield "the bundle is not signed"
        return
    said = cast("Mapping[str, JsonValue]", signature)
    if {*said} != {"envelope", "public_key"}:
        yield "a signature has an envelope and a public_key"
        return
    try:
        key = PublicKey.parse(str(said["public_key"]))
        envelope = Envelope.from_json(canonical(said["envelope"]), BUNDLE_TYPE)
    except KeyRefused as error:
        yield f"the public key is refused: {error.message}"
        return
    except MunimentError as error:
        yield f"the envelope is refused: {error.message}"
        return
    if not envelope.verify(key):
        yield f"the signature is not that of {key.keyid}"
    if envelope.payload != canonical(_unsigned(bundle)):
        yield "another bundle was signed"
    signers = book.policy.signers
    if signers and key.keyid not in signers:
        yield f"{key.keyid} is not among the signers that the policy names"


def _unsigned(bundle: Mapping[str, object]) -> JsonValue:
    left = {
        name: one for name, one in bundle.items() if name not in ("digest", "signature")
    }
    return cast("JsonValue", left)
