"""Other people's verifiers, and what they do not look at.

    TOOLS["proofbundle"](TAMPERS["index"](handed), folder)      False: refused

Rules:

- A tool is a function to whether it accepts. It raises nothing but what is its own fault.
- `UNSEEN` says what a tool does not look at. Whatever is not there, it refuses; whatever is
  there, it accepts. The page *Verify without muniment* prints the table.
- Tools that are not of PyPI are those of `make outsiders`, whose versions are known.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf.json_format import ParseDict, ParseError
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Parsed
from proofbundle import ProofBundleError, verify_tlog_proof
from pymerkle import InmemoryTree
from scitt_cose.receipt import verify_receipt
from securesystemslib import dsse
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

from muniment.formats.checkpoint import TlogProof, origin, vkey
from muniment.formats.sigstore import SigstoreBundle, trusted_root
from single_event import FORMS, TAMPERS, Handed

__all__ = ["COSIGN", "NO_COSIGN", "TOOLS", "UNSEEN", "lacking", "table"]

BUILD = Path(__file__).parents[3] / "build"
COSIGN = BUILD / "cosign" / "usr" / "bin" / "cosign"
NO_COSIGN = "cosign 3: make outsiders"
NPM = BUILD / "sigstore-verify"
PROGRAM = Path(__file__).parent / "npm" / "verify.cjs"


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


def _by_in_toto_attestation(handed: Handed, _: Path) -> bool:
    """Check the form of the statement."""
    try:
        parsed = ParseDict(json.loads(handed.payload), Parsed())
        Statement.copy_from_pb(parsed).validate()
    except (ParseError, ValueError):
        return False
    return True


def _by_cosign(handed: Handed, folder: Path) -> bool:
    """Check the Sigstore bundle, and that the event is about the file."""
    _write_bundle(handed, folder)
    (folder / "data.json").write_bytes(handed.artifact)
    kind = json.loads(handed.payload)["predicateType"]
    line = [str(COSIGN), "verify-blob-attestation", "--bundle", "bundle.json"]
    line += ["--key", "key.pub", "--trusted-root", "root.json"]
    return _succeeds([*line, "--type", kind, "data.json"], folder)


def _by_sigstore_verify(handed: Handed, folder: Path) -> bool:
    """Check the Sigstore bundle but for one digest: see the program."""
    _write_bundle(handed, folder)
    line = ["node", str(PROGRAM), str(NPM), "bundle.json", "root.json", "key.pub"]
    done = subprocess.run(line, cwd=folder, capture_output=True, check=False)
    found = json.loads(done.stdout)  # or it did not come that far
    assert found.keys() == {"whole", "envelope"}
    return done.returncode == 0


def _write_bundle(handed: Handed, folder: Path) -> None:
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


def _succeeds(line: list[str], folder: Path) -> bool:
    done = subprocess.run(line, cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


Tool = Callable[[Handed, Path], bool]
TOOLS: dict[str, Tool] = {
    "openssl": _by_openssl,
    "securesystemslib": _by_securesystemslib,
    "in-toto-attestation": _by_in_toto_attestation,
    "proofbundle": _by_proofbundle,
    "pymerkle": _by_pymerkle,
    "scitt-cose": _by_scitt_cose,
    "cosign": _by_cosign,
    "@sigstore/verify": _by_sigstore_verify,
}

_STATED = ("the root beside the checkpoint", "the size beside the checkpoint")
_OF_TREES = (
    *("the index", "a hash", "a hash less", "the order of hashes"),
    *("the size of the tree", "the root", "the log's key"),
)
UNSEEN: dict[str, frozenset[str]] = {
    "openssl": frozenset({*_OF_TREES, "the file", *_STATED}),
    "securesystemslib": frozenset({*_OF_TREES, "the file", *_STATED}),
    "in-toto-attestation": frozenset(TAMPERS) - frozenset(FORMS),
    "proofbundle": frozenset({"the file", *_STATED}),
    "pymerkle": frozenset(
        {
            *("a hash", "a hash less", "the order of hashes", "the log's key"),
            *("the file", *_STATED),
        }
    ),
    "scitt-cose": frozenset({"the size of the tree", "the root", "the file", *_STATED}),
    "cosign": frozenset(_STATED),
    "@sigstore/verify": frozenset({"the file", *_STATED}),
}
"""Tool → what it does not look at.

A receipt signs the root and has no place for it, nor does it sign the size: scitt-cose
hands out the size of the proof, and that of the protected header beside it.
"""


def lacking(tool: str) -> str | None:
    """Return what it takes to try *tool*; None if it can be tried here."""
    if tool == "cosign" and not COSIGN.exists():
        return NO_COSIGN
    if tool == "@sigstore/verify" and not (NPM.exists() and which("node")):
        return "@sigstore/verify: make outsiders"
    if tool == "openssl" and not which("openssl"):
        return "openssl on PATH"
    return None


def table() -> list[str]:
    """Return the rows of the page: each change, and what each tool says to it."""
    rows = [["change of", *TOOLS], ["---"] * (1 + len(TOOLS))]
    for tamper in TAMPERS:
        said = (
            "**accepts**" if tamper in UNSEEN[tool] else "refuses" for tool in TOOLS
        )
        rows.append([tamper, *said])
    return [f"| {' | '.join(row)} |" for row in rows]
