"""ECDSA on P-256 with SHA-256: one spelling of a key, one of a signature.

    key        04 || X || Y, 65 bytes (SEC 1, uncompressed)
    signature  30 <length> 02 <length> <r> 02 <length> <s>, 8 to 72 bytes of DER

Rules:

- A key is a point of the curve, uncompressed, with both coordinates below p. The point
  at infinity has no such encoding.
- A signature is the DER encoding of r and s (RFC 3279), 1 ≤ r < n and 1 ≤ s ≤ n / 2:
  shortest lengths, shortest integers, no byte after them. The other s of each signature
  (n - s) and every other spelling is refused, so that nobody can make a second
  signature, and with it a second leaf, of the one that was made.
- Signers here are deterministic (RFC 6979) where OpenSSL can; `low_s` gives the
  signature of any other signer the one spelling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from muniment.keys.weak import DISTRUST, refuse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        KeySerializationEncryption,
        PrivateFormat,
    )

__all__ = [
    "P256_SIGNATURE",
    "P256_SIZE",
    "P256_SPKI_HEAD",
    "P256_SSH_HEAD",
    "SIGNATURE_SIZES",
    "P256Private",
    "P256Public",
    "fits",
    "is_p256",
    "low_s",
    "read_signature",
]

P256_SIZE = 65
P256_SIGNATURE = (8, 72)
"""The least and the greatest size of a signature."""
P256_SPKI_HEAD = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
P256_SSH_HEAD = b"\0\0\0\x13ecdsa-sha2-nistp256\0\0\0\x08nistp256\0\0\0\x41"

SIGNATURE_SIZES = {32: (64, 64), P256_SIZE: P256_SIGNATURE}
"""Size of a public key → the least and the greatest size of its signatures."""

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_SEQUENCE, _INTEGER, _SIGN = 0x30, 0x02, 0x80


def fits(key: bytes, signature: bytes) -> bool:
    """Tell whether a signature by such a key can have this size."""
    least, most = SIGNATURE_SIZES.get(len(key), (1, 0))
    return least <= len(signature) <= most


class P256Public:
    """A public key that passed every check, and what verifies with it.

    Raises:
        KeyRefused: *raw* is not the one encoding of a point of the curve.

    """

    __slots__ = ("_hash", "_key")

    def __init__(self, raw: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - slow
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - slow

        x, y = int.from_bytes(raw[1:33]), int.from_bytes(raw[33:])
        if len(raw) != P256_SIZE or raw[0] != 4 or x >= _P or y >= _P:  # noqa: PLR2004 - SEC 1
            what = "the P-256 public key is not in canonical form (04, X, Y below p)"
            refuse("non-canonical", what, DISTRUST)
        try:
            key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
        except ValueError:
            what = "the public key is not a point of the curve P-256"
            refuse("off-curve", what, DISTRUST)
        self._key: EllipticCurvePublicKey = key
        self._hash = ec.ECDSA(SHA256())

    def verify(self, signature: bytes, message: bytes) -> None:
        """Raise `InvalidSignature` unless *signature* is canonical, and over *message*."""
        numbers = read_signature(signature)
        if numbers is None or numbers[1] > _N // 2:
            raise InvalidSignature
        self._key.verify(signature, message, self._hash)


class P256Private:
    """A private key; signs as `P256Public` verifies."""

    __slots__ = ("_key",)

    def __init__(self, key: EllipticCurvePrivateKey) -> None:
        self._key = key

    @classmethod
    def generate(cls) -> P256Private:
        """Make a new key from the operating system's randomness."""
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - slow

        return cls(ec.generate_private_key(ec.SECP256R1()))

    @property
    def raw(self) -> bytes:
        """The public half: 04, X and Y."""
        numbers = self._key.public_key().public_numbers()
        return b"\x04" + numbers.x.to_bytes(32) + numbers.y.to_bytes(32)

    def sign(self, message: bytes) -> bytes:
        """Return the canonical signature over *message*."""
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - slow
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - slow

        try:
            how = ec.ECDSA(SHA256(), deterministic_signing=True)
        except UnsupportedAlgorithm:  # OpenSSL before 3.2
            how = ec.ECDSA(SHA256())
        return low_s(self._key.sign(message, how))

    def private_bytes(
        self,
        encoding: Encoding,
        form: PrivateFormat,
        encryption: KeySerializationEncryption,
    ) -> bytes:
        """Return the key in a file's form."""
        return self._key.private_bytes(encoding, form, encryption)


def is_p256(key: object) -> bool:
    """Tell whether a private key that the library read is one on P-256."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - slow

    return isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(
        key.curve, ec.SECP256R1
    )


def read_signature(der: bytes) -> tuple[int, int] | None:
    """Return r and s of a signature in strict DER, with s maybe high; else ``None``."""
    least, most = P256_SIGNATURE
    if not least <= len(der) <= most or der[0] != _SEQUENCE or der[1] != len(der) - 2:
        return None
    r, rest = _integer(der[2:])
    s, rest = _integer(rest)
    return (r, s) if 0 < r < _N and 0 < s < _N and not rest else None


def _integer(der: bytes) -> tuple[int, bytes]:
    """Return a positive integer and the bytes after it; 0 for any odd spelling."""
    end = 2 + der[1] if len(der) > 2 else 0  # noqa: PLR2004 - tag, length, one byte
    body = der[2:end]
    if der[:1] != b"\x02" or not body or len(der) < end or body[0] & _SIGN:
        return 0, b""
    if body[0] == 0 and (len(body) == 1 or not body[1] & _SIGN):
        return 0, b""
    return int.from_bytes(body), der[end:]


def low_s(signature: bytes) -> bytes:
    """Return *signature*, which a signer made, with the lower s; else as it is."""
    numbers = read_signature(signature)
    if numbers is None:
        return signature
    r, s = numbers
    body = _spelled(r) + _spelled(min(s, _N - s))
    return bytes([_SEQUENCE, len(body)]) + body


def _spelled(number: int) -> bytes:
    body = number.to_bytes(number.bit_length() // 8 + 1)
    return bytes([_INTEGER, len(body)]) + body
