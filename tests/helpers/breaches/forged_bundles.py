"""Evidence bundles of forged ledgers, each part of which can be another one.

Bundled(world).files()    {"MANIFEST": …, "events.intoto.jsonl": …, …}
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import rfc8785

from forge import RUN, Row
from forged import b64, named, path
from muniment import verify_bundle
from muniment.formats.checkpoint import TlogProof, origin, vkey
from muniment.formats.dsse import Envelope
from muniment.formats.evidence import consistency_text, policy_text
from muniment.formats.merkle import consistency_proof, root
from muniment.formats.sigstore import SigstoreBundle, trusted_root
from muniment.keys.ed25519 import PublicKey
from muniment.verification.page.run_view import RunView
from muniment.verification.report import Report
from spoiled_bundles import sealed, write
from worlds import World

__all__ = ["HANDED_OVER", "Bundled"]

VIEW, WITHHELD = "run.json", "withheld.jsonl"
HANDED_OVER = ("MANIFEST", "events.intoto.jsonl", "run.json")
_Files = dict[str, bytes]


def _unchanged(files: _Files) -> _Files:
    return files


@dataclass
class Bundled:
    """The bundle of one run of a forged ledger; the rest of the log stays outside."""

    world: World
    closing: dict[str, Any] = field(default_factory=dict[str, Any])
    """Changes of the closing event's data."""
    chain: dict[str, Any] = field(default_factory=dict[str, Any])
    """Changes of the chain's own fields of the closing event."""
    about: Callable[[list[Any]], list[Any]] = lambda about: about
    raw: bool = False
    spoil: Callable[[_Files], _Files] = _unchanged
    """Changes the files before MANIFEST is written and the bundle is closed."""
    related: list[Row] = field(default_factory=list[Row])
    """Events of the runs upon which the run rests."""
    others: list[Row] = field(default_factory=list[Row])
    """Events of other runs."""
    series: list[Any] = field(default_factory=list[Any])
    """What the closing event says of series."""
    rows: list[Row] = field(default_factory=list[Row])
    hashes: list[bytes] = field(default_factory=list[bytes])

    def chosen(self) -> list[Row]:
        """Return the events of the run, and those about keys and erasures."""
        kinds = ("ledger.opened", "key.", "blob.erased")
        return [
            row
            for row in self.world.forge.rows
            if row.run == RUN or row.type.startswith(kinds)
        ]

    def files(self) -> _Files:
        """Return the files."""
        forge = self.world.forge
        self.rows = self.rows or self.chosen()
        signer, log = self._public("writer"), self._public("checkpoint")
        name = origin(forge.ledger)
        lines = [_envelope(row).to_json() + b"\n" for row in self.rows]
        known = {digest: kept for digest, _, kept in forge.blobs if kept is not None}
        self.hashes = [row.hash for row in forge.rows]
        files = {
            "events.intoto.jsonl": b"".join(lines),
            "checkpoint": forge.note(),
            "proofs.jsonl": b"".join(
                map(self._proof, [*self.rows, *self.related, *self.others])
            ),
            "ledger.pub": signer.pem.encode(),
            "ledger.vkey": vkey(name, log).encode() + b"\n",
            "policy": policy_text(vkey(name, log)),
            "trusted_root.json": trusted_root(name, log),
            **{f"blobs/sha256-{one.hex()}": kept for one, kept in known.items()},
        }
        for part, rows in (("related", self.related), ("series", self.others)):
            told = b"".join(_envelope(row).to_json() + b"\n" for row in rows)
            files |= {f"{part}.intoto.jsonl": told} if told else {}
        files |= {} if self.raw else {VIEW: self._view(files)}
        before, files = files, self.spoil(files)
        if files.get(VIEW, b"") == before.get(VIEW, b"?"):
            files = {**files, VIEW: self._view(files)}  # as it would be written
        files = dict(sealed(files))
        return files if self.raw else files | self._closed(files, signer, log)

    def _view(self, files: _Files) -> bytes:
        """Return what the events in *files* make of the run."""
        view = RunView()
        for line in files["events.intoto.jsonl"].splitlines():
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                payload = base64.b64decode(json.loads(line)["payload"])
                predicate = json.loads(payload)["predicate"]
                chain = predicate["muniment"]
                if chain.get("run") == RUN:
                    view.take(RUN, chain["type"], chain, predicate["data"])
        hidden = [json.loads(one) for one in files.get(WITHHELD, b"").splitlines()]
        blobs = sum("blob" in one for one in hidden)
        told = {"blobs": blobs, "events": len(hidden) - blobs}
        given = view.given()
        return json.dumps({**given, "withheld": told} if hidden else given).encode()

    def _public(self, role: str) -> PublicKey:
        return PublicKey(self.world.forge.key(role).public_key().public_bytes_raw())

    def _proof(self, row: Row) -> bytes:
        hashes = [b64(one) for one in path(self.hashes, row.seq)]
        return rfc8785.dumps({"hashes": hashes, "seq": row.seq}) + b"\n"

    def _closed(self, files: _Files, signer: PublicKey, log: PublicKey) -> _Files:
        """Return what a closing event adds."""
        forge = self.world.forge.copy()
        digests = {one: hashlib.sha256(files[one]).hexdigest() for one in HANDED_OVER}
        about: list[Any] = [
            {"digest": {"sha256": digest}, "name": one}
            for one, digest in digests.items()
        ]
        data = {"manifest": f"sha256:{digests['MANIFEST']}", "run": RUN}
        told: dict[str, Any] = data | ({"series": self.series} if self.series else {})
        told |= self.closing
        row = forge.append(
            "bundle.closed", told, subject=self.about(about), **self.chain
        )
        hashes = [one.hash for one in forge.rows]
        note, old = forge.note(), len(self.hashes)

        def node(level: int, index: int) -> bytes:
            return root(hashes[index << level : (index + 1) << level])

        grown = consistency_proof(old, len(hashes), node)
        proof = TlogProof(row.seq, tuple(path(hashes, row.seq)), note)
        return {
            "closing.checkpoint": note,
            "consistency": consistency_text(old, grown, note),
            "evidence.sigstore.json": SigstoreBundle(_envelope(row), proof).to_json(
                signer, log
            ),
        }

    def verified(self, files: _Files, **options: Any) -> Report:
        """Verify *files* as a bundle, under the root of the ledger."""
        folder = write(self.world.folder / "bundle", files)
        home = self.world.folder / "nobody"
        given: dict[str, Any] = {"home": home, "keys": self.world.keys}
        return verify_bundle(folder, **given | options)


def _envelope(row: Row) -> Envelope:
    return Envelope(row.payload, named(row.key), row.signature)
