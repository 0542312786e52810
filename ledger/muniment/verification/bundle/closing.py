"""The closing event of a bundle, and the files that follow from keys alone.

    bundle.closed   {"manifest": "sha256:…", "run": "01JD…"}
                    about MANIFEST, events.intoto.jsonl, run.json, bundle.json

Rules:

- The closing event is one event of the same ledger, in no run, after all others of the
  bundle. It states the run and the digest of MANIFEST, and it is about the files that
  people hand to other tools, as they are here.
- It is judged as a row like all others, and is under ``closing.checkpoint``, which is
  consistent with ``checkpoint``.
- ``evidence.sigstore.json`` and what is given out for other tools (public keys, trusted
  root, policy) follow from these; each is written again and compared byte for byte.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from muniment.errors import MunimentError, WrongError
from muniment.formats.checkpoint import (
    Checkpoint,
    Note,
    log_id,
    origin,
    read_vouched,
    vkey,
)
from muniment.formats.evidence import (
    CHECKPOINT,
    CLOSED,
    CLOSING,
    CLOSING_CHECKPOINT,
    CONSISTENCY,
    HANDED_OVER,
    LEDGER_PUB,
    LEDGER_VKEY,
    MANIFEST,
    POLICY,
    TRUSTED_ROOT,
    parse_consistency,
    policy_text,
)
from muniment.formats.merkle import verify_consistency, verify_inclusion
from muniment.formats.sigstore import SigstoreBundle, trusted_root
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring
from muniment.verification.bundle.members import Members
from muniment.verification.bundle.record import BundledEvent, BundleRecord
from muniment.verification.report import Findings

__all__ = [
    "TreeHead",
    "TrustFiles",
    "compare_closing",
    "placed",
    "read_head",
    "trust_files",
]

_SMALL = 1 << 20
_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"

TrustFiles = dict[str, bytes]
"""Name → the bytes that it must have."""


@dataclass(frozen=True, slots=True)
class TreeHead:
    """A signed tree head, and the key of the log that signed it."""

    checkpoint: Checkpoint
    log: PublicKey
    note: bytes


def read_head(members: Members, name: str, keyring: Keyring, ledger: str) -> TreeHead:
    """Return the checkpoint in the file *name*.

    Raises:
        WrongError: no checkpoint key of the ledger signed it at its size, or it has
            lines besides the log's.

    """
    note = members.read(name, _SMALL)
    with placed(name):
        checkpoint, log = read_vouched(note, origin(ledger), keyring)
    (first, *others) = Note.parse(note).signatures
    if others or first.mark != log_id(checkpoint.origin, log)[:4]:
        what = "a checkpoint of a bundle has the log's line and no other"
        raise _wrong("bundle/checkpoint", what, name)
    return TreeHead(checkpoint, log, note)


@contextmanager
def placed(place: str) -> Generator[None]:
    """Name the file in an error of a format."""
    try:
        yield
    except MunimentError as error:
        known = error.place and error.place != place
        error.place = f"{place}, {error.place}" if known else place
        raise


def trust_files(signer: PublicKey, head: TreeHead) -> TrustFiles:
    """Return what other tools are given: *signer* signed the event they judge."""
    name = head.checkpoint.origin
    return {
        LEDGER_PUB: signer.pem.encode(),
        LEDGER_VKEY: vkey(name, head.log).encode() + b"\n",
        POLICY: policy_text(vkey(name, head.log)),
        TRUSTED_ROOT: trusted_root(name, head.log),
    }


def compare_closing(
    members: Members, record: BundleRecord, covering: TreeHead, findings: Findings
) -> tuple[BundledEvent, TreeHead] | None:
    """Judge the closing event; return it and its tree head, or None if that fails."""
    data = members.read(CLOSING, _SMALL)
    sigstore = SigstoreBundle.parse(data)
    event = record.close(sigstore.envelope, CLOSING)
    keyring = record.keyring
    if event is None or keyring is None:
        return None
    head = read_head(members, CLOSING_CHECKPOINT, keyring, record.ledger)
    for rule, what in _faults(event, record, members):
        findings.add("edited", rule, what, seq=event.seq, place=CLOSING, remedy=_ASK)
    if (
        sigstore.proof.index != event.seq
        or sigstore.proof.checkpoint_note != head.note
        or sigstore.to_json(event.signer, head.log) != data
    ):
        what = "it is not what envelope, proof and closing.checkpoint give"
        raise _wrong("bundle/sigstore", what, CLOSING)
    tree = head.checkpoint
    hashes = sigstore.proof.hashes
    if event.seq >= tree.size or not verify_inclusion(
        event.leaf, event.seq, tree.size, hashes, tree.root
    ):
        what = "the hashes do not lead to the root of closing.checkpoint"
        raise _wrong("bundle/inclusion", what, CLOSING)
    _compare_consistency(members, covering, head)
    return event, head


def _faults(
    event: BundledEvent, record: BundleRecord, members: Members
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the closing event: the rule, and why."""
    last = record.last
    if event.kind != CLOSED or event.run is not None:
        yield "bundle/closing", f"it is {event.kind}, not {CLOSED} in no run"
    if last is not None and event.seq <= last.seq:
        yield "bundle/closing", "it comes before an event of the bundle"
    data: Any = event.statement["predicate"]["data"]
    if data.keys() - {"series"} != {"manifest", "run"}:
        yield "bundle/closing", "its data has other members than run, manifest, series"
    if data.get("run") != record.run:
        yield "bundle/closing", f"it closes the run {data.get('run')!r:.80}"
    if data.get("manifest") != f"sha256:{members.digest(MANIFEST).hex()}":
        yield "bundle/manifest", f"it states another digest of {MANIFEST}"
    about = [
        {"digest": {"sha256": members.digest(name).hex()}, "name": name}
        for name in HANDED_OVER
        if name in members.sizes
    ]
    if event.statement.get("subject") != about:
        yield "bundle/subject", "it is not about the files that are here"


def _compare_consistency(
    members: Members, covering: TreeHead, closing: TreeHead
) -> None:
    """Refuse two tree heads of which the second is no continuation of the first."""
    old, hashes, note = parse_consistency(members.read(CONSISTENCY, _SMALL))
    first, second = covering.checkpoint, closing.checkpoint
    agree = old == first.size and note == closing.note
    if not agree or not verify_consistency(
        first.size, second.size, first.root, second.root, hashes
    ):
        what = f"it does not lead from {CHECKPOINT} to {CLOSING_CHECKPOINT}"
        raise _wrong("bundle/consistency", what, CONSISTENCY)


def _wrong(rule: str, message: str, place: str) -> WrongError:
    return WrongError(message, rule=rule, place=place, remedy=_ASK)
