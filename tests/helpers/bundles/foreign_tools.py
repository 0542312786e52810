"""Other people's verifiers, what is handed to them, and what can be done to it.

    handed = handed_over(ledger, seq)
    TOOLS["proofbundle"](TAMPERS["index"](handed), folder)      False: refused

Rules:

- A tamper changes one thing, as somebody does who has no keys: what follows from it
  without a key (the log entry, say) follows.
- A tool is a function to whether it accepts. It raises nothing but what is its own fault.
- `UNSEEN` says what a tool does not look at. Whatever is not there, it refuses; whatever is
  there, it accepts. The page *Verify without muniment* prints the table.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import which
from typing import Any

import cbor2
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from proofbundle import ProofBundleError, verify_tlog_proof
from pymerkle import InmemoryTree
from scitt_cose.receipt import verify_receipt
from securesystemslib import dsse
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

from muniment.formats.checkpoint import Checkpoint, Note, TlogProof, origin, vkey
from muniment.formats.dsse import Envelope, log_entry, pae, spki_base64
from muniment.formats.sigstore import SigstoreBundle, trusted_root
from muniment.keys.ed25519 import PrivateKey, PublicKey
from muniment.ledger import Ledger

__all__ = [
    "COSIGN",
    "TAMPERS",
    "TOOLS",
    "UNSEEN",
    "Handed",
    "handed_over",
    "lacking",
    "table",
]

BUILT = Path(__file__).parents[3] / "build" / "cosign" / "usr" / "bin" / "cosign"
COSIGN = str(BUILT) if BUILT.exists() else which("cosign")
"""Where `.ci/cosign` puts it, or PATH."""
STATEMENT = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Handed:
    """One event with its proof, and the keys and the file that its reader has."""

    payload: bytes
    signature: bytes
    key: PublicKey
    index: int
    hashes: tuple[bytes, ...]
    note: bytes
    log: PublicKey
    ledger: str
    receipt: bytes
    artifact: bytes
    """A file that the event is about: its first subject."""
    others: tuple[bytes, ...]
    """The log entries of all events under the checkpoint."""
    payload_type: str = STATEMENT
    stated: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a Sigstore bundle says of its proof beside the checkpoint."""

    @property
    def head(self) -> Checkpoint:
        """The tree head, whoever signed it."""
        return Checkpoint.parse(Note.parse(self.note).text)

    @property
    def signed(self) -> bytes:
        """What the event's signature covers."""
        return pae(self.payload, self.payload_type)

    @property
    def entry(self) -> bytes:
        """The log entry."""
        return log_entry(self.signed, self.signature, spki_base64(self.key))

    @property
    def envelope(self) -> Envelope:
        """The event in its envelope."""
        return Envelope(self.payload, self.key.keyid, self.signature, self.payload_type)


def handed_over(ledger: Ledger, seq: int) -> Handed:
    """Return event *seq* of *ledger*, whose data is what it is about."""
    event, proof = ledger.event(seq), ledger.prove(seq)
    statement = json.loads(event.payload)
    data = statement["predicate"]["data"]
    (log,) = ledger.keys.current("checkpoint")
    size = Checkpoint.parse(Note.parse(proof.checkpoint_note).text).size
    others = [one for one in ledger.events() if one.seq < size]
    return Handed(
        event.payload,
        event.signature,
        PublicKey(event.key),
        seq,
        proof.hashes,
        proof.checkpoint_note,
        log,
        ledger.id,
        ledger.cose_receipt(seq, proof.checkpoint_note),
        json.dumps(data, sort_keys=True, separators=(",", ":")).encode(),
        tuple(
            log_entry(pae(one.payload), one.signature, spki_base64(PublicKey(one.key)))
            for one in others
        ),
    )


# -- what can be done to it --------------------------------------------------------------


def _flipped(data: bytes, at: int = -1) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def _proof(handed: Handed, **changes: Any) -> Handed:
    """Return *handed* with another proof, in its receipt as well."""
    changed = replace(handed, **changes)
    receipt = cbor2.loads(changed.receipt)
    protected, _, payload, signature = receipt.value
    path = cbor2.dumps([changed.head.size, changed.index, list(changed.hashes)])
    item = [protected, {396: {-1: [path]}}, payload, signature]
    return replace(changed, receipt=cbor2.dumps(cbor2.CBORTag(18, item)))


def _head(handed: Handed, size: int, root: bytes) -> Handed:
    """Return *handed* under another tree head, with the signature of the honest one."""
    note = Note.parse(handed.note)
    text = Checkpoint(handed.head.origin, size, root).text().decode()
    return _proof(handed, note=replace(note, text=text).to_bytes())


def _of_another(handed: Handed) -> Handed:
    entry = json.loads(handed.others[(handed.index + 1) % len(handed.others)])
    content = entry["spec"]["hashedRekordV002"]["signature"]["content"]
    return replace(handed, signature=base64.b64decode(content))


TAMPERS: dict[str, Callable[[Handed], Handed]] = {
    "a byte of the payload": lambda one: replace(
        one, payload=one.payload.replace(b"muniment", b"monument", 1)
    ),
    "a member of the payload more": lambda one: replace(
        one, payload=b'{"_":0,' + one.payload[1:]
    ),
    "the payload's type": lambda one: replace(one, payload_type="application/json"),
    "a byte of the signature": lambda one: replace(
        one, signature=_flipped(one.signature, 0)
    ),
    "another event's signature": _of_another,
    "the event's key": lambda one: replace(one, key=PrivateKey.generate().public),
    "the index": lambda one: _proof(one, index=one.index ^ 1),
    "a hash": lambda one: _proof(
        one, hashes=(_flipped(one.hashes[0]), *one.hashes[1:])
    ),
    "a hash less": lambda one: _proof(one, hashes=one.hashes[1:]),
    "the order of hashes": lambda one: _proof(one, hashes=one.hashes[::-1]),
    "the size of the tree": lambda one: _head(one, one.head.size + 1, one.head.root),
    "the root": lambda one: _head(one, one.head.size, _flipped(one.head.root)),
    "the log's key": lambda one: replace(one, log=PrivateKey.generate().public),
    "the file": lambda one: replace(one, artifact=one.artifact + b" "),
    "the root beside the checkpoint": lambda one: replace(
        one, stated={"rootHash": base64.b64encode(bytes(32)).decode()}
    ),
    "the size beside the checkpoint": lambda one: replace(
        one, stated={"treeSize": str(one.head.size + 1)}
    ),
}
"""What is changed → the change."""

# -- the tools ---------------------------------------------------------------------------


def _by_openssl(handed: Handed, folder: Path) -> bool:
    """Check the signature of the event."""
    (folder / "key").write_text(handed.key.pem)
    (folder / "sig").write_bytes(handed.signature)
    (folder / "pae").write_bytes(handed.signed)
    line = "openssl pkeyutl -verify -pubin -inkey key -rawin -in pae -sigfile sig"
    return _succeeds(line.split(), folder)


def _by_securesystemslib(handed: Handed, _: Path) -> bool:
    """Check the envelope."""
    public = load_pem_public_key(handed.key.pem.encode())
    key = SSlibKey.from_crypto(public, keyid=handed.key.keyid)
    envelope = dsse.Envelope.from_dict(json.loads(handed.envelope.to_json()))
    try:
        envelope.verify([key], 1)
    except VerificationError:
        return False
    return True


def _by_proofbundle(handed: Handed, _: Path) -> bool:
    """Check the tlog-proof."""
    proof = TlogProof(handed.index, handed.hashes, handed.note).to_text()
    name = vkey(origin(handed.ledger), handed.log)
    try:
        return bool(verify_tlog_proof(proof, handed.entry, name)["ok"])
    except ProofBundleError:
        return False


def _by_pymerkle(handed: Handed, _: Path) -> bool:
    """Compare the root with that of a tree of all entries, this one at its index."""
    entries = list(handed.others)
    entries[handed.index] = handed.entry
    tree = InmemoryTree(algorithm="sha256")
    for entry in entries:
        tree.append_entry(entry)
    size = handed.head.size
    return size <= len(entries) and bool(tree.get_root(size) == handed.head.root)


def _by_scitt_cose(handed: Handed, _: Path) -> bool:
    """Check the COSE receipt."""
    found = verify_receipt(
        handed.receipt,
        leaf_entry_hex=handed.entry.hex(),
        log_public_key_pem=handed.log.pem,
    )
    return bool(found.ok)


def _by_cosign(handed: Handed, folder: Path) -> bool:
    """Check the Sigstore bundle, and that the event is about the file."""
    assert COSIGN is not None
    proof = TlogProof(handed.index, handed.hashes, handed.note)
    made = SigstoreBundle(handed.envelope, proof).to_json(handed.key, handed.log)
    bundle = json.loads(made)
    (entry,) = bundle["verificationMaterial"]["tlogEntries"]
    entry["canonicalizedBody"] = base64.b64encode(handed.entry).decode()
    entry["inclusionProof"] |= handed.stated
    root = trusted_root(origin(handed.ledger), handed.log)
    (folder / "bundle.json").write_text(json.dumps(bundle))
    (folder / "root.json").write_bytes(root)
    (folder / "key.pub").write_text(handed.key.pem)
    (folder / "data.json").write_bytes(handed.artifact)
    kind = json.loads(handed.payload)["predicateType"]
    line = [COSIGN, "verify-blob-attestation", "--bundle", "bundle.json"]
    line += ["--key", "key.pub", "--trusted-root", "root.json"]
    return _succeeds([*line, "--type", kind, "data.json"], folder)


def _succeeds(line: list[str], folder: Path) -> bool:
    done = subprocess.run(line, cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


Tool = Callable[[Handed, Path], bool]
TOOLS: dict[str, Tool] = {
    "openssl": _by_openssl,
    "securesystemslib": _by_securesystemslib,
    "proofbundle": _by_proofbundle,
    "pymerkle": _by_pymerkle,
    "scitt-cose": _by_scitt_cose,
    "cosign": _by_cosign,
}

_STATED = ("the root beside the checkpoint", "the size beside the checkpoint")
_OF_TREES = (
    *("the index", "a hash", "a hash less", "the order of hashes"),
    *("the size of the tree", "the root", "the log's key"),
)
UNSEEN: dict[str, frozenset[str]] = {
    "openssl": frozenset({*_OF_TREES, "the file", *_STATED}),
    "securesystemslib": frozenset({*_OF_TREES, "the file", *_STATED}),
    "proofbundle": frozenset({"the file", *_STATED}),
    "pymerkle": frozenset(
        {
            *("a hash", "a hash less", "the order of hashes", "the log's key"),
            *("the file", *_STATED),
        }
    ),
    "scitt-cose": frozenset({"the size of the tree", "the root", "the file", *_STATED}),
    "cosign": frozenset(_STATED),
}
"""Tool → what it does not look at.

A receipt signs the root and has no place for it, nor does it sign the size: scitt-cose
hands out the size of the proof, and that of the protected header beside it.
"""


def lacking(tool: str) -> str | None:
    """Return why *tool* cannot be tried here; None if it can."""
    if tool == "cosign":
        return None if COSIGN else "no cosign in build/cosign or on PATH"
    if tool == "openssl":
        return None if which("openssl") else "no openssl on PATH"
    return None


def table() -> list[str]:
    """Return the rows of the page: each tool, what it refuses, what it accepts."""
    rows = []
    for tool in TOOLS:
        seen = [one for one in TAMPERS if one not in UNSEEN[tool]]
        unseen = [one for one in TAMPERS if one in UNSEEN[tool]]
        rows.append(f"| {tool} | {', '.join(seen)} | {', '.join(unseen)} |")
    return rows
