"""The files of a bundle and their contents, before anything is written.

Rules:

- A file's content can be asked for as often as needed, and is the same each time; what
  is large is made piece by piece.
- The same run, keys and checkpoints give the same bytes: no clock, no random value.
- Views (``run.json``, ``bundle.json``) are only in a bundle with a closing event: in any
  other, nothing would vouch for them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from muniment import RunSummaries
from muniment.errors import CannotTellError
from muniment.formats.checkpoint import Note, log_id, origin, vkey
from muniment.formats.dsse import Envelope
from muniment.formats.evidence import (
    CHECKPOINT,
    EVENTS,
    LEDGER_PUB,
    LEDGER_VKEY,
    MANIFEST,
    POLICY,
    PROOFS,
    RELATED,
    RUN,
    SERIES,
    TRUSTED_ROOT,
    VIEW,
    WITHHELD,
    Withheld,
    blob_name,
    manifest_line,
    policy_text,
    proof_line,
    withheld_lines,
)
from muniment.formats.sigstore import trusted_root
from muniment.keys.ed25519 import PublicKey
from muniment_plugins.evidence.selection import Selected

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import BlobRef, Event
    from muniment.ledger import Ledger

__all__ = [
    "Events",
    "Files",
    "Source",
    "digest_of",
    "listed_files",
    "own_line",
    "tree_files",
    "views",
]

Source = Callable[[], Iterable[bytes]]
"""Gives the content of one file, piece by piece."""
Files = Mapping[str, Source]
"""Name → content."""
Events = Callable[[], "Iterator[Event]"]
"""Gives events, each time anew."""


def views(selected: Selected) -> dict[str, bytes]:
    """Return ``run.json``, and ``bundle.json`` if a plugin has something to say.

    ``run.json`` is made of the events that are in the bundle, so that verifiers can make
    it again. Of a redacted bundle it says first how many are not shown, and there is no
    other view, which would say what is withheld.
    """
    ledger, run = selected.ledger, selected.run
    fold = RunSummaries()
    state = fold.initial()
    for event in selected.events():  # a ledger may have more by now
        if event.run == run:
            state = fold.apply(state, event)
    summary = asdict(fold.view(state))
    if selected.disclosure is not None:
        hidden = selected.withheld
        told = {"blobs": len(hidden.blobs), "events": len(hidden.events)}
        return {RUN: _pretty({"withheld": told, **summary})}
    found = {RUN: _pretty(summary)}
    for _, view in ledger.plugins.ask("evidence_view", ledger=ledger, run=run):
        if view is not None:
            return {**found, VIEW: _pretty(view)}
    return found


def listed_files(
    selected: Selected,
    events: Events,
    others: Sequence[Event],
    keys: tuple[bytes, PublicKey],
    more: Mapping[str, bytes],
) -> Files:
    """Return MANIFEST and the files that it lists.

    Args:
        selected: the record of the run.
        events: gives its events, with those about keys.
        others: the events of other runs in its series that are no related runs.
        keys: the raw key whose signature other tools are to check, and the key of
            the checkpoints.
        more: files of this bundle alone.

    """
    ledger = selected.ledger
    (signer, log), name = keys, origin(ledger.id)
    fixed = {
        LEDGER_PUB: PublicKey(signer).pem.encode(),
        LEDGER_VKEY: vkey(name, log).encode() + b"\n",
        POLICY: policy_text(vkey(name, log)),
        TRUSTED_ROOT: trusted_root(name, log),
        **more,
    }
    files: dict[str, Source] = {one: _fixed(data) for one, data in fixed.items()}
    files[EVENTS] = lambda: map(_envelope_line, events())
    blobs = selected.blobs
    if (related := selected.related) is not None:
        files[RELATED] = lambda: map(_envelope_line, related.events())
        blobs = dict(sorted((blobs | related.blobs).items()))
    if others:
        files[SERIES] = lambda: map(_envelope_line, others)
    if selected.withheld.events or selected.withheld.blobs:
        files[WITHHELD] = lambda: withheld_lines(selected.withheld)
    digests = {one: digest_of(source) for one, source in files.items()}
    for tag, ref in blobs.items():
        files[blob_name(tag)] = _blob(ledger, ref)
        digests[blob_name(tag)] = bytes.fromhex(tag.removeprefix("sha256:"))
    lines = [manifest_line(one, digests[one]) for one in sorted(digests)]
    files[MANIFEST] = _fixed(b"".join(lines))
    return files


def tree_files(
    ledger: Ledger, events: Events, withheld: Withheld, note: bytes
) -> Files:
    """Return the tree head *note*, and the proof of each of *events* in it.

    Those of the events that are *withheld* come after all others.
    """
    seqs = [one.seq for one in withheld.events]

    def proofs() -> Iterator[bytes]:
        shown = (one.seq for one in events())
        for one in ledger.prove_each(chain(shown, seqs), note):
            yield proof_line(one.index, one.hashes)

    return {PROOFS: proofs, CHECKPOINT: _fixed(own_line(note, ledger)[0])}


def own_line(note: bytes, ledger: Ledger) -> tuple[bytes, PublicKey]:
    """Return *note* with the log's line alone, and the key of that line.

    Raises:
        CannotTellError: no key of the ledger signed it.

    """
    parsed, name = Note.parse(note), origin(ledger.id)
    for entry in ledger.keys.entries:
        if "checkpoint" not in entry.roles:
            continue
        for line in parsed.signatures:
            if line.mark == log_id(name, entry.public)[:4] and line.name == name:
                return Note(parsed.text, (line,)).to_bytes(), entry.public
    raise CannotTellError(
        "no key of the ledger signed the checkpoint",
        rule="evidence/checkpoint",
        place=str(ledger.path),
        remedy="run `muniment verify`",
    )


def digest_of(source: Source) -> bytes:
    """Return the SHA-256 of a file's content."""
    digest = hashlib.sha256()
    for piece in source():
        digest.update(piece)
    return digest.digest()


def _fixed(data: bytes) -> Source:
    return lambda: (data,)


def _blob(ledger: Ledger, ref: BlobRef) -> Source:
    def content() -> Iterator[bytes]:
        data = ledger.committed(ref)
        if data is None:
            raise CannotTellError(
                "the blob was erased while the bundle was written",
                rule="evidence/blob",
                place=ref.digest,
                remedy="write the bundle again",
            )
        yield data

    return content


def _envelope_line(event: Event) -> bytes:
    keyid = PublicKey(event.key).keyid
    return Envelope(event.payload, keyid, event.signature).to_json() + b"\n"


def _pretty(value: JsonValue | dict[str, object] | object) -> bytes:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace") + b"\n"
