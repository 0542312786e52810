"""A COSE receipt: the proof that one event is in the log, for readers of RFC 9942.

    18([                                              COSE_Sign1
      <<{1: -8,                                       EdDSA
         4: 'SHA256:…',                               the log's key
         15: {1: 'l-….muniment.invalid', 2: 'l-….muniment.invalid/7'},
         395: 1,                                      RFC9162_SHA256
         -70000: 1235}>>,                             the size of the tree
      {396: {-1: [<<[1235, 7, [h'…', …]]>>]}},        size, index, nearest sibling first
      null,                                           the root: readers recompute it
      h'…'                                            Ed25519
    ])

Rules:

- The format's own signature covers the root, and neither size nor index: other sizes of
  a tree of the same shape verify as well. So the protected header repeats both.
- Nothing is signed but the root of a checkpoint that the log has signed before.
- What is signed begins with 0x84: no event, checkpoint, cosignature or enrolment does.
- CBOR in its deterministic form (RFC 8949 §4.2.1): there is one spelling.

Specification: RFC 9942 §5.2, RFC 9052 §4.4, RFC 9597; ``docs/spec/checkpoint.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from muniment.errors import CannotTellError
from muniment.formats.checkpoint import Checkpoint, Note, TlogProof
from muniment.formats.dsse import Signer

__all__ = ["SIZE", "sign_receipt"]

SIZE = -70000
"""The header parameter that repeats the size of the tree; of the private range."""

_ALGORITHM, _KEY, _CLAIMS, _STRUCTURE, _PROOFS = 1, 4, 15, 395, 396
_EDDSA, _RFC9162_SHA256, _INCLUSION = -8, 1, -1
_ISSUER, _SUBJECT = 1, 2
_SIGN1 = b"\xd2"
"""The tag 18."""

_Item: TypeAlias = "int | bytes | str | Mapping[int, _Item] | Sequence[_Item] | None"


def sign_receipt(proof: TlogProof, signer: Signer) -> bytes:
    """Return the receipt of the event that *proof* is about.

    Args:
        proof: is good: the caller has verified it, with the event.
        signer: the log's key.

    Raises:
        CannotTellError: it is the only event of the tree, and a receipt has a hash.

    """
    head = Checkpoint.parse(Note.parse(proof.checkpoint_note).text)
    if not proof.hashes:
        raise CannotTellError(
            "a receipt has at least one hash, and a tree of one event has none",
            rule="cose/one-event",
            place=f"event {proof.index}",
            remedy="append an event, and ask again",
        )
    protected = _encoded(
        {
            _ALGORITHM: _EDDSA,
            _KEY: signer.public.keyid.encode(),
            _CLAIMS: {_ISSUER: head.origin, _SUBJECT: f"{head.origin}/{proof.index}"},
            _STRUCTURE: _RFC9162_SHA256,
            SIZE: head.size,
        }
    )
    signature = signer.sign(_encoded(["Signature1", protected, b"", head.root]))
    path = _encoded([head.size, proof.index, list(proof.hashes)])
    proofs: _Item = {_PROOFS: {_INCLUSION: [path]}}
    return _SIGN1 + _encoded([protected, proofs, None, signature])


def _encoded(item: _Item) -> bytes:
    """Return *item* in deterministic CBOR."""
    match item:
        case None:
            return b"\xf6"
        case int():
            return _head(0, item) if item >= 0 else _head(1, -1 - item)
        case bytes():
            return _head(2, len(item)) + item
        case str():
            text = item.encode()
            return _head(3, len(text)) + text
        case Mapping():
            members = sorted((_encoded(key), _encoded(item[key])) for key in item)
            return _head(5, len(members)) + b"".join(key + one for key, one in members)
        case _:
            return _head(4, len(item)) + b"".join(_encoded(one) for one in item)


def _head(major: int, number: int) -> bytes:
    """Return the first bytes of an item: its major type, and *number* below 2^64."""
    if number < 24:  # noqa: PLR2004 - RFC 8949 §3
        return bytes([major << 5 | number])
    size = next(one for one in range(4) if number < 1 << (8 << one))
    return bytes([major << 5 | 24 + size]) + number.to_bytes(1 << size, "big")
