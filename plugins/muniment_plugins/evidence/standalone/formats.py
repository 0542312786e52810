"""The first half of the standalone verifier: bytes, keys, trees, tree heads.

Rule: standard library and cryptography only, and no name that the second half has.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256

__all__ = [
    "FAULTS",
    "KEY_TYPES",
    "LedgerKeys",
    "Refused",
    "SignedHead",
    "Unchecked",
    "b64",
    "canonical",
    "grow",
    "keyid",
    "parse",
    "require",
    "root_of",
    "sha256",
    "signed",
    "spki",
    "unbase64",
    "within",
]

KEY_TYPES = {"ledger.opened", "key.enrolled", "key.revoked", "key.rotated"}
P = 2**255 - 19
ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
LOW_ORDER = {0, 1, P - 1, ORDER_8, P - ORDER_8}
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of P-256."""
VERSIONS = {"checkpoint": 1, "event": 4, "layout": 1}
"""The newest version of each format that is known here."""
FAULTS = (AttributeError, LookupError, OverflowError, RecursionError, TypeError)


class Refused(Exception):
    """The bundle is wrong: the file, and why."""


class Unchecked(Exception):
    """Something that is needed is missing: what, and why."""


def require(holds: object, name: str, what: str) -> None:
    """Refuse the bundle unless *holds*."""
    if not holds:
        raise Refused(f"{name}: {what}")


@contextmanager
def within(name: str) -> Generator[None]:
    """Name the file that is judged, whatever a step stumbles over."""
    try:
        yield
    except (ValueError, *FAULTS) as error:
        raise Refused(f"{name}: of another form ({type(error).__name__})") from error


# -- bytes -------------------------------------------------------------------------------


def number(value: float) -> str:
    """Return a float as RFC 8785 writes it."""
    told = Decimal(repr(value)).normalize().as_tuple()
    sign, digits = "-" * told.sign, "".join(map(str, told.digits))
    size, point = len(digits), len(digits) + int(told.exponent)
    if value == 0:
        return "0"
    if size <= point <= 21:
        return sign + digits + "0" * (point - size)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if size > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def utf16(name: str) -> bytes:
    """Return what names of members are sorted by."""
    return name.encode("utf-16-be")


def spelled(value: Any, depth: int = 0) -> str:
    """Return the canonical JSON of *value* (RFC 8785)."""
    if depth >= 64 and isinstance(value, dict | list):
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        names = sorted(members, key=utf16)
        parts = (f"{spelled(n)}:{spelled(members[n], depth + 1)}" for n in names)
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        items = cast("Iterable[Any]", value)
        return "[" + ",".join(spelled(one, depth + 1) for one in items) + "]"
    if isinstance(value, float):
        return number(value)
    if type(value) is int and abs(value) > 2**53 - 1:
        raise ValueError("too large an integer")
    return json.dumps(value, ensure_ascii=False)


def canonical(value: Any) -> bytes:
    """Return the canonical bytes of *value*."""
    return spelled(value).encode()


def parse(data: bytes, name: str) -> Any:
    """Return the value of canonical JSON."""
    try:
        value = json.loads(data.decode())
        same = canonical(value) == data
    except (ValueError, *FAULTS):
        same, value = False, None
    require(same, name, "not canonical JSON")
    return value


def unbase64(text: Any, size: int | None, name: str) -> bytes:
    """Return the bytes of padded base64, *size* of them."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        data = b""
    good = data and base64.b64encode(data).decode() == text
    require(good and size in (None, len(data)), name, "not base64 of the right size")
    return data


def b64(data: bytes) -> str:
    """Return *data* in padded base64."""
    return base64.b64encode(data).decode()


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of *data*."""
    return hashlib.sha256(data).digest()


# -- keys and signatures -----------------------------------------------------------------


def keyid(raw: bytes) -> str:
    """Return the fingerprint of a key, as ``ssh-keygen -lf`` prints it."""
    head = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
    if len(raw) == 65:
        head = b"\0\0\0\x13ecdsa-sha2-nistp256\0\0\0\x08nistp256\0\0\0\x41"
    return "SHA256:" + b64(sha256(head + raw)).rstrip("=")


def spki(raw: bytes) -> bytes:
    """Return the SubjectPublicKeyInfo of a key."""
    if len(raw) == 65:
        head = "3059301306072a8648ce3d020106082a8648ce3d030107034200"
        return bytes.fromhex(head) + raw
    return bytes.fromhex("302a300506032b6570032100") + raw


def signed_p256(raw: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether a P-256 key signed *message*: strict DER, and the lower s."""
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
        r, s = decode_dss_signature(signature)
        strict = encode_dss_signature(r, s) == signature
        if raw[:1] != b"\4" or not strict or not 0 < r < N or not 0 < s <= N // 2:
            return False
        key.verify(signature, message, ec.ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def signed(raw: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether the key *raw*, which is not weak, signed *message*."""
    if len(raw) == 65:
        return signed_p256(raw, signature, message)
    y = int.from_bytes(raw, "little") & ~(1 << 255)
    if len(raw) != 32 or y in LOW_ORDER or y >= P:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def event_version(formats: Any) -> int:
    """Return the version of the events, if that of each format is known here."""
    told = {name: formats[name] for name in VERSIONS}
    good = formats.keys() == told.keys()
    good = good and all(type(one) is int and one > 0 for one in told.values())
    require(good, "formats", "not the versions of three formats")
    for name, version in told.items():
        if version > VERSIONS[name]:
            raise Unchecked(f"version {version} of the {name} format is not known here")
    return int(told["event"])


class LedgerKeys:
    """The keys of the ledger, from its events about keys."""

    def __init__(self) -> None:
        self.ledger = ""
        self.next_root = ""
        self.format = 1
        """The version of the events."""
        self.entries: dict[bytes, dict[str, Any]] = {}

    def raw(self, name: str) -> bytes | None:
        """Return the key with this fingerprint."""
        return next((one for one in self.entries if keyid(one) == name), None)

    def holds(self, raw: bytes, role: str, seq: int) -> bool:
        """Tell whether a key has a role at the event *seq*."""
        one = self.entries.get(raw)
        return (
            one is not None
            and role in one["roles"]
            and one["since"] < seq <= one["until"]
        )

    def enrol(self, entry: Any, context: str, seq: int, place: str) -> bytes:
        """Add a key that proves its possession for each of its roles."""
        raw = unbase64(entry["public"], None, place)
        require(entry["keyid"] == keyid(raw), place, "a key has another fingerprint")
        notes = len(raw) == 32 or "checkpoint" not in entry["roles"]
        require(notes, place, "a checkpoint key is not Ed25519")
        require(raw not in self.entries, place, "a key is enrolled twice")
        roles = entry["roles"]
        require(roles and entry["possession"].keys() == set(roles), place, "odd roles")
        for role in roles:
            lines = f"muniment/key-possession/v1\n{context}\n{keyid(raw)}\n{role}\n"
            proof = unbase64(entry["possession"][role], None, place)
            require(signed(raw, proof, lines.encode()), place, "no proof of possession")
        self.entries[raw] = {"roles": roles, "since": seq, "until": 2**63}
        return raw

    def fold(self, seq: int, kind: str, data: Any, signer: bytes, place: str) -> None:
        """Judge and apply an event about keys."""
        new_root = None
        if kind == "ledger.opened":
            require(seq == 0, place, "a ledger is opened once")
            self.next_root, self.format = (
                data["next_root"],
                event_version(data["formats"]),
            )
            for entry in data["keys"]:
                self.enrol(entry, f"nonce:{data['nonce']}", 0, place)
            roots = [raw for raw, e in self.entries.items() if "root" in e["roles"]]
            require(roots == [signer], place, "not signed by its one root")
            return
        if kind == "key.rotated":
            old = self.raw(data["old"])
            require(old and self.entries[old]["until"] == 2**63, place, "no such key")
            raw = self.enrol(data["new"], self.ledger, seq, place)
            before, after = self.entries[old or b""], self.entries[raw]
            require(set(after["roles"]) <= set(before["roles"]), place, "a new role")
            before["until"] = seq
            if "root" in before["roles"]:
                committed = f"sha256:{sha256(raw).hex()}" == self.next_root
                require(committed and signer == raw, place, "not the committed root")
                self.next_root, new_root = data["next_root"], raw
        elif kind == "key.enrolled":
            raw = self.enrol(data, self.ledger, seq, place)
            require(
                "root" not in self.entries[raw]["roles"], place, "a root is enrolled"
            )
        else:
            gone = self.raw(data["keyid"])
            one = self.entries.get(gone or b"", {"roles": ["root"], "until": 0})
            good = "root" not in one["roles"] and one["until"] == 2**63
            require(good, place, "revokes what is no key")
            one["until"] = seq
        rooted = new_root == signer or self.holds(signer, "root", seq)
        require(rooted, place, "not signed by the root")


# -- tree and tree heads -----------------------------------------------------------------


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash of two subtrees."""
    return sha256(b"\1" + left + right)


def left_of(size: int) -> int:
    """Return how many of *size* leaves are in the left subtree."""
    return 1 << (size - 1).bit_length() - 1


def root_of(leaves: list[bytes]) -> bytes:
    """Return the root over *leaves* (RFC 6962, 2.1)."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"")
    left = left_of(len(leaves))
    return node(root_of(leaves[:left]), root_of(leaves[left:]))


def climb(leaf: bytes, index: int, size: int, proof: Iterator[bytes]) -> bytes:
    """Return the root to which an inclusion proof leads (2.1.1)."""
    if size == 1:
        return leaf
    left = left_of(size)
    if index < left:
        return node(climb(leaf, index, left, proof), next(proof, b""))
    right = climb(leaf, index - left, size - left, proof)
    return node(next(proof, b""), right)


def grow(
    old: int, new: int, proof: Iterator[bytes], known: bytes | None
) -> tuple[bytes, bytes]:
    """Return both roots to which a consistency proof leads (2.1.2)."""
    if old == new:
        same = next(proof, b"") if known is None else known
        return same, same
    left = left_of(new)
    if old <= left:
        first, second = grow(old, left, proof, known)
        return first, node(second, next(proof, b""))
    first, second = grow(old - left, new - left, proof, None)
    beside = next(proof, b"")
    return node(beside, first), node(beside, second)


class SignedHead:
    """A tree head that a checkpoint key of the ledger signed."""

    def __init__(self, note: bytes, keys: LedgerKeys, name: str) -> None:
        origin = f"l-{keys.ledger[7:39]}.muniment.invalid"
        named = re.escape(origin)
        form = rf"({named}\n(0|[1-9]\d{{0,18}})\n(\S+)\n)\n— {named} (\S+)\n"
        match = re.fullmatch(form, note.decode(errors="replace"), re.ASCII)
        require(match, name, "not a checkpoint of this ledger with one signature")
        text, size, root, line = match.groups() if match else ("", "0", "", "")
        self.size, self.root = int(size), unbase64(root, 32, name)
        require(self.size < 2**63, name, "too large a size")
        self.note, self.origin, self.log, self.mark = note, origin, b"", b""
        data = unbase64(line, 68, name)
        for raw in keys.entries:
            mark = sha256(origin.encode() + b"\n\1" + raw)
            if mark[:4] == data[:4] and signed(raw, data[4:], text.encode()):
                self.log, self.mark = raw, mark
        one = keys.entries.get(self.log, {"roles": (), "since": 0, "until": 0})
        good = "checkpoint" in one["roles"] and one["since"] < self.size <= one["until"]
        require(good, name, "no checkpoint key of the ledger signed it at its size")

        self.vkey = f"{origin}+{self.mark[:4].hex()}+{b64(bytes([1]) + self.log)}"

    def check(self, leaf: bytes, index: int, hashes: list[bytes], name: str) -> None:
        """Refuse an event that *hashes* do not prove to be in the tree."""
        proof = iter(hashes)
        inside = 0 <= index < self.size
        good = inside and climb(leaf, index, self.size, proof) == self.root
        require(good and next(proof, None) is None, name, "it proves another event")
