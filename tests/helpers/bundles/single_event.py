"""The proof of one event as its reader has it, and what can be done to it.

    handed = handed_over(ledger, seq)
    TAMPERS["index"](handed)

Rules:

- A tamper changes one thing, as somebody does who has no keys: what follows from it
  without a key (the log entry, say) follows.
- Those of `FORMS` are about the form of a statement, and change the payload with it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import cbor2

from muniment.formats.checkpoint import Checkpoint, Note
from muniment.formats.dsse import Envelope, log_entry, pae, spki_base64
from muniment.keys.ed25519 import PrivateKey, PublicKey
from muniment.ledger import Ledger

__all__ = ["FORMS", "TAMPERS", "Handed", "handed_over"]

STATEMENT = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Handed:
    """One event with its proof, and the keys and the file that its reader has."""

    payload: bytes
    signature: bytes
    key: PublicKey
    index: int
    hashes: tuple[bytes, ...]
    note: bytes
    log: PublicKey
    ledger: str
    receipt: bytes
    artifact: bytes
    """A file that the event is about: its first subject."""
    others: tuple[bytes, ...]
    """The log entries of all events under the checkpoint."""
    payload_type: str = STATEMENT
    stated: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a Sigstore bundle says of its proof beside the checkpoint."""

    @property
    def head(self) -> Checkpoint:
        """The tree head, whoever signed it."""
        return Checkpoint.parse(Note.parse(self.note).text)

    @property
    def signed(self) -> bytes:
        """What the event's signature covers."""
        return pae(self.payload, self.payload_type)

    @property
    def entry(self) -> bytes:
        """The log entry."""
        return log_entry(self.signed, self.signature, spki_base64(self.key))

    @property
    def envelope(self) -> Envelope:
        """The event in its envelope."""
        return Envelope(self.payload, self.key.keyid, self.signature, self.payload_type)


def handed_over(ledger: Ledger, seq: int) -> Handed:
    """Return event *seq* of *ledger*, whose data is what it is about."""
    event, proof = ledger.event(seq), ledger.prove(seq)
    statement = json.loads(event.payload)
    data = statement["predicate"]["data"]
    (log,) = ledger.keys.current("checkpoint")
    size = Checkpoint.parse(Note.parse(proof.checkpoint_note).text).size
    others = [one for one in ledger.events() if one.seq < size]
    return Handed(
        event.payload,
        event.signature,
        PublicKey(event.key),
        seq,
        proof.hashes,
        proof.checkpoint_note,
        log,
        ledger.id,
        ledger.cose_receipt(seq, proof.checkpoint_note),
        json.dumps(data, sort_keys=True, separators=(",", ":")).encode(),
        tuple(
            log_entry(pae(one.payload), one.signature, spki_base64(PublicKey(one.key)))
            for one in others
        ),
    )


# -- what can be done to it --------------------------------------------------------------


def _flipped(data: bytes, at: int = -1) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def _proof(handed: Handed, **changes: Any) -> Handed:
    """Return *handed* with another proof, in its receipt as well."""
    changed = replace(handed, **changes)
    receipt = cbor2.loads(changed.receipt)
    protected, _, payload, signature = receipt.value
    path = cbor2.dumps([changed.head.size, changed.index, list(changed.hashes)])
    item = [protected, {396: {-1: [path]}}, payload, signature]
    return replace(changed, receipt=cbor2.dumps(cbor2.CBORTag(18, item)))


def _head(handed: Handed, size: int, root: bytes) -> Handed:
    """Return *handed* under another tree head, with the signature of the honest one."""
    note = Note.parse(handed.note)
    text = Checkpoint(handed.head.origin, size, root).text().decode()
    return _proof(handed, note=replace(note, text=text).to_bytes())


def _of_another(handed: Handed) -> Handed:
    entry = json.loads(handed.others[(handed.index + 1) % len(handed.others)])
    content = entry["spec"]["hashedRekordV002"]["signature"]["content"]
    return replace(handed, signature=base64.b64decode(content))


def _with(name: str, value: object) -> Callable[[Handed], Handed]:
    """Return the change of one member of the statement."""

    def change(handed: Handed) -> Handed:
        statement = json.loads(handed.payload) | {name: value}
        return replace(handed, payload=json.dumps(statement).encode())

    return change


FORMS: dict[str, Callable[[Handed], Handed]] = {
    "an unknown member of the statement": lambda one: replace(
        one, payload=b'{"_":0,' + one.payload[1:]
    ),
    "the type of the statement": _with("_type", "https://in-toto.io/Statement/v0.1"),
    "a statement about nothing": _with("subject", []),
    "a subject without a digest": _with("subject", [{"name": "data"}]),
    "a subject that is none": _with("subject", ["data"]),
    "no type of the predicate": _with("predicateType", ""),
    "no predicate": _with("predicate", {}),
}

TAMPERS: dict[str, Callable[[Handed], Handed]] = {
    "a byte of the payload": lambda one: replace(
        one, payload=one.payload.replace(b"muniment", b"monument", 1)
    ),
    **FORMS,
    "the payload's type": lambda one: replace(one, payload_type="application/json"),
    "a byte of the signature": lambda one: replace(
        one, signature=_flipped(one.signature, 0)
    ),
    "another event's signature": _of_another,
    "the event's key": lambda one: replace(one, key=PrivateKey.generate().public),
    "the index": lambda one: _proof(one, index=one.index ^ 1),
    "a hash": lambda one: _proof(
        one, hashes=(_flipped(one.hashes[0]), *one.hashes[1:])
    ),
    "a hash less": lambda one: _proof(one, hashes=one.hashes[1:]),
    "the order of hashes": lambda one: _proof(one, hashes=one.hashes[::-1]),
    "the size of the tree": lambda one: _head(one, one.head.size + 1, one.head.root),
    "the root": lambda one: _head(one, one.head.size, _flipped(one.head.root)),
    "the log's key": lambda one: replace(one, log=PrivateKey.generate().public),
    "the file": lambda one: replace(one, artifact=one.artifact + b" "),
    "the root beside the checkpoint": lambda one: replace(
        one, stated={"rootHash": base64.b64encode(bytes(32)).decode()}
    ),
    "the size beside the checkpoint": lambda one: replace(
        one, stated={"treeSize": str(one.head.size + 1)}
    ),
}
"""What is changed → the change."""
