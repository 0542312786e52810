"""Key pairs, Ed25519 or P-256: their names, their files, what is refused as a key.

    >>> PublicKey.parse("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGC…").keyid
    'SHA256:2cv41O+N…'

Rules:

- A public key is 32 bytes (Ed25519, RFC 8032) or 65 (ECDSA on P-256: `keys.p256`). Weak
  ones and second spellings are refused wherever a key is read (`keys.weak`).
- ``keyid`` is ``SHA256:`` and the unpadded base64 of the SHA-256 of the SSH wire form,
  which is what ``ssh-keygen -lf`` prints.
- A private key file is PKCS#8 PEM, optionally encrypted, readable by its owner alone.
  A group-readable one (0440, a mounted secret) draws a `KeyWarning`. A key file is
  never overwritten.
- The holder of a key proves possession by signing `possession_message`, whose first
  line no event, checkpoint or cosignature can have:

      muniment/key-possession/v1
      sha256:<ledger id>
      SHA256:<keyid>
      writer
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from muniment.errors import CannotTellError, KeyRefused
from muniment.files.folder import open_file, write_new
from muniment.keys.p256 import (
    P256_SIZE,
    P256_SPKI_HEAD,
    P256_SSH_HEAD,
    P256Private,
    P256Public,
    is_p256,
)
from muniment.keys.permissions import KeyWarning, refuse_shared
from muniment.keys.weak import refuse, refuse_weak

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

__all__ = [
    "ROLES",
    "KeyWarning",
    "PrivateKey",
    "PublicKey",
    "load_private",
    "possession_message",
    "save_private",
]

ROLES = ("approver", "checkpoint", "root", "writer")

_SPKI_HEAD = bytes.fromhex("302a300506032b6570032100")
_PKCS8_HEAD = bytes.fromhex("302e020100300506032b657004220420")
_SSH_HEAD = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"
_SSH_P256 = "ecdsa-sha2-nistp256"
_PEM = re.compile(
    r"-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----"
)
_PLAIN_PEM = re.compile(
    rb"-----BEGIN PRIVATE KEY-----\n([A-Za-z0-9+/]{64})\n-----END PRIVATE KEY-----\n"
)
"""An unencrypted key as `to_pem` writes it: 48 bytes of DER."""
_GIVE_PUBLIC = "give an Ed25519 or P-256 key: PEM, an SSH line, base64 or hex of the 32 or 65 bytes"
_GIVE_PRIVATE = (
    "give PKCS#8 PEM of Ed25519 or P-256 (openssl genpkey -algorithm ed25519)"
)
_UNLOCK = "give the passphrase that it was saved with"
_HEX = re.compile(r"[0-9a-fA-F]{64}|04[0-9a-fA-F]{128}")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that passed every check; equal and hashable by its bytes.

    Raises:
        KeyRefused: *raw* has another size, is weak, or not canonical.

    """

    raw: bytes
    keyid: str = field(init=False, compare=False)
    _key: Ed25519PublicKey | P256Public = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a weak key; name it; keep the object that verifies."""
        key: Ed25519PublicKey | P256Public
        if len(self.raw) == P256_SIZE:
            key = P256Public(self.raw)
        else:
            refuse_weak(self.raw)
            key = Ed25519PublicKey.from_public_bytes(self.raw)
        object.__setattr__(self, "_key", key)
        digest = hashlib.sha256(self._wire).digest()
        keyid = "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
        object.__setattr__(self, "keyid", keyid)

    def __reduce__(self) -> tuple[type[PublicKey], tuple[bytes]]:
        """Pickle as the bytes, which are checked again when they are loaded."""
        return PublicKey, (self.raw,)

    @property
    def algorithm(self) -> str:
        """``ed25519`` or ``p256``; the size of `raw` says which."""
        return "p256" if len(self.raw) == P256_SIZE else "ed25519"

    @property
    def _wire(self) -> bytes:
        head = P256_SSH_HEAD if len(self.raw) == P256_SIZE else _SSH_HEAD
        return head + self.raw

    @property
    def spki(self) -> bytes:
        """The SubjectPublicKeyInfo, DER: 44 bytes (RFC 8410), or 91 (RFC 5480)."""
        head = P256_SPKI_HEAD if len(self.raw) == P256_SIZE else _SPKI_HEAD
        return head + self.raw

    @property
    def pem(self) -> str:
        """The ``PUBLIC KEY`` PEM block that openssl and cosign read."""
        body = base64.b64encode(self.spki).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    @property
    def ssh(self) -> str:
        """The one-line form of ``authorized_keys``, without a comment."""
        kind = "ssh-ed25519 " if self.algorithm == "ed25519" else f"{_SSH_P256} "
        return kind + base64.b64encode(self._wire).decode()

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Tell whether *signature* is this key's over *message*, in its one spelling."""
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    @classmethod
    def from_spki(cls, der: bytes) -> PublicKey:
        """Read a SubjectPublicKeyInfo of one of the two algorithms."""
        head = next(filter(der.startswith, (_SPKI_HEAD, P256_SPKI_HEAD)), None)
        if head is None:
            refuse("algorithm", "the public key is not Ed25519 or P-256", _GIVE_PUBLIC)
        return cls(der[len(head) :])

    @classmethod
    def from_pem(cls, pem: str | bytes) -> PublicKey:
        """Read a ``PUBLIC KEY`` PEM block."""
        text = pem.decode("ascii", "replace") if isinstance(pem, bytes) else pem
        if "PRIVATE KEY-----" in text:
            refuse(
                "private",
                "this is a private key where a public one belongs",
                "give the public half (openssl pkey -pubout)",
            )
        block = _PEM.search(text)
        if block is None:
            refuse("format", "no PUBLIC KEY block in the PEM text", _GIVE_PUBLIC)
        return cls.from_spki(_unbase64("".join(block[1].split())))

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Read any usual spelling: PEM, an SSH line, base64 or hex of the bytes."""
        text = text.strip()
        if text.startswith("-----"):
            return cls.from_pem(text)
        if text.startswith(("ssh-", "ecdsa-")):
            return cls._from_ssh(text)
        return cls(bytes.fromhex(text) if _HEX.fullmatch(text) else _unbase64(text))

    @classmethod
    def _from_ssh(cls, line: str) -> PublicKey:
        algorithm, *rest = line.split()
        wire = _unbase64(rest[0]) if rest else b""
        heads = {"ssh-ed25519": _SSH_HEAD, _SSH_P256: P256_SSH_HEAD}
        head = heads.get(algorithm)
        if head is None or not wire.startswith(head):
            what = f"the SSH key is not Ed25519 or P-256 ({algorithm})"
            refuse("algorithm", what, _GIVE_PUBLIC)
        return cls(wire[len(head) :])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrivateKey:
    """A private key in memory; satisfies the ``Signer`` protocol, never printed."""

    _key: Ed25519PrivateKey | P256Private
    public: PublicKey = field(init=False)

    def __post_init__(self) -> None:
        """Derive the public half once."""
        key = self._key
        if isinstance(key, P256Private):
            raw = key.raw
        else:
            raw = key.public_key().public_bytes_raw()
        object.__setattr__(self, "public", PublicKey(raw))

    def __repr__(self) -> str:
        """Name the key by its public half."""
        return f"PrivateKey({self.public.keyid})"

    @classmethod
    def generate(cls, algorithm: str = "ed25519") -> PrivateKey:
        """Make a new key, ``ed25519`` or ``p256``, from the system's randomness."""
        if algorithm == "p256":
            return cls(P256Private.generate())
        if algorithm != "ed25519":
            refuse("algorithm", f"no key is made for {algorithm!r}", _GIVE_PRIVATE)
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> PrivateKey:
        """Derive the key from the 32 secret bytes of RFC 8032 §5.1.5."""
        if len(seed) != 32:  # noqa: PLR2004 - RFC 8032 says so
            refuse("length", f"a seed is 32 bytes, not {len(seed)}", _GIVE_PRIVATE)
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def from_pem(
        cls, pem: str | bytes, passphrase: str | bytes | None = None
    ) -> PrivateKey:
        """Read a PKCS#8 PEM block; *passphrase* counts only if it is encrypted.

        Raises:
            KeyRefused: not PKCS#8 PEM (``key/pem``) or of another algorithm.
            CannotTellError: encrypted, and *passphrase* is missing or wrong.

        """
        data = pem.encode() if isinstance(pem, str) else pem
        seed = _plain_seed(data)
        if seed is not None:
            return cls.from_seed(seed)
        encrypted = b"-----BEGIN ENCRYPTED PRIVATE KEY-----" in data
        if not encrypted and b"-----BEGIN PRIVATE KEY-----" not in data:
            refuse("pem", "no PKCS#8 PRIVATE KEY block", _GIVE_PRIVATE)
        if encrypted and not passphrase:
            _lack("passphrase", "the private key is encrypted", "", _UNLOCK)
        secret = _secret(passphrase) if encrypted and passphrase else None
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - slow
            load_pem_private_key,
        )

        try:
            key = load_pem_private_key(data, secret)
        except (ValueError, UnsupportedAlgorithm):
            if encrypted:
                _lack("passphrase", "the passphrase is wrong", "", _UNLOCK)
            refuse("pem", "the PRIVATE KEY block is damaged", _GIVE_PRIVATE)
        if is_p256(key):
            return cls(P256Private(cast("EllipticCurvePrivateKey", key)))
        if not isinstance(key, Ed25519PrivateKey):
            what = "the private key is not Ed25519 or P-256"
            refuse("algorithm", what, _GIVE_PRIVATE)
        return cls(key)

    def to_pem(self, passphrase: str | bytes | None = None) -> bytes:
        """Return the PKCS#8 PEM block, encrypted if *passphrase* is given."""
        if not passphrase and isinstance(self._key, Ed25519PrivateKey):
            der = base64.b64encode(_PKCS8_HEAD + self._key.private_bytes_raw())
            return b"-----BEGIN PRIVATE KEY-----\n%b\n-----END PRIVATE KEY-----\n" % der
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - slow

        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(_secret(passphrase))
            if passphrase
            else serialization.NoEncryption(),
        )

    def sign(self, message: bytes) -> bytes:
        """Return the signature over *message* (RFC 8032 §5.1.6, or `keys.p256`)."""
        return self._key.sign(message)


def _plain_seed(pem: bytes) -> bytes | None:
    """Return the 32 secret bytes of a PEM block that `to_pem` wrote.

    Every other block is left to the library, which loads slowly.
    """
    block = _PLAIN_PEM.fullmatch(pem)
    der = b"" if block is None else base64.b64decode(block[1])
    return der[len(_PKCS8_HEAD) :] if der.startswith(_PKCS8_HEAD) else None


def possession_message(context: str, public: PublicKey, role: str) -> bytes:
    """Return the message that a new key signs to prove possession.

    Args:
        context: the ledger id (``sha256:<hex>``); ``nonce:<hex>`` in a genesis, which
            cannot contain its own hash.
        public: the key that signs.
        role: what it will be allowed to do, one of `ROLES`.

    """
    lines = f"muniment/key-possession/v1\n{context}\n{public.keyid}\n{role}\n"
    return lines.encode()


_MOST = 64 * 1024
"""How many bytes of a key file are read; a key has about a hundredth of them."""


def load_private(
    path: Path | str, passphrase: str | bytes | None = None, *, follow: bool = True
) -> PrivateKey:
    """Read the private key file *path*; with *follow*, through symbolic links.

    Raises:
        KeyRefused: others may read the file, or it does not hold such a key.
        CannotTellError: the file is missing or unreadable, or its passphrase is missing
            or wrong.

    """
    place = str(path)
    try:
        fd = open_file(Path(path), os.O_RDONLY, follow=follow)
        with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            refuse_shared(os.fstat(fd).st_mode, place)
            pem = file.read(_MOST)
    except FileNotFoundError:
        remedy = "restore it, or name another one with MUNIMENT_KEY"
        _lack("missing", "the key file does not exist", place, remedy)
    except OSError as error:
        what = f"the key file cannot be read ({error.strerror})"
        _lack("unreadable", what, place, "read it as the user who owns it")
    try:
        return PrivateKey.from_pem(pem, passphrase)
    except (KeyRefused, CannotTellError) as error:
        error.place = place
        raise


def save_private(
    path: Path | str, key: PrivateKey, passphrase: str | bytes | None = None
) -> None:
    """Write *key* to the new file *path*, mode 0600, durable when this returns.

    Raises:
        KeyRefused: *path* exists; a key is never overwritten.
        CannotTellError: the directory is missing or not writable.

    """
    pem = key.to_pem(passphrase)
    try:
        write_new(path, [pem], mode=0o600)
    except FileExistsError:
        raise KeyRefused(
            "a key file is never overwritten",
            rule="key/exists",
            place=str(path),
            remedy="move the old key away first",
        ) from None
    except OSError as error:
        what = f"the key file cannot be written ({error.strerror})"
        _lack("unwritable", what, str(path), "make its directory, and room on disk")


def _lack(rule: str, what: str, place: str, remedy: str) -> NoReturn:
    raise CannotTellError(what, rule=f"key/{rule}", place=place, remedy=remedy)


def _secret(passphrase: str | bytes) -> bytes:
    return passphrase.encode() if isinstance(passphrase, str) else passphrase


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        refuse("format", "the key is neither hex nor base64", _GIVE_PUBLIC)
