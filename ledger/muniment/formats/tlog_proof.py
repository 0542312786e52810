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
  other readers of the format skip it. It only carries the event: the leaf is recomputed
  from it, and the event counts once that leaf is under the tree head.
- The event's own fields agree with the proof: its ``seq`` is the index, its ``ledger``
  has the origin.
- Checking needs the checkpoint's keys and nothing else: no ledger, no database. If the
  ledger's keys are known, the tree head is signed by one that held the role at its
  size, and the event by one that was allowed to sign it at its place.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, replace

from muniment.encoding.canonical import (
    JsonValue,
    canonical,
    parse_canonical,
    sha256_tag,
)
from muniment.errors import CannotTellError, KeyRefused, MunimentError, WrongError
from muniment.formats.checkpoint import Checkpoint, Note, TlogProof, read_vouched
from muniment.formats.checkpoint import origin as origin_of
from muniment.formats.dsse import Envelope, entry_hash, spki_base64
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring

__all__ = ["HEADER", "Included", "check_inclusion", "origin_of_proof", "with_event"]

HEADER = b"c2sp.org/tlog-proof@v1\n"


@dataclass(frozen=True, slots=True)
class Included:
    """A proof's result: this event, signed by this key, under this tree head."""

    seq: int
    size: int
    origin: str
    payload: bytes
    signer: str
    checkpoint_key: str
    hashes: int
    """How many hashes lead from the event to the root of the tree head."""
    enrolled: bool = False
    """Whether both keys were looked up among those of the ledger."""


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
    """Return the origin that the proof's checkpoint names: the ledger."""
    note = TlogProof.parse(data).checkpoint_note
    return Checkpoint.parse(Note.parse(note).text).origin


def check_inclusion(
    data: bytes,
    origin: str,
    publics: Iterable[PublicKey],
    place: str = "tlog-proof",
    *,
    keyring: Keyring | None = None,
) -> Included:
    """Check the proof *data*, which carries its event.

    Args:
        data: the file, as `with_event` and ``TlogProof.to_text`` write it.
        origin: the ledger that is expected.
        publics: its checkpoint keys, from a source that the caller trusts.
        place: the file's name, for messages.
        keyring: the keys of the ledger, if it is at hand; then only those of *publics*
            count that it has, or all that it has if there are none.

    Raises:
        WrongError: the proof, the checkpoint, the event or its signature is not good,
            or a key did not hold its role there.
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
        what = "the event's signature is wrong"
        raise _wrong("event/signature", what, proof.index, place)
    leaf = entry_hash(envelope.payload, envelope.signature, spki_base64(signer))
    known = list(publics)
    if keyring is not None:
        notary = read_vouched(proof.checkpoint_note, origin, keyring)[1]
        known = [notary] if notary in known or not known else known
    checkpoint = proof.verify(leaf, origin, known)
    made = Note.parse(proof.checkpoint_note).verify(origin, known)
    kind = _agreeing(envelope.payload, proof.index, origin, place)
    if keyring and not keyring.could_sign(proof.index, signer.raw, kind):
        what = f"{signer.keyid} might not sign {kind} there"
        raise _wrong("key/role", what, proof.index, place)
    return Included(
        proof.index,
        checkpoint.size,
        checkpoint.origin,
        envelope.payload,
        signer.keyid,
        "" if made is None else made.keyid,
        len(proof.hashes),
        enrolled=keyring is not None,
    )


def _agreeing(payload: bytes, index: int, origin: str, place: str) -> str:
    """Return the event's type; refuse one that says it is elsewhere."""
    try:
        statement = parse_canonical(payload)
    except WrongError as error:
        raise _wrong("event/canonical", error.message, index, place) from None
    chain = _member(_member(statement, "predicate"), "muniment")
    kind, seq = _member(chain, "type"), _member(chain, "seq")
    if not isinstance(kind, str):
        raise _wrong("event/shape", "the event has no type", index, place)
    if type(seq) is not int or seq != index:
        what = f"the event says it is number {seq}, the proof {index}"
        raise _wrong("event/seq", what, index, place)
    named = _member(chain, "ledger") if index else sha256_tag(payload)
    try:
        agrees = origin_of(named if isinstance(named, str) else "") == origin
    except MunimentError:
        agrees = False
    if not agrees:
        what = f"the event says it is of the ledger {named}"
        raise _wrong("event/ledger", what, index, place)
    return kind


def _member(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, dict) else None


def _wrong(rule: str, message: str, index: int, place: str) -> WrongError:
    return WrongError(
        message,
        rule=rule,
        seq=index,
        place=place,
        remedy="get the proof again from whoever keeps the ledger",
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
