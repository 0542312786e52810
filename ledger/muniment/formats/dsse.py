r"""DSSE: the signed envelope around an event's canonical bytes, and its log entry.

    signed    DSSEv1 28 application/vnd.in-toto+json <length> <payload>
    envelope  {"payload":"<b64>","payloadType":"application/vnd.in-toto+json",
               "signatures":[{"keyid":"SHA256:…","sig":"<b64>"}]}
    entry     {"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":
               {"data":{"algorithm":"SHA2_512","digest":"<b64 SHA-512(signed)>"},
               "signature":{"content":"<b64>","verifier":{"keyDetails":
               "PKIX_ED25519_PH","publicKey":{"rawBytes":"<b64 SPKI>"}}}}}}

Rules:

- One payload type, that of events unless a reader asks for another; exactly one
  signature, standard padded base64; the envelope and the log entry are canonical JSON.
  Any other spelling is refused.
- The signature is pure Ed25519 over the pre-authentication encoding (PAE), or ECDSA on
  P-256 with SHA-256 in one spelling (`keys.p256`). For Ed25519 the entry says
  ``PKIX_ED25519_PH`` because Rekor v2 does so for these signatures; for P-256 it has the
  SHA-256 and ``PKIX_ECDSA_P256_SHA_256``.
- The leaves of the ledger's tree are log entries: `entry_hash` is an event's ``hash``
  and the next event's ``prev``. Every append and every verification computes it, so it
  fills a template of bytes.

Specification: DSSE 1.0.2; Rekor v2 ``hashedrekord`` 0.0.2; ``docs/spec/checkpoint.md``.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256, sha512
from pathlib import Path
from typing import NoReturn, Protocol

from muniment.encoding.canonical import JsonValue, canonical, parse_canonical
from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.keys.ed25519 import PrivateKey, PublicKey, load_private
from muniment.keys.p256 import low_s, read_signature

__all__ = [
    "PAYLOAD_TYPE",
    "Envelope",
    "Signer",
    "decode_base64",
    "encode_base64",
    "entry_hash",
    "log_entry",
    "pae",
    "sign_payload",
    "signed_by",
    "signer_from_uri",
    "spki_base64",
]

PAYLOAD_TYPE = "application/vnd.in-toto+json"

_PAE = b"DSSEv1 28 application/vnd.in-toto+json %d %b"
_ENTRY = (
    b'{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":{'
    b'"data":{"algorithm":"SHA2_512","digest":"%b"},"signature":{"content":"%b",'
    b'"verifier":{"keyDetails":"PKIX_ED25519_PH","publicKey":{"rawBytes":"%b"}}}}}}'
)
_ENTRY_P256 = _ENTRY.replace(b"SHA2_512", b"SHA2_256").replace(
    b"PKIX_ED25519_PH", b"PKIX_ECDSA_P256_SHA_256"
)
_LEAF = b"\x00" + _ENTRY
_LEAF_P256 = b"\x00" + _ENTRY_P256
_SPKI_ED25519 = 60
"""The size of the base64 of an Ed25519 key; that of a P-256 key has another."""
_KEYID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


class Signer(Protocol):
    """Whoever holds a private key: a file, a variable, a KMS, an agent."""

    @property
    def public(self) -> PublicKey:
        """The public half; signatures of this signer must verify with it."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the signature over *message*: 64 bytes (Ed25519), or DER (P-256)."""
        ...


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Return what is signed for *payload*: its pre-authentication encoding (DSSE)."""
    if payload_type == PAYLOAD_TYPE:
        return _PAE % (len(payload), payload)
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def spki_base64(public: PublicKey) -> bytes:
    """Return the base64 of the key's SubjectPublicKeyInfo, as log entries carry it."""
    return base64.b64encode(public.spki)


def log_entry(pae_bytes: bytes, signature: bytes, spki_b64: bytes) -> bytes:
    """Return the leaf data of an event: its canonical Rekor v2 ``hashedrekord`` body.

    Args:
        pae_bytes: the signed bytes, from `pae`.
        signature: as its key made it: 64 bytes, or DER.
        spki_b64: the signer's key, from `spki_base64`.

    """
    if len(spki_b64) == _SPKI_ED25519:
        form, pae_digest = _ENTRY, sha512(pae_bytes).digest()
    else:
        form, pae_digest = _ENTRY_P256, sha256(pae_bytes).digest()
    digest = b2a_base64(pae_digest, newline=False)
    return form % (digest, b2a_base64(signature, newline=False), spki_b64)


def entry_hash(payload: bytes, signature: bytes, spki_b64: bytes) -> bytes:
    """Return the RFC 6962 leaf hash of the log entry of a signed *payload*.

    Equal to ``leaf_hash(log_entry(pae(payload), signature, spki_b64))``.
    """
    if len(spki_b64) == _SPKI_ED25519:
        form, pae_digest = _LEAF, sha512(_PAE % (len(payload), payload)).digest()
    else:
        form, pae_digest = _LEAF_P256, sha256(_PAE % (len(payload), payload)).digest()
    digest = b2a_base64(pae_digest, newline=False)
    leaf = form % (digest, b2a_base64(signature, newline=False), spki_b64)
    return sha256(leaf).digest()


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload and its one signature; `keyid` is a hint, never evidence."""

    payload: bytes
    keyid: str
    signature: bytes
    payload_type: str = PAYLOAD_TYPE

    def to_json(self) -> bytes:
        """Return the canonical JSON of the envelope, one line without its end."""
        signature: JsonValue = {
            "keyid": self.keyid,
            "sig": encode_base64(self.signature),
        }
        return canonical(
            {
                "payload": encode_base64(self.payload),
                "payloadType": self.payload_type,
                "signatures": [signature],
            }
        )

    @classmethod
    def from_json(cls, data: bytes, payload_type: str = PAYLOAD_TYPE) -> Envelope:
        """Read exactly what `to_json` writes of a payload of that type.

        Raises:
            WrongError: anything else; the rule names the fault.

        """
        envelope = _members(
            parse_canonical(data), {"payload", "payloadType", "signatures"}
        )
        if envelope["payloadType"] != payload_type:
            _wrong("payload-type", f"the payload type is not {payload_type}")
        signatures = envelope["signatures"]
        if not isinstance(signatures, list) or len(signatures) != 1:
            _wrong("one-signature", "an envelope has exactly one signature")
        entry = _members(signatures[0], {"keyid", "sig"})
        keyid, signature = entry["keyid"], _decoded(entry["sig"], "signature")
        if not isinstance(keyid, str) or not _KEYID.fullmatch(keyid):
            _wrong("keyid", "the key id is not SHA256:<43 base64 characters>")
        if len(signature) != 64 and read_signature(signature) is None:  # noqa: PLR2004 - RFC 8032
            what = f"a signature of {len(signature)} bytes: not 64, and not strict DER"
            _wrong("signature-size", what)
        payload = _decoded(envelope["payload"], "payload")
        return cls(payload, keyid, signature, payload_type)

    def verify(self, public: PublicKey) -> bool:
        """Tell whether *public* made the signature, under its own key id."""
        return self.keyid == public.keyid and public.verify(
            self.signature, pae(self.payload, self.payload_type)
        )


def signed_by(signer: Signer, message: bytes) -> bytes:
    """Return the signature of *signer* over *message*, in its one spelling.

    A key service may give the greater s of a P-256 signature: it becomes the lower one.
    """
    signature = signer.sign(message)
    return signature if signer.public.algorithm == "ed25519" else low_s(signature)


def sign_payload(
    payload: bytes, signer: Signer, payload_type: str = PAYLOAD_TYPE
) -> Envelope:
    """Return *payload* in an envelope signed by *signer*."""
    signature = signed_by(signer, pae(payload, payload_type))
    return Envelope(payload, signer.public.keyid, signature, payload_type)


def signer_from_uri(
    uri: str, extra: Mapping[str, Callable[[str], Signer]] | None = None
) -> Signer:
    """Return the signer that *uri* names: ``file:PATH``, a bare path, ``env:NAME``.

    The variable holds PKCS#8 PEM, or the base64 of a 32-byte seed.

    Args:
        uri: a path when it has no scheme of two or more letters (``C:/key`` is one).
        extra: scheme → a function from the whole URI to a signer.

    Raises:
        UsageError: the scheme is unknown.
        CannotTellError: the file or the variable is missing.
        KeyRefused: it holds no usable key.

    """
    scheme, separator, rest = uri.partition(":")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme):
        return load_private(Path(uri))
    if scheme == "file":
        return load_private(Path(rest))
    if scheme == "env":
        return _from_environment(rest)
    others = extra or {}
    if scheme not in others:
        known = ", ".join(sorted({"env", "file", *others}))
        raise UsageError(
            f"no signer has the scheme {scheme}:",
            rule="signing/scheme",
            place=uri,
            remedy=f"use one of {known}, or install the plugin that brings it",
        )
    return others[scheme](uri)


def _from_environment(name: str) -> PrivateKey:
    text = os.environ.get(name, "").strip()
    if not text:
        raise CannotTellError(
            "the environment variable with the signing key is not set",
            rule="signing/environment",
            place=f"env:{name}",
            remedy="set it to PKCS#8 PEM or to the base64 of the 32-byte seed",
        )
    seed = decode_base64(text)
    return PrivateKey.from_pem(text) if seed is None else PrivateKey.from_seed(seed)


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of *text* in standard padded base64, else ``None``.

    One spelling only: stray characters, missing padding and non-zero trailing bits
    would let two texts mean one value.
    """
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return value if encode_base64(value) == text else None


def _decoded(value: JsonValue, what: str) -> bytes:
    decoded = decode_base64(value) if isinstance(value, str) else None
    if decoded is None:
        _wrong(f"{what}-base64", f"the {what} is not standard padded base64")
    return decoded


def _members(value: JsonValue, names: set[str]) -> dict[str, JsonValue]:
    if not isinstance(value, dict) or set(value) != names:
        _wrong("members", f"not an object of exactly {', '.join(sorted(names))}")
    return value


def _wrong(fault: str, message: str) -> NoReturn:
    raise WrongError(
        message,
        rule=f"dsse/{fault}",
        place="envelope",
        remedy="ask its sender for the envelope as it was exported",
    )


def encode_base64(value: bytes) -> str:
    """Return standard padded base64; `decode_base64` reads it back."""
    return base64.b64encode(value).decode()
