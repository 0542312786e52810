"""An event with the proof that it is under a signed tree head, in one file.

    c2sp.org/tlog-proof@v1
    extra eyJlbnZlbG9wZSI6…      the event: its DSSE envelope and its signer's key
    index 7
    yUtwSRG2q4C5PYzPEC8hTETw7rYWH8Ny4CCDXCTQ0Qw=
                                 (a blank line)
    l-0123….muniment.invalid     the checkpoint
    …

Rules:

- The extra data is canonical JSON, ``{"envelope": …, "publicKey": "<b64 SPKI>"}``;
  other readers of the format pass over it.
- Checking needs the checkpoint's keys and nothing else: no ledger, no database. It
  recomputes the leaf from the envelope, never takes it from the proof.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, replace

from muniment.canonical import JsonValue, canonical, parse_canonical
from muniment.checkpoint import Checkpoint, Note, TlogProof
from muniment.errors import CannotTellError, KeyRefused, WrongError
from muniment.keys import PublicKey
from muniment.signing import Envelope, entry_hash, spki_base64

__all__ = ["HEADER", "Included", "check_inclusion", "origin_of_proof", "with_event"]

HEADER = b"c2sp.org/tlog-proof@v1\n"


@dataclass(frozen=True, slots=True)
class Included:
    """What a proof shows: this event, signed by this key, under this tree head."""

    seq: int
    size: int
    origin: str
    payload: bytes
    signer: str
    checkpoint_key: str


def with_event(
    proof: TlogProof, payload: bytes, signature: bytes, key: bytes
) -> TlogProof:
    """Return *proof* with the event in it, so that it can be checked on its own."""
    public = PublicKey(key)
    envelope = Envelope(payload, public.keyid, signature)
    extra: JsonValue = {
        "envelope": parse_canonical(envelope.to_json()),
        "publicKey": spki_base64(public).decode(),
    }
    return replace(proof, extra=canonical(extra))


def origin_of_proof(data: bytes) -> str:
    """Return the origin that the proof's checkpoint names; it says which ledger."""
    note = TlogProof.parse(data).checkpoint_note
    return Checkpoint.parse(Note.parse(note).text).origin


def check_inclusion(
    data: bytes, origin: str, publics: Iterable[PublicKey], place: str = "tlog-proof"
) -> Included:
    """Check the proof *data*, which carries its event.

    Args:
        data: the file, as `with_event` and ``TlogProof.to_text`` write it.
        origin: the ledger that is expected.
        publics: its checkpoint keys, from a source that the caller trusts.
        place: the file's name, for messages.

    Raises:
        WrongError: the proof, the checkpoint or the event's signature is not good.
        CannotTellError: the proof does not carry its event.

    """
    proof = TlogProof.parse(data)
    if proof.extra is None:
        raise CannotTellError(
            "the proof does not carry its event",
            rule="tlog-proof/no-event",
            place=place,
            remedy="verify it beside its ledger, or get one from `muniment prove`",
        )
    envelope, signer = _event(proof.extra)
    if not envelope.verify(signer):
        raise WrongError(
            "the event's signature is wrong",
            rule="event/signature",
            seq=proof.index,
            place=place,
        )
    leaf = entry_hash(envelope.payload, envelope.signature, spki_base64(signer))
    known = list(publics)
    checkpoint = proof.verify(leaf, origin, known)
    notary = Note.parse(proof.checkpoint_note).verify(origin, known)
    return Included(
        proof.index,
        checkpoint.size,
        checkpoint.origin,
        envelope.payload,
        signer.keyid,
        "" if notary is None else notary.keyid,
    )


def _event(extra: bytes) -> tuple[Envelope, PublicKey]:
    try:
        members = parse_canonical(extra)
        if isinstance(members, dict) and members.keys() == {"envelope", "publicKey"}:
            key = members["publicKey"]
            der = base64.b64decode(key if isinstance(key, str) else "", validate=True)
            envelope = Envelope.from_json(canonical(members["envelope"]))
            return envelope, PublicKey.from_spki(der)
        fault = "not an envelope and a public key"
    except (WrongError, KeyRefused) as error:
        fault = error.message
    except ValueError:
        fault = "not canonical base64"
    raise WrongError(
        f"the event in the proof cannot be read ({fault})",
        rule="tlog-proof/extra",
        place="extra",
    )
