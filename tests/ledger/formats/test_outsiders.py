"""Other people's tools accept what a real ledger gives out, and refuse alterations."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import proofbundle
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pymerkle import InmemoryTree
from securesystemslib import dsse
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

from foreign_tools import COSIGN, NO_COSIGN
from muniment.formats.checkpoint import log_id, origin, read_checkpoint, vkey
from muniment.formats.dsse import Envelope, log_entry, pae, spki_base64
from muniment.formats.merkle import verify_consistency
from muniment.formats.statement import Event
from muniment.keys.ed25519 import PublicKey
from muniment.ledger import Ledger
from muniment.storage.prove import consistency


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    """Give a ledger with a run, notes across a tile's border, and a checkpoint."""
    with ledger.run("work") as run:
        run.effect("tool", {"name": "search"}, lambda request: request)
    ledger.append_many([("note.added", {"text": f"note {i}"}) for i in range(300)])
    ledger.checkpoint()
    return ledger


def envelope(event: Event) -> dict[str, Any]:
    """Return the event as the DSSE envelope that `muniment events show` prints."""
    public = PublicKey(event.key)
    text = Envelope(event.payload, public.keyid, event.signature).to_json()
    return dict(json.loads(text))


def test_securesystemslib_verifies_every_event(filled: Ledger) -> None:
    """Each event is a DSSE envelope that the in-toto world's library accepts."""
    for event in filled.events():
        public = PublicKey(event.key)
        crypto = load_pem_public_key(public.pem.encode())
        key = SSlibKey.from_crypto(crypto, keyid=public.keyid)
        whole = envelope(event)  # the library takes what it reads apart
        altered = envelope(event) | {
            "payload": base64.b64encode(event.payload + b" ").decode()
        }

        assert list(dsse.Envelope.from_dict(whole).verify([key], 1)) == [public.keyid]
        with pytest.raises(VerificationError):
            dsse.Envelope.from_dict(altered).verify([key], 1)


def test_proofbundle_verifies_proofs_of_events(filled: Ledger) -> None:
    """A proof from the command line's own function convinces proofbundle."""
    (key,) = filled.store.keyring().current("checkpoint")
    log_key = vkey(origin(filled.id), key)
    for seq in (0, 1, 4, 255, 256, filled.head.size - 1):
        event = filled.event(seq)
        spki = spki_base64(PublicKey(event.key))
        entry = log_entry(pae(event.payload), event.signature, spki)
        text = filled.prove(seq).to_text()

        assert proofbundle.verify_tlog_proof(text, entry, log_key)["ok"]
        assert not accepted(text, entry + b" ", log_key)


def accepted(text: str, entry: bytes, log_key: str) -> bool:
    """Tell whether proofbundle accepts."""
    try:
        return bool(proofbundle.verify_tlog_proof(text, entry, log_key)["ok"])
    except proofbundle.ProofBundleError:
        return False


def test_pymerkle_computes_the_same_roots(filled: Ledger) -> None:
    """The roots in the checkpoints are those of an independent RFC 6962 tree."""
    tree = InmemoryTree(algorithm="sha256")
    for event in filled.events():
        spki = spki_base64(PublicKey(event.key))
        tree.append_entry(log_entry(pae(event.payload), event.signature, spki))
    note = filled.checkpoint()
    assert note is not None
    keys = filled.store.keyring().current("checkpoint")
    head = read_checkpoint(note, origin(filled.id), keys)

    assert head.root == tree.get_root(head.size)


def test_a_ledger_proves_that_it_only_grew(filled: Ledger) -> None:
    """Between any two of its checkpoints there is a consistency proof."""
    first = filled.store.last_checkpoint()
    filled.append_many([("note.added", {"text": "more"})] * 300)
    filled.checkpoint()
    second = filled.store.last_checkpoint()
    keys = filled.store.keyring().current("checkpoint")
    old, new = (
        read_checkpoint(note or b"", origin(filled.id), keys)
        for _, note in (first, second)
    )
    proof = consistency(filled.store, old.size, new.size)

    assert verify_consistency(old.size, new.size, old.root, new.root, proof)
    assert not verify_consistency(old.size, new.size, new.root, old.root, proof)


@pytest.mark.skipif(which("openssl") is None, reason="no openssl on PATH")
def test_openssl_verifies_an_event(filled: Ledger, tmp_path: Path) -> None:
    """Three files and openssl are enough to check who signed an event."""
    event = filled.event(3)
    (tmp_path / "key").write_text(PublicKey(event.key).pem)
    (tmp_path / "sig").write_bytes(event.signature)
    (tmp_path / "pae").write_bytes(pae(event.payload))
    command = "openssl pkeyutl -verify -pubin -inkey key -rawin -in pae -sigfile sig"

    done = subprocess.run(
        command.split(), cwd=tmp_path, capture_output=True, check=False
    )

    assert (done.returncode, b"Verified Successfully" in done.stdout) == (0, True)


@pytest.mark.skipif(not COSIGN.exists(), reason=NO_COSIGN)
def test_cosign_verifies_an_event_in_the_log(filled: Ledger, tmp_path: Path) -> None:
    """Unmodified cosign, offline: this statement about this artifact is in this log."""
    artifact = b"the generated module\n"
    run = filled.run("code")
    with run as lane:
        code = artifact.decode()
        handle = lane.record("synthesis.attempted", {"code": code, "accepted": True})
    event = handle.event
    proof = filled.prove(event.seq)
    (log_key,) = filled.store.keyring().current("checkpoint")
    write_bundle(tmp_path, filled, event, proof.hashes, proof.checkpoint_note, log_key)
    (tmp_path / "artifact").write_bytes(artifact)
    command = (
        "verify-blob-attestation --bundle bundle.json --key event.pub "
        "--trusted-root root.json --type urn:muniment:event:synthesis.attempted:v1 "
        "artifact"
    )

    done = subprocess.run(
        [COSIGN, *command.split()], cwd=tmp_path, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr


def write_bundle(
    place: Path,
    ledger: Ledger,
    event: Event,
    hashes: tuple[bytes, ...],
    note: bytes,
    log_key: PublicKey,
) -> None:
    """Write the Sigstore bundle, trusted root and key that cosign asks for."""
    name, public = origin(ledger.id), PublicKey(event.key)
    keys = ledger.store.keyring().checkpoint_keys_at(event.seq + 1)
    head = read_checkpoint(note, name, keys)
    entry = log_entry(pae(event.payload), event.signature, spki_base64(public))
    key_id = b64(log_id(name, log_key))
    bundle = {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {
            "publicKey": {"hint": public.keyid},
            "tlogEntries": [
                {
                    "logIndex": str(event.seq),
                    "logId": {"keyId": key_id},
                    "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
                    "integratedTime": "0",
                    "inclusionProof": {
                        "logIndex": str(event.seq),
                        "rootHash": b64(head.root),
                        "treeSize": str(head.size),
                        "hashes": [b64(one) for one in hashes],
                        "checkpoint": {"envelope": note.decode()},
                    },
                    "canonicalizedBody": b64(entry),
                }
            ],
        },
        "dsseEnvelope": envelope(event),
    }
    log = {
        "baseUrl": f"https://{name}",
        "hashAlgorithm": "SHA2_256",
        "publicKey": {
            "rawBytes": b64(log_key.spki),
            "keyDetails": "PKIX_ED25519",
            "validFor": {"start": "2020-01-01T00:00:00Z"},
        },
        "logId": {"keyId": key_id},
    }
    trusted = {
        "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
        "tlogs": [log],
        "certificateAuthorities": [],
        "ctlogs": [],
        "timestampAuthorities": [],
    }
    (place / "bundle.json").write_text(json.dumps(bundle))
    (place / "root.json").write_text(json.dumps(trusted))
    (place / "event.pub").write_text(public.pem)


def b64(data: bytes) -> str:
    """Return standard base64."""
    return base64.b64encode(data).decode()
