r"""The files of an evidence bundle, and those of them that have a form of their own.

    MANIFEST       9f86d081…  events.intoto.jsonl        sha256sum reads it
    proofs.jsonl   {"hashes":["yUtwSRG2…"],"seq":7}      inclusion in `checkpoint`
    consistency    old 12\n<b64>…\n\n<closing.checkpoint>      what a witness is asked with
    policy         log l-0123….muniment.invalid+35a14b7f+ARQ6…\nquorum none

Rules:

- A bundle has the files named here, blobs under the name of their commitment, and no
  other. `SELF_PROVING` are checked by signature or tree; MANIFEST lists all others.
- MANIFEST is sorted by name, one spelling only.
- A proof is as short as the tree allows: nothing in it can be chosen.

Specification: ``docs/spec/evidence.md``; C2SP tlog-witness and tlog-policy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from muniment.encoding.canonical import JsonValue, canonical, parse_canonical
from muniment.errors import WrongError
from muniment.formats.dsse import decode_base64, encode_base64
from muniment.formats.merkle import HASH_SIZE

__all__ = [
    "BLOBS",
    "CHECKPOINT",
    "CLOSED",
    "CLOSING",
    "CLOSING_CHECKPOINT",
    "CLOSING_FILES",
    "CONSISTENCY",
    "EVENTS",
    "HANDED_OVER",
    "LEDGER_PUB",
    "LEDGER_VKEY",
    "MANIFEST",
    "POLICY",
    "PROOFS",
    "RUN",
    "SELF_PROVING",
    "TRUSTED_ROOT",
    "VIEW",
    "blob_name",
    "blob_of",
    "consistency_text",
    "is_name",
    "manifest_line",
    "parse_consistency",
    "parse_manifest_line",
    "parse_proof",
    "policy_text",
    "proof_line",
]

CLOSED = "bundle.closed"
"""The type of the closing event, which states the digest of MANIFEST."""

MANIFEST = "MANIFEST"
EVENTS = "events.intoto.jsonl"
PROOFS = "proofs.jsonl"
CHECKPOINT = "checkpoint"
CLOSING = "evidence.sigstore.json"
CLOSING_CHECKPOINT = "closing.checkpoint"
CONSISTENCY = "consistency"
LEDGER_PUB = "ledger.pub"
LEDGER_VKEY = "ledger.vkey"
TRUSTED_ROOT = "trusted_root.json"
POLICY = "policy"
RUN = "run.json"
VIEW = "bundle.json"
BLOBS = "blobs"

SELF_PROVING = frozenset(
    {MANIFEST, PROOFS, CHECKPOINT, CLOSING, CLOSING_CHECKPOINT, CONSISTENCY}
)
"""What MANIFEST does not list."""
CLOSING_FILES = frozenset({CLOSING, CLOSING_CHECKPOINT, CONSISTENCY, RUN})
"""What only a bundle with a closing event has, and always has."""
HANDED_OVER = (MANIFEST, EVENTS, RUN, VIEW)
"""The files whose plain digests are subjects of the closing event, as far as they are
there: any of them can be given to a tool that looks for the digest of one file."""

_ALL = SELF_PROVING | {EVENTS, LEDGER_PUB, LEDGER_VKEY, TRUSTED_ROOT, POLICY, RUN, VIEW}
_BLOB = re.compile(r"blobs/sha256-([0-9a-f]{64})")
_LISTED = re.compile(rb"([0-9a-f]{64})  ([!-~]+)\n")
_OLD = re.compile(rb"old (0|[1-9][0-9]{0,18})\n((?:[A-Za-z0-9+/]{43}=\n)*)\n")
_MOST_HASHES = 63


def blob_name(commitment: str) -> str:
    """Return the file of the blob with *commitment*, ``sha256:<64 hex>``."""
    return f"{BLOBS}/{commitment.replace(':', '-')}"


def blob_of(name: str) -> bytes | None:
    """Return the commitment that the file *name* holds; ``None`` if it is no blob."""
    match = _BLOB.fullmatch(name)
    return None if match is None else bytes.fromhex(match[1])


def is_name(name: str) -> bool:
    """Tell whether a bundle can have a file of this name."""
    return name in _ALL or _BLOB.fullmatch(name) is not None


def manifest_line(name: str, digest: bytes) -> bytes:
    """Return the line of MANIFEST for the file *name*, with its end."""
    return b"%b  %b\n" % (digest.hex().encode(), name.encode())


def parse_manifest_line(line: bytes) -> tuple[str, bytes]:
    """Read exactly what `manifest_line` writes: name and SHA-256.

    Raises:
        WrongError: ``bundle/manifest``.

    """
    match = _LISTED.fullmatch(line)
    if match is None:
        raise _wrong(
            "bundle/manifest", "not 64 hexadecimal digits and a name", MANIFEST
        )
    return match[2].decode(), bytes.fromhex(match[1].decode())


def proof_line(seq: int, hashes: Sequence[bytes]) -> bytes:
    """Return the line of ``proofs.jsonl`` for the event *seq*, with its end."""
    listed: list[JsonValue] = [encode_base64(one) for one in hashes]
    return canonical({"hashes": listed, "seq": seq}) + b"\n"


def parse_proof(line: bytes) -> tuple[int, list[bytes]]:
    """Read exactly what `proof_line` writes.

    Raises:
        WrongError: ``bundle/proof``, or a rule of canonical JSON.

    """
    match parse_canonical(line.removesuffix(b"\n")):
        case {"hashes": list(listed), "seq": int(seq), **rest} if not rest:
            found = [decode_base64(one) for one in listed if isinstance(one, str)]
            hashes = [one for one in found if one and len(one) == HASH_SIZE]
            if len(hashes) == len(listed) <= _MOST_HASHES and type(seq) is int:
                return seq, hashes
        case _:
            pass
    raise _wrong("bundle/proof", "not the number of an event and hashes", PROOFS)


def consistency_text(old: int, hashes: Sequence[bytes], note: bytes) -> bytes:
    """Return ``consistency``: that the log of *note* begins with *old* events."""
    lines = "".join(encode_base64(one) + "\n" for one in hashes)
    return f"old {old}\n{lines}\n".encode() + note


def parse_consistency(data: bytes) -> tuple[int, list[bytes], bytes]:
    """Read what `consistency_text` writes: the old size, the hashes, the note.

    Raises:
        WrongError: ``bundle/consistency``.

    """
    match = _OLD.match(data)
    hashes = [decode_base64(one) for one in match[2].decode().split()] if match else []
    if match is None or None in hashes or len(hashes) > _MOST_HASHES:
        what = "not an old size, hashes and a checkpoint"
        raise _wrong("bundle/consistency", what, CONSISTENCY)
    return int(match[1]), [one for one in hashes if one], data[match.end() :]


def policy_text(vkey: str) -> bytes:
    """Return ``policy``: the log's key, and no witness (C2SP tlog-policy)."""
    return f"log {vkey}\nquorum none\n".encode()


def _wrong(rule: str, message: str, place: str) -> WrongError:
    remedy = "ask its sender for the bundle as `muniment bundle` wrote it"
    return WrongError(message, rule=rule, place=place, remedy=remedy)
