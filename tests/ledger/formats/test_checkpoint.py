"""Checkpoints and proofs: others accept ours, we accept theirs, nobody a changed one."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import UsageError, WrongError
from muniment.formats.checkpoint import (
    Checkpoint,
    Note,
    NoteSignature,
    log_id,
    origin,
    read_checkpoint,
    sign_checkpoint,
)
from muniment.formats.dsse import sign_payload
from muniment.formats.merkle import EMPTY_ROOT, leaf_hash
from muniment.keys.ed25519 import PrivateKey

KEY = PrivateKey.from_seed(bytes(range(32)))
OTHER = PrivateKey.from_seed(bytes(32))
ORIGIN = origin("sha256:" + "0123456789abcdef" * 4)
ROOT = bytes(range(100, 132))


def shared(folder: str) -> Path:
    """Return a folder of public vectors or examples; skip where there is none."""
    named = os.environ.get("MUNIMENT_VECTORS")
    beside = Path(__file__).parents[4] / "shared"
    path = (Path(named).parent if named else beside) / folder
    if not path.is_dir():
        pytest.skip("no public vectors: set MUNIMENT_VECTORS")
    return path


def test_a_checkpoint_is_these_bytes() -> None:
    """The note of a checkpoint is spelled out here once, byte for byte."""
    mark = log_id(ORIGIN, KEY.public)[:4]
    text = f"{ORIGIN}\n1235\n{base64.b64encode(ROOT).decode()}\n"
    line = base64.b64encode(mark + KEY.sign(text.encode())).decode()
    note = sign_checkpoint(Checkpoint(ORIGIN, 1235, ROOT), KEY)
    assert note.decode() == f"{text}\n— {ORIGIN} {line}\n"
    assert ORIGIN == "l-0123456789abcdef0123456789abcdef.muniment.invalid"


@pytest.mark.parametrize(
    "ledger", ["", "sha256:", "sha256:" + "AB" * 32, "ab" * 32, "sha256:" + "ab" * 33]
)
def test_only_a_ledger_id_has_an_origin(ledger: str) -> None:
    """What does not name a ledger names no log."""
    with pytest.raises(UsageError, match=r"not a ledger id .*checkpoint/ledger-id"):
        origin(ledger)


SIZES = st.integers(1, 2**63 - 1)
HASHES = st.binary(min_size=32, max_size=32)


@given(SIZES, HASHES)
def test_a_checkpoint_reads_back(size: int, top: bytes) -> None:
    """What is signed is read again equal by its key, and by no other key or origin."""
    checkpoint = Checkpoint(ORIGIN, size, top)
    note = sign_checkpoint(checkpoint, KEY)
    assert read_checkpoint(note, ORIGIN, [OTHER.public, KEY.public]) == checkpoint
    assert Checkpoint.parse(checkpoint.text()) == checkpoint
    with pytest.raises(WrongError, match="checkpoint/unsigned"):
        read_checkpoint(note, ORIGIN, [OTHER.public])
    with pytest.raises(WrongError, match=r"is of l-0123.*checkpoint/origin\]"):
        read_checkpoint(note, origin("sha256:" + "ab" * 32), [KEY.public])


def test_a_witness_may_sign_below() -> None:
    """Lines of unknown keys change nothing; a second known key may sign as well."""
    checkpoint = Checkpoint(ORIGIN, 5, ROOT)
    note = Note.parse(sign_checkpoint(checkpoint, KEY))
    second = Note.parse(sign_checkpoint(checkpoint, OTHER)).signatures
    witness = NoteSignature("witness.example", b"abcd", bytes(72))
    cosigned = Note(note.text, (witness, *second, *note.signatures)).to_bytes()
    for publics in ([KEY.public], [OTHER.public], [KEY.public, OTHER.public]):
        assert read_checkpoint(cosigned, ORIGIN, publics) == checkpoint


def test_a_signature_of_another_context_is_no_checkpoint() -> None:
    """An event's signature over the same bytes is over its PAE, and does not count."""
    text = Checkpoint(ORIGIN, 5, ROOT).text()
    mark = log_id(ORIGIN, KEY.public)[:4]
    line = NoteSignature(ORIGIN, mark, sign_payload(text, KEY).signature)
    with pytest.raises(WrongError, match="note/signature"):
        read_checkpoint(Note(text.decode(), (line,)).to_bytes(), ORIGIN, [KEY.public])


def test_public_checkpoint_texts() -> None:
    """The published texts are read or refused as published, but for our stricter rules.

    A root is 32 bytes and extension lines do not exist here, which the published parser
    leaves open: those refusals must be for exactly these reasons.
    """
    data = json.loads((shared("vectors") / "tlog" / "checkpoints.json").read_text())
    for case in data["cases"]:
        text = case["text"]
        if not case["ok"]:
            with pytest.raises(WrongError, match=r"\[checkpoint/"):
                Checkpoint.parse(text)
        elif "root_is_leaf_hash_of" in case:
            checkpoint = Checkpoint.parse(text)
            assert checkpoint.origin == case["origin"]
            assert checkpoint.size == case["size"]
            assert checkpoint.root == leaf_hash(case["root_is_leaf_hash_of"].encode())
            assert checkpoint.text().decode() == text
        else:
            rule = "extension" if text.count("\n") > 3 else "root-size"
            with pytest.raises(WrongError, match=rf"checkpoint/{rule}\]"):
                Checkpoint.parse(text)


B64 = base64.b64encode(ROOT).decode()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "lines"),
        ("o\n1\n", "lines"),
        (f"o\n1\n{B64}", "final-newline"),
        (f"\n1\n{B64}\n", "no-origin"),
        (f"o\n1\n{B64}\nmore\n", "extension"),
        (f"o\n1\n{B64}\n\n", "extension"),
        (f"o\n-1\n{B64}\n", "size"),
        (f"o\n+1\n{B64}\n", "size"),
        (f"o\n01\n{B64}\n", "size"),
        (f"o\n\n{B64}\n", "size"),
        (f"o\n1 \n{B64}\n", "size"),
        (f"o\n1_0\n{B64}\n", "size"),
        (f"o\n\u0661\n{B64}\n", "size"),
        (f"o\n{2**63}\n{B64}\n", "size"),
        (f"o\n{'9' * 5000}\n{B64}\n", "size"),
        (f"o\n1\n{B64[:-1]}\n", "root-base64"),
        (f"o\n1\n{B64.replace('+', '-').replace('/', '_')[:-2]}_=\n", "root-base64"),
        ("o\n1\nAAAA\n", "root-size"),
        (f"o\n0\n{B64}\n", "empty-root"),
        (f"o\r\n1\n{B64}\n", "control"),
        (b"\xff\n1\n" + B64.encode() + b"\n", "encoding"),
        ("x" * 1_000_001, "too-long"),
    ],
)
def test_each_fault_of_a_checkpoint_has_its_own_rule(
    text: str | bytes, rule: str
) -> None:
    """A refusal says which line is off."""
    with pytest.raises(WrongError, match=rf"\[checkpoint/{rule}\]") as caught:
        Checkpoint.parse(text)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "size", "top", "rule"),
    [
        ("", 1, ROOT, "no-origin"),
        ("a\nb", 1, ROOT, "origin-line"),
        ("a\x00", 1, ROOT, "control"),
        ("o", -1, ROOT, "size"),
        ("o", 2**63, ROOT, "size"),
        ("o", 1, ROOT[:-1], "root-size"),
        ("o", 0, ROOT, "empty-root"),
    ],
)
def test_what_no_checkpoint_can_carry_is_not_constructed(
    name: str, size: int, top: bytes, rule: str
) -> None:
    """A checkpoint that could not be read again is refused before it is signed."""
    with pytest.raises(WrongError, match=rf"\[checkpoint/{rule}\]"):
        Checkpoint(name, size, top)


def test_an_origin_with_a_space_cannot_sign() -> None:
    """Such origins exist elsewhere and are read, but no signature line can name them."""
    with pytest.raises(WrongError, match="note/name"):
        sign_checkpoint(Checkpoint("go.sum database tree", 1, ROOT), KEY)


def test_the_empty_tree_has_a_checkpoint() -> None:
    """Size 0 goes with the hash of nothing."""
    note = sign_checkpoint(Checkpoint(ORIGIN, 0, EMPTY_ROOT), KEY)
    assert read_checkpoint(note, ORIGIN, [KEY.public]).size == 0
