r"""The files of an evidence bundle, and those of them that have a form of their own.

    MANIFEST       9f86d081…  events.intoto.jsonl        sha256sum reads it
    proofs.jsonl   {"hashes":["yUtwSRG2…"],"seq":7}      inclusion in `checkpoint`
    bundle.closed  "series":[{"count":20,"key":"experiment.claim/c1","shown":true}]
    withheld.jsonl {"leaf":"mQ3b…","ordinal":3,"scope":"map/0","seq":12}   {"blob":"sha256:…"}
    consistency    old 12\n<b64>…\n\n<closing.checkpoint>      what a witness is asked with
    policy         log l-0123….muniment.invalid+35a14b7f+ARQ6…\nquorum none

Rules:

- A bundle has the files named here, blobs under the name of their commitment, and no
  other. `SELF_PROVING` are checked by signature or tree; MANIFEST lists all others.
- MANIFEST is sorted by name, one spelling only.
- A proof is as short as the tree allows: nothing in it can be chosen.
- The closing event counts each series that a run is in: those of its start, and of the
  claims that it states. Of a *shown* series the bundle has every event, and of each run
  that is in it the start, the ends and the verdicts.

Specification: ``docs/spec/evidence.md``; C2SP tlog-witness and tlog-policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from muniment.encoding.canonical import (
    MAX_INTEGER,
    JsonValue,
    canonical,
    parse_canonical,
)
from muniment.errors import WrongError
from muniment.formats.dsse import decode_base64, encode_base64
from muniment.formats.lifecycle import LIFE, MARKED, STARTED
from muniment.formats.merkle import HASH_SIZE
from muniment.formats.series import is_key

__all__ = [
    "BLOBS",
    "CHECKPOINT",
    "CLOSED",
    "CLOSING",
    "CLOSING_CHECKPOINT",
    "CLOSING_FILES",
    "CONSISTENCY",
    "COUNTED_BY",
    "EVENTS",
    "HANDED_OVER",
    "LEDGER_PUB",
    "LEDGER_VKEY",
    "MANIFEST",
    "MOST_BYTES",
    "NOTHING",
    "OF_CLOSED",
    "POLICY",
    "PROOFS",
    "RELATED",
    "REPORT",
    "RUN",
    "SELF_PROVING",
    "SERIES",
    "TELLING",
    "TOLD_OF_RUNS",
    "TRUSTED_ROOT",
    "VIEW",
    "WITHHELD",
    "StatedSeries",
    "Withheld",
    "WithheldEvent",
    "blob_name",
    "blob_of",
    "consistency_text",
    "is_name",
    "manifest_line",
    "parse_consistency",
    "parse_manifest_line",
    "parse_proof",
    "parse_withheld",
    "policy_text",
    "proof_line",
    "read_stated",
    "withheld_lines",
]

CLOSED = "bundle.closed"
"""The type of the closing event, which states the digest of MANIFEST."""

MANIFEST = "MANIFEST"
EVENTS = "events.intoto.jsonl"
RELATED = "related.intoto.jsonl"
"""Events of other runs: those that this one called, and that from which it was forked."""
SERIES = "series.intoto.jsonl"
"""Events of other runs: those that share a series with this one."""
WITHHELD = "withheld.jsonl"
"""Events and blobs that a redacted bundle names, and does not show."""
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
REPORT = "report.html"
"""The run for a person: every value on it is compared with the event that it cites."""
VIEW = "bundle.json"
BLOBS = "blobs"

SELF_PROVING = frozenset(
    {MANIFEST, PROOFS, CHECKPOINT, CLOSING, CLOSING_CHECKPOINT, CONSISTENCY}
)
"""What MANIFEST does not list."""
CLOSING_FILES = frozenset({CLOSING, CLOSING_CHECKPOINT, CONSISTENCY, RUN})
"""What only a bundle with a closing event has, and always has."""
OF_CLOSED = CLOSING_FILES | {REPORT, SERIES, VIEW, WITHHELD}
"""What only a bundle with a closing event has."""
TELLING = frozenset({MANIFEST, EVENTS, PROOFS, CLOSING})
"""What tells the directory of a bundle from any other: each has at least one of them."""
MOST_BYTES = {
    **dict.fromkeys((LEDGER_PUB, LEDGER_VKEY, TRUSTED_ROOT, POLICY), 1 << 20),
    **dict.fromkeys((CHECKPOINT, CLOSING, CLOSING_CHECKPOINT, CONSISTENCY), 1 << 20),
    RUN: 8 << 20,
    REPORT: 32 << 20,
}
"""Name → how many bytes such a file can have; others grow with their run."""
HANDED_OVER = (MANIFEST, EVENTS, REPORT, RUN, VIEW)
"""The files whose plain digests are subjects of the closing event, as far as they are
there: any of them can be given to a tool that looks for the digest of one file."""

COUNTED_BY = frozenset({STARTED, "claim.stated"})
"""The types of a run's events whose series are those of the run."""
TOLD_OF_RUNS = LIFE | {MARKED, "verdict.reached"}
"""The types of events that tell of a run in `SERIES` what came of it."""

_ALL = SELF_PROVING | {
    EVENTS,
    RELATED,
    SERIES,
    WITHHELD,
    LEDGER_PUB,
    LEDGER_VKEY,
    TRUSTED_ROOT,
    POLICY,
    REPORT,
    RUN,
    VIEW,
}
_BLOB = re.compile(r"blobs/sha256-([0-9a-f]{64})")
_LISTED = re.compile(rb"([0-9a-f]{64})  ([!-~]+)\n")
_OLD = re.compile(rb"old (0|[1-9][0-9]{0,18})\n((?:[A-Za-z0-9+/]{43}=\n)*)\n")
_TAG = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_HASHES = 63
_SAID = ("count", "key", "shown")


@dataclass(frozen=True, slots=True)
class StatedSeries:
    """What a closing event says of one series."""

    key: str
    count: int
    """How many events it had before the closing event."""
    shown: bool
    """Whether the bundle has all of them."""


def read_stated(data: Any) -> tuple[StatedSeries, ...]:
    """Return what the *data* of a closing event says of series, in its order.

    Raises:
        WrongError: ``bundle/series``.

    """
    listed = data.get("series", [])
    if type(listed) is list and (listed or "series" not in data):
        found = [_stated(one) for one in cast("list[object]", listed)]
        keys = [one.key for one in found if one is not None]
        if len(keys) == len(found) and keys == sorted(set(keys)):
            return tuple(one for one in found if one is not None)
    what = "it does not state series as key, count and shown, in the order of the keys"
    raise _wrong("bundle/series", what, CLOSING)


def _stated(one: object) -> StatedSeries | None:
    if type(one) is not dict:
        return None
    said = cast("dict[str, object]", one)
    key, count, shown = said.get("key"), said.get("count"), said.get("shown")
    if type(key) is not str or type(count) is not int or type(shown) is not bool:
        return None
    sound = len(said) == len(_SAID) and is_key(key) and 0 < count <= MAX_INTEGER
    return StatedSeries(key, count, shown) if sound else None


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


@dataclass(frozen=True, slots=True)
class WithheldEvent:
    """An event of the run without its payload: its place, and its leaf hash."""

    seq: int
    scope: str
    ordinal: int
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Withheld:
    """Everything that a bundle withholds."""

    events: tuple[WithheldEvent, ...] = ()
    """By number."""
    blobs: frozenset[str] = frozenset()
    """Commitments, of blobs to which events of the bundle refer."""


NOTHING = Withheld()
"""What a bundle withholds that is not redacted."""


def withheld_lines(withheld: Withheld) -> Iterable[bytes]:
    """Yield the lines of the file, with their ends."""
    for one in withheld.events:
        yield (
            canonical(
                {
                    "leaf": encode_base64(one.leaf),
                    "ordinal": one.ordinal,
                    "scope": one.scope,
                    "seq": one.seq,
                }
            )
            + b"\n"
        )
    for tag in sorted(withheld.blobs):
        yield canonical({"blob": tag}) + b"\n"


def parse_withheld(lines: Iterable[bytes]) -> Withheld:
    """Read exactly what `withheld_lines` writes.

    Raises:
        WrongError: ``bundle/withheld``, or a rule of canonical JSON.

    """
    events: list[WithheldEvent] = []
    blobs: list[str] = []
    for line in lines:
        match parse_canonical(line.removesuffix(b"\n")):
            case {
                "leaf": str(leaf),
                "ordinal": int(ordinal),
                "scope": str(scope),
                "seq": int(seq),
                **rest,
            } if not rest and not blobs:
                told = decode_base64(leaf) or b""
                numbers = type(ordinal) is int and type(seq) is int
                least = events[-1].seq if events else 0
                small = 0 <= ordinal <= MAX_INTEGER and least < seq <= MAX_INTEGER
                if numbers and small and len(told) == HASH_SIZE:
                    events.append(WithheldEvent(seq, scope, ordinal, told))
                    continue
            case {"blob": str(tag), **rest} if not rest and _TAG.fullmatch(tag):
                if not blobs or blobs[-1] < tag:
                    blobs.append(tag)
                    continue
            case _:
                pass
        what = "not an event or a blob that is withheld, in its order"
        raise _wrong("bundle/withheld", what, WITHHELD)
    if not events and not blobs:
        raise _wrong("bundle/withheld", "it withholds nothing", WITHHELD)
    return Withheld(tuple(events), frozenset(blobs))


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
