"""The page on checkpoints and proofs shows what the code writes, byte for byte."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from muniment.formats.checkpoint import (
    Checkpoint,
    TlogProof,
    origin,
    sign_checkpoint,
    vkey,
)
from muniment.formats.dsse import (
    entry_hash,
    log_entry,
    pae,
    sign_payload,
    spki_base64,
)
from muniment.formats.merkle import (
    consistency_proof,
    inclusion_proof,
    root,
    verify_consistency,
)
from muniment.keys.ed25519 import PrivateKey

PAGE = Path(__file__).parents[3] / "docs" / "spec" / "checkpoint.md"
WRITER = PrivateKey.from_seed(bytes(range(32)))
LOG = PrivateKey.from_seed(bytes(range(32, 64)))
ORIGIN = origin("sha256:" + "0123456789abcdef" * 4)
SPKI = spki_base64(WRITER.public)
EVENTS = [sign_payload(b'{"seq":%d}' % seq, WRITER) for seq in range(3)]
LEAVES = [entry_hash(event.payload, event.signature, SPKI) for event in EVENTS]


def node(level: int, index: int) -> bytes:
    """Return the root of a complete subtree of `LEAVES`."""
    return root(LEAVES[index << level : (index + 1) << level])


def blocks() -> dict[str, str]:
    """Return the fenced blocks of the page by their label."""
    text = PAGE.read_text(encoding="utf-8")
    return dict(
        re.findall(r"^```([a-z-]+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    )


def expected() -> dict[str, str]:
    """Return what the code writes for each block."""
    note = sign_checkpoint(Checkpoint(ORIGIN, 3, root(LEAVES)), LOG)
    proof = TlogProof(1, tuple(inclusion_proof(1, 3, node)), note)
    entry = log_entry(pae(EVENTS[1].payload), EVENTS[1].signature, SPKI)
    writer, log = WRITER.public, LOG.public
    hashes = [base64.b64encode(value) for value in consistency_proof(2, 3, node)]
    roots = [root(LEAVES[:2]).hex(), root(LEAVES).hex()]
    return {
        "tlog-proof": proof.to_text(),
        "envelope": EVENTS[1].to_json().decode() + "\n",
        "entry": entry.decode() + "\n",
        "checkpoint": note.decode(),
        "vkey": vkey(ORIGIN, log) + "\n",
        "keys": (
            f"writer     {writer.raw.hex()}\n           {writer.keyid}\n"
            f"checkpoint {log.raw.hex()}\n"
        ),
        "leaves": "".join(leaf.hex() + "\n" for leaf in LEAVES),
        "consistency": "".join(
            line + "\n" for line in [*roots, *(value.decode() for value in hashes)]
        ),
    }


@pytest.mark.parametrize("label", expected())
def test_the_page_shows_what_the_code_writes(label: str) -> None:
    """Each block of the page is what the code makes of the same inputs."""
    assert blocks()[label] == expected()[label]


def test_the_page_has_no_other_block() -> None:
    """A block that nothing checks would rot."""
    assert blocks().keys() == expected().keys()


def test_the_page_can_be_verified_from_its_text() -> None:
    """A reader who has only the page accepts its proofs."""
    page = blocks()
    leaves = [bytes.fromhex(line) for line in page["leaves"].split()]
    proof = TlogProof.parse(page["tlog-proof"])
    assert proof.verify(leaves[1], ORIGIN, [LOG.public]).size == 3
    old, new, step = page["consistency"].split()
    roots = bytes.fromhex(old), bytes.fromhex(new)
    assert verify_consistency(2, 3, *roots, [base64.b64decode(step)])
