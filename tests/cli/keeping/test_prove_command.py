"""`muniment prove` in each of its formats, as people call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scitt_cose.receipt import verify_receipt

from muniment.formats.sigstore import SigstoreBundle
from muniment.ledger import Ledger


@pytest.fixture
def made(work: Path) -> Path:
    """Give a ledger here, with three notes."""
    path = work / ".muniment" / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.append_many([("note.added", {"text": str(i)}) for i in range(3)])
    return path


def test_a_sigstore_bundle_of_every_event(shell: Any, made: Path) -> None:
    """Any event, of whatever type, has a bundle that names its own place and head."""
    for seq in range(4):
        name, root = f"{seq}.json", f"{seq}.root.json"
        line = ("prove", seq, "--format", "sigstore", "-o", name)
        done = shell(*line, "--trusted-root", root)
        bundle = SigstoreBundle.parse(Path(name).read_bytes())

        assert (done.code, done.out) == (0, f"{name}\n")
        assert bundle.proof.index == seq
        assert b'"tlogs"' in Path(root).read_bytes()
    assert made.exists()


def test_what_is_printed_is_what_is_written(shell: Any, made: Path) -> None:
    """Without -o a bundle goes to the screen, and JSON holds it as well."""
    shown = shell("prove", "1", "--format", "sigstore")
    told = shell("prove", "1", "--format", "sigstore", "--json").json
    shell("prove", "1", "--format", "sigstore", "-o", "1.json")

    assert Path("1.json").read_text() == shown.out == told["proof"]
    assert (told["format"], told["index"]) == ("sigstore", 1)
    assert json.loads(told["proof"])["mediaType"].endswith("v0.3+json")
    assert made.exists()


def test_a_receipt_and_its_entry(shell: Any, made: Path) -> None:
    """Receipt, log entry and exported key are all that scitt-cose needs."""
    line = ("prove", "1", "--format", "cose", "-o", "1.cose")
    done = shell(*line, "--entry", "1.entry")
    key = shell("keys", "export", "--role", "checkpoint", "--format", "pem").out
    found = verify_receipt(
        Path("1.cose").read_bytes(),
        leaf_entry_hex=Path("1.entry").read_bytes().hex(),
        log_public_key_pem=key,
    )

    assert (done.code, found.ok, found.leaf_index) == (0, True, 1)
    assert made.exists()


def test_what_it_does_not_prove_is_said(shell: Any, made: Path) -> None:
    """Whoever writes a proof for other tools reads what they do not look at."""
    for form in ("sigstore", "cose"):
        said = " ".join(shell("prove", "1", "--format", form, "-o", form).err.split())
        assert "whether the key was revoked" in said
        assert "whether the tree is the newest" in said
    assert made.exists()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--format", "cose"), "cli/output"),
        (("--format", "sigstore", "--bare"), "cli/options"),
        (("--format", "sigstore", "--entry", "x"), "cli/options"),
        (("--trusted-root", "x"), "cli/options"),
        (("--format", "cose", "-o", "x", "--entry", "x"), "cli/output"),
        (("--format", "cose", "-o", "taken"), "cli/output"),
        (("--format", "cose", "-o", "x", "--entry", "taken"), "cli/output"),
        (("--format", "other"), "cli/usage"),
    ],
    ids=str,
)
def test_usage(shell: Any, made: Path, options: tuple[str, ...], rule: str) -> None:
    """Options of other formats, files that are taken, and bytes for a screen: exit 2."""
    Path("taken").touch()
    done = shell("prove", "1", *options)

    assert (done.code, made.exists()) == (2, True)
    assert rule in done.err
    assert not Path("x").exists()
