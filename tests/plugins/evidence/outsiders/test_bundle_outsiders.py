"""Other people's tools take the files of a bundle, and refuse altered ones."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import proofbundle
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.json_format import ParseDict
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Parsed
from pymerkle import InmemoryTree
from securesystemslib import dsse
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import Key, SSlibKey  # type: ignore[attr-defined]

from bundled import Bundles
from foreign_tools import COSIGN, NO_COSIGN
from muniment.formats.checkpoint import Checkpoint, Note
from spoiled_bundles import copy

Sigstore = dict[str, Any]


def sigstore_of(folder: Path) -> Sigstore:
    """Return the Sigstore bundle."""
    return dict(json.loads((folder / "evidence.sigstore.json").read_text()))


def entry_of(bundle: Sigstore) -> dict[str, Any]:
    """Return its log entry."""
    return dict(bundle["verificationMaterial"]["tlogEntries"][0])


def pae_of(bundle: Sigstore) -> bytes:
    """Return what was signed."""
    payload = base64.b64decode(bundle["dsseEnvelope"]["payload"])
    return b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)


@pytest.mark.skipif(which("openssl") is None, reason="no openssl on PATH")
def test_openssl(bundles: Bundles, tmp_path: Path) -> None:
    """`ledger.pub` is the key of the closing event, and of no other bytes."""
    bundle = sigstore_of(bundles.folder)
    signature = base64.b64decode(bundle["dsseEnvelope"]["signatures"][0]["sig"])
    line: list[str | Path] = [
        "openssl",
        "pkeyutl",
        "-verify",
        "-pubin",
        "-rawin",
        "-in",
        "pae",
    ]
    line += ["-sigfile", "sig", "-inkey"]
    found = {}
    for what, pae, made in (
        ("honest", pae_of(bundle), signature),
        ("payload", pae_of(bundle) + b" ", signature),
        ("signature", pae_of(bundle), signature[::-1]),
    ):
        (tmp_path / "pae").write_bytes(pae)
        (tmp_path / "sig").write_bytes(made)
        done = subprocess.run(
            [*line, bundles.folder / "ledger.pub"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        found[what] = done.returncode == 0

    assert found == {"honest": True, "payload": False, "signature": False}


def test_securesystemslib(bundles: Bundles) -> None:
    """Every line of the events is an envelope that it takes, and no other line is."""
    lines = (bundles.folder / "events.intoto.jsonl").read_text().splitlines()
    genesis = json.loads(base64.b64decode(json.loads(lines[0])["payload"]))
    keys: dict[str, Key] = {}
    for one in genesis["predicate"]["data"]["keys"]:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(one["public"]))
        keys[one["keyid"]] = SSlibKey.from_crypto(public, keyid=one["keyid"])
    for line in lines:
        event = json.loads(line)
        signed = event["signatures"][0]
        key = keys[signed["keyid"]]
        dsse.Envelope.from_dict(json.loads(line)).verify([key], 1)
        payload = base64.b64decode(event["payload"])
        other = base64.b64encode(payload.replace(b"muniment", b"monument")).decode()
        stranger = [one for name, one in keys.items() if name != signed["keyid"]]
        for spoiled, used in (({"payload": other}, [key]), ({}, stranger)):
            with pytest.raises(VerificationError):
                dsse.Envelope.from_dict({**json.loads(line), **spoiled}).verify(used, 1)


def test_in_toto_attestation(bundles: Bundles) -> None:
    """Every event of the bundle is a statement, of whatever type."""
    kinds = set()
    for line in (bundles.folder / "events.intoto.jsonl").read_text().splitlines():
        statement = json.loads(base64.b64decode(json.loads(line)["payload"]))
        Statement.copy_from_pb(ParseDict(statement, Parsed())).validate()
        kinds.add(statement["predicateType"])

    assert len(kinds) >= 6


def taken(text: str, entry: bytes, vkey: str) -> bool:
    """Tell whether proofbundle takes it."""
    try:
        return bool(proofbundle.verify_tlog_proof(text, entry, vkey)["ok"])
    except proofbundle.ProofBundleError:
        return False


def test_proofbundle(bundles: Bundles) -> None:
    """The closing event is in the log whose key is `ledger.vkey`; six lies are not."""
    entry = entry_of(sigstore_of(bundles.folder))
    proof = entry["inclusionProof"]
    body = base64.b64decode(entry["canonicalizedBody"])
    vkey = (bundles.folder / "ledger.vkey").read_text().strip()
    stranger = vkey[:-9] + "AAAAAAAA="
    index, note = int(proof["logIndex"]), proof["checkpoint"]["envelope"]

    def text(number: int, hashes: list[str], checkpoint: str) -> str:
        lines = ["c2sp.org/tlog-proof@v1", f"index {number}", *hashes, ""]
        return "\n".join([*lines, checkpoint])

    honest = text(index, proof["hashes"], note)
    assert taken(honest, body, vkey)
    for lie in (
        (honest, body + b" ", vkey),
        (honest, body, stranger),
        (text(index - 1, proof["hashes"], note), body, vkey),
        (text(index, proof["hashes"][1:], note), body, vkey),
        (text(index, proof["hashes"][::-1], note), body, vkey),
        (text(index, proof["hashes"], note.replace("\n", "\n1", 1)), body, vkey),
    ):
        assert not taken(*lie)


def test_pymerkle(bundles: Bundles) -> None:
    """The root of a tree head is that of an independent tree over the events."""
    ledger, tree = bundles.ledger, InmemoryTree(algorithm="sha256")
    for event in ledger.events():
        entry = entry_bytes(event.payload, event.signature, event.key)
        tree.append_entry(entry)
    note = Note.parse((bundles.folder / "closing.checkpoint").read_bytes())
    head = Checkpoint.parse(note.text)

    assert head.root == tree.get_root(head.size)


def entry_bytes(payload: bytes, signature: bytes, key: bytes) -> bytes:
    """Return the log entry of an event."""
    from muniment.formats.dsse import (  # noqa: PLC0415 - for this comparison
        log_entry,
        pae,
        spki_base64,
    )
    from muniment.keys.ed25519 import PublicKey  # noqa: PLC0415 - the same

    return log_entry(pae(payload), signature, spki_base64(PublicKey(key)))


@pytest.mark.skipif(which("sha256sum") is None, reason="no sha256sum on PATH")
def test_sha256sum(bundles: Bundles, tmp_path: Path) -> None:
    """MANIFEST is in the form that it reads."""
    folder = copy(bundles.folder, tmp_path / "bundle")
    line = ["sha256sum", "--quiet", "--strict", "-c", "MANIFEST"]
    codes = [subprocess.run(line, cwd=folder, check=False).returncode]
    (folder / "run.json").write_text("{}")
    done = subprocess.run(line, cwd=folder, capture_output=True, check=False)

    assert (codes, done.returncode) == ([0], 1)
    assert b"run.json: FAILED" in done.stdout


TAMPERS: dict[str, tuple[str, ...]] = {
    "index": ("verificationMaterial", "tlogEntries", "logIndex"),
    "proof": ("verificationMaterial", "tlogEntries", "inclusionProof", "hashes"),
    "head": (
        *("verificationMaterial", "tlogEntries", "inclusionProof"),
        *("checkpoint", "envelope"),
    ),
    "body": ("verificationMaterial", "tlogEntries", "canonicalizedBody"),
    "payload": ("dsseEnvelope", "payload"),
    "signatures": ("dsseEnvelope", "signatures"),
}


@pytest.mark.skipif(not COSIGN.exists(), reason=NO_COSIGN)
@pytest.mark.parametrize("tamper", ["", *TAMPERS])
def test_cosign(bundles: Bundles, tmp_path: Path, tamper: str) -> None:
    """Unmodified cosign, offline: the closing event is about MANIFEST, and in the log."""
    folder = copy(bundles.folder, tmp_path / "bundle")
    bundle = sigstore_of(folder)
    if tamper:
        *path, last = TAMPERS[tamper]
        place: Any = bundle
        for name in path:
            place = place[name][0] if name == "tlogEntries" else place[name]
        value = place[last]
        place[last] = value[1:] if isinstance(value, list) else f"0{value[1:]}"
    (folder / "evidence.sigstore.json").write_text(json.dumps(bundle))
    command = (
        "verify-blob-attestation --bundle evidence.sigstore.json "
        "--key ledger.pub --trusted-root trusted_root.json "
        "--type urn:muniment:event:bundle.closed:v1 MANIFEST"
    )
    done = subprocess.run(
        [COSIGN, *command.split()], cwd=folder, capture_output=True, check=False
    )

    assert (done.returncode == 0) == (not tamper), done.stderr
