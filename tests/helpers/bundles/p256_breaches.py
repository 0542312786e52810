"""What breaks the sentences about P-256 keys and their signatures."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256

from forge import pae
from forged import Row, b64
from worlds import World, breaks

__all__ = ["ORDER", "SECRET", "low_signature", "public_of"]

SECRET = ec.derive_private_key(0x1234567890ABCDEF, ec.SECP256R1())
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")


def public_of(secret: ec.EllipticCurvePrivateKey) -> bytes:
    """Return 04, X and Y."""
    numbers = secret.public_key().public_numbers()
    return b"\4" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")


def low_signature(message: bytes) -> bytes:
    """Return the one spelling of a signature by the secret."""
    r, s = decode_dss_signature(SECRET.sign(message, ec.ECDSA(SHA256())))
    return encode_dss_signature(r, min(s, ORDER - s))


def _keyid(public: bytes) -> str:
    wire = b"\0\0\0\x13ecdsa-sha2-nistp256\0\0\0\x08nistp256\0\0\0\x41" + public
    return "SHA256:" + b64(hashlib.sha256(wire).digest()).rstrip("=")


def _enrol(
    world: World, public: bytes, sign: Any = low_signature, role: str = "writer"
) -> None:
    context, keyid = world.forge.ledger, _keyid(public)
    message = f"muniment/key-possession/v1\n{context}\n{keyid}\n{role}\n"
    data = {
        "keyid": keyid,
        "possession": {role: b64(sign(message.encode()))},
        "public": b64(public),
        "roles": [role],
    }
    world.forge.append("key.enrolled", data, signer=world.forge.key("root"))


def _leaf(row: Row, signature: bytes, key: bytes, *, wrong: bool = False) -> bytes:
    digest = hashlib.sha512 if wrong else hashlib.sha256
    verifier: dict[str, Any] = {
        "keyDetails": "PKIX_ED25519_PH" if wrong else "PKIX_ECDSA_P256_SHA_256",
        "publicKey": {"rawBytes": b64(_SPKI + key)},
    }
    told = base64.b64encode(digest(pae(row.payload)).digest()).decode()
    record: dict[str, Any] = {
        "data": {"algorithm": "SHA2_512" if wrong else "SHA2_256", "digest": told},
        "signature": {"content": b64(signature), "verifier": verifier},
    }
    body: dict[str, Any] = {
        "apiVersion": "0.0.2",
        "kind": "hashedrekord",
        "spec": {"hashedRekordV002": record},
    }
    return hashlib.sha256(b"\0" + rfc8785.dumps(body)).digest()


def _note(world: World, change: Any = bytes, *, label: bool = False) -> None:
    """Append a note by a P-256 writer, its signature *change*d."""
    public = public_of(SECRET)
    _enrol(world, public)
    row = world.note()
    signature = change(low_signature(pae(row.payload)))
    leaf = _leaf(row, signature, public, wrong=label)
    world.forge.rows[-1] = replace(row, signature=signature, key=public, hash=leaf)


def _high(signature: bytes) -> bytes:
    r, s = decode_dss_signature(signature)
    return encode_dss_signature(r, ORDER - s)


def _long_form(signature: bytes) -> bytes:
    return b"\x30\x81" + signature[1:]


@breaks(
    "checkpoint", "An ECDSA signature MUST be the DER encoding", rule="event/signature"
)
def the_other_s(world: World, wrong: bool) -> None:
    """Give the greater of the two s that hold."""
    _note(world, _high if wrong else bytes)


@breaks(
    "checkpoint", "A verifier MUST refuse every other spelling", rule="event/signature"
)
def a_length_in_two_bytes(world: World, wrong: bool) -> None:
    """Write the length of the signature as BER may."""
    _note(world, _long_form if wrong else bytes)


@breaks(
    "checkpoint",
    "for a P-256 key, they MUST be `SHA2_256`",
    rule="event/leaf-hash",
)
def the_label_of_the_other_algorithm(world: World, wrong: bool) -> None:
    """Hash an entry that is labelled as one of an Ed25519 key."""
    _note(world, label=wrong)


@breaks("event", "Readers MUST refuse a P-256 key", rule="key/off-curve")
def a_point_beside_the_curve(world: World, wrong: bool) -> None:
    """Enrol coordinates that are no point."""
    public = public_of(SECRET)
    odd = public[:-1] + bytes([public[-1] ^ 1])
    _enrol(world, odd if wrong else public)


@breaks("event", "Readers MUST refuse a P-256 key", rule="key/non-canonical")
def a_hybrid_point(world: World, wrong: bool) -> None:
    """Enrol a point in the hybrid encoding, which says its parity too."""
    public = public_of(SECRET)
    odd = bytes([6 + public[-1] % 2]) + public[1:]
    _enrol(world, odd if wrong else public)


@breaks(
    "event",
    "A key with the role `checkpoint` MUST be Ed25519",
    rule="key/checkpoint-algorithm",
)
def a_log_on_the_other_curve(world: World, wrong: bool) -> None:
    """Enrol a P-256 key for checkpoints."""
    _enrol(world, public_of(SECRET), role="checkpoint" if wrong else "writer")
