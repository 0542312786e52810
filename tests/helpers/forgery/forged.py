"""The parts of forged ledgers: keys, hashes, trees and rows, by their description alone.

Nothing of muniment is used here.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = [
    "Row",
    "b64",
    "entry",
    "keyid",
    "leaf_hash",
    "make_key",
    "named",
    "pae",
    "path",
    "raw",
    "root",
    "signed",
    "tiles",
]


def make_key(name: str) -> Ed25519PrivateKey:
    """Return the private key that *name* stands for."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())


def raw(key: Ed25519PrivateKey) -> bytes:
    """Return the 32 public bytes."""
    return key.public_key().public_bytes_raw()


def b64(data: bytes) -> str:
    """Return standard padded base64."""
    return base64.b64encode(data).decode()


def keyid(key: Ed25519PrivateKey) -> str:
    """Return what ``ssh-keygen -lf`` prints."""
    return named(raw(key))


def named(public: bytes) -> str:
    """Return the key id of 32 public bytes."""
    wire = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + public
    return "SHA256:" + b64(hashlib.sha256(wire).digest()).rstrip("=")


def pae(payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding."""
    kind = b"application/vnd.in-toto+json"
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def leaf_hash(
    payload: bytes, signature: bytes, public: bytes, details: str = "PKIX_ED25519_PH"
) -> bytes:
    """Return the RFC 6962 hash of the Rekor v2 entry."""
    spki = bytes.fromhex("302a300506032b6570032100") + public
    verifier: dict[str, Any] = {
        "keyDetails": details,
        "publicKey": {"rawBytes": b64(spki)},
    }
    digest = b64(hashlib.sha512(pae(payload)).digest())
    record: dict[str, Any] = {
        "data": {"algorithm": "SHA2_512", "digest": digest},
        "signature": {"content": b64(signature), "verifier": verifier},
    }
    entry: dict[str, Any] = {
        "apiVersion": "0.0.2",
        "kind": "hashedrekord",
        "spec": {"hashedRekordV002": record},
    }
    return hashlib.sha256(b"\0" + rfc8785.dumps(entry)).digest()


def root(hashes: list[bytes]) -> bytes:
    """Return the RFC 6962 root, by its definition."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    half = 1 << (len(hashes) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(hashes[:half]) + root(hashes[half:])).digest()


def path(hashes: list[bytes], index: int) -> list[bytes]:
    """Return the RFC 6962 audit path, by its definition; nearest sibling first."""
    if len(hashes) == 1:
        return []
    half = 1 << (len(hashes) - 1).bit_length() - 1
    if index < half:
        return [*path(hashes[:half], index), root(hashes[half:])]
    return [*path(hashes[half:], index - half), root(hashes[:half])]


def tiles(hashes: list[bytes]) -> list[tuple[int, int, bytes]]:
    """Return every complete tile above the leaves."""
    found, level, below = [], 1, hashes
    while len(below) >= 256:
        below = [root(below[i : i + 256]) for i in range(0, len(below) & ~255, 256)]
        found += [(level, index, value) for index, value in enumerate(below)]
        level += 1
    return found


def entry(key: Ed25519PrivateKey, roles: list[str], context: str) -> dict[str, Any]:
    """Return the enrolment of a key."""
    possession = {
        role: b64(
            key.sign(
                f"muniment/key-possession/v1\n{context}\n{keyid(key)}\n{role}\n".encode()
            )
        )
        for role in roles
    }
    public = b64(raw(key))
    return {
        "keyid": keyid(key),
        "possession": possession,
        "public": public,
        "roles": roles,
    }


@dataclass(frozen=True)
class Row:
    """A row of `event`."""

    seq: int
    type: str
    run: str | None
    payload: bytes
    signature: bytes
    key: bytes
    hash: bytes


def signed(
    seq: int,
    payload: bytes,
    signer: Ed25519PrivateKey,
    kind: str = "note.added",
    run: str | None = None,
) -> Row:
    """Return a row with its signature and its leaf hash, whatever *payload* is."""
    signature = signer.sign(pae(payload))
    leaf = leaf_hash(payload, signature, raw(signer))
    return Row(seq, kind, run, payload, signature, raw(signer), leaf)
