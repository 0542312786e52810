"""An event and its proof as Sigstore clients read them: bundle and trusted root.

    {"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json", …
     "verificationMaterial":{"publicKey":{"hint":"SHA256:…"},"tlogEntries":[…]},
     "dsseEnvelope":{"payload":"…","payloadType":"application/vnd.in-toto+json", …}}

Rules:

- Everything in a bundle follows from envelope, signer, proof and checkpoint. A reader
  takes these out, writes the bundle again and compares the bytes: there is one spelling.
- The envelope's key id is the hint; 64-bit numbers are texts, as in protobuf's JSON.
- The log's name is the host of ``baseUrl``, which never resolves.

Specification: Sigstore bundle v0.3, trusted root 0.1; ``docs/spec/evidence.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from muniment.encoding.canonical import JsonValue, canonical, parse_canonical
from muniment.errors import WrongError
from muniment.formats.checkpoint import Checkpoint, Note, TlogProof, log_id
from muniment.formats.dsse import (
    Envelope,
    decode_base64,
    encode_base64,
    log_entry,
    pae,
    spki_base64,
)
from muniment.keys.ed25519 import PublicKey

__all__ = ["SigstoreBundle", "trusted_root"]

_BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
_ROOT = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
_SINCE = "2020-01-01T00:00:00Z"
"""Before any ledger: which key counts when is in the ledger, not in this file."""


@dataclass(frozen=True, slots=True)
class SigstoreBundle:
    """One event in its envelope, and the proof that it is in the log."""

    envelope: Envelope
    proof: TlogProof

    def to_json(self, signer: PublicKey, log: PublicKey) -> bytes:
        """Return the bundle: canonical JSON and a line end.

        Args:
            signer: the key of the envelope.
            log: the key of the checkpoint.

        """
        head = Checkpoint.parse(Note.parse(self.proof.checkpoint_note).text)
        signature, index = self.envelope.signature, str(self.proof.index)
        body = log_entry(pae(self.envelope.payload), signature, spki_base64(signer))
        hashes: list[JsonValue] = [encode_base64(one) for one in self.proof.hashes]
        entry: JsonValue = {
            "canonicalizedBody": encode_base64(body),
            "inclusionProof": {
                "checkpoint": {"envelope": self.proof.checkpoint_note.decode()},
                "hashes": hashes,
                "logIndex": index,
                "rootHash": encode_base64(head.root),
                "treeSize": str(head.size),
            },
            "integratedTime": "0",
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
            "logId": {"keyId": encode_base64(log_id(head.origin, log))},
            "logIndex": index,
        }
        return _line(
            {
                "dsseEnvelope": parse_canonical(self.envelope.to_json()),
                "mediaType": _BUNDLE,
                "verificationMaterial": {
                    "publicKey": {"hint": self.envelope.keyid},
                    "tlogEntries": [entry],
                },
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> SigstoreBundle:
        """Take out what `to_json` put in; the rest is the caller's to compare.

        Raises:
            WrongError: ``sigstore/shape``, or a rule of the envelope or of JSON.

        """
        value = parse_canonical(data.removesuffix(b"\n"))
        entry = _one(_at(value, "verificationMaterial", "tlogEntries"))
        index = _at(entry, "logIndex")
        note = _at(entry, "inclusionProof", "checkpoint", "envelope")
        listed = _at(entry, "inclusionProof", "hashes")
        if not isinstance(index, str) or not isinstance(note, str):
            raise _shape("no index, or no checkpoint")
        if not isinstance(listed, list) or not index.isdecimal() or len(index) > 18:  # noqa: PLR2004 - a 64-bit number
            raise _shape("no number, or no list of hashes")
        hashes = [
            decode_base64(one) if isinstance(one, str) else None for one in listed
        ]
        if None in hashes:
            raise _shape("a hash is not standard padded base64")
        envelope = Envelope.from_json(canonical(_at(value, "dsseEnvelope")))
        known = tuple(one for one in hashes if one is not None)
        return cls(envelope, TlogProof(int(index), known, note.encode()))


def trusted_root(origin: str, log: PublicKey) -> bytes:
    """Return the trusted root that has this one log: canonical JSON and a line end."""
    entry: JsonValue = {
        "baseUrl": f"https://{origin}",
        "hashAlgorithm": "SHA2_256",
        "logId": {"keyId": encode_base64(log_id(origin, log))},
        "publicKey": {
            "keyDetails": "PKIX_ED25519",
            "rawBytes": spki_base64(log).decode(),
            "validFor": {"start": _SINCE},
        },
    }
    return _line(
        {
            "certificateAuthorities": [],
            "ctlogs": [],
            "mediaType": _ROOT,
            "timestampAuthorities": [],
            "tlogs": [entry],
        }
    )


def _line(value: JsonValue) -> bytes:
    return canonical(value) + b"\n"


def _at(value: JsonValue, *path: str) -> JsonValue:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            raise _shape(f"there is no member {'.'.join(path)}")
        value = value[name]
    return value


def _one(value: JsonValue) -> JsonValue:
    if not isinstance(value, list) or len(value) != 1:
        raise _shape("not exactly one log entry")
    return value[0]


def _shape(what: str) -> WrongError:
    return WrongError(
        f"not a Sigstore bundle of an event ({what})",
        rule="sigstore/shape",
        place="sigstore bundle",
        remedy="ask its sender for the file as it was exported",
    )
