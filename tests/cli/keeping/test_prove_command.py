"""`muniment prove` in each of its formats, as people call it, and as they should not.

Also tried, without a finding: numbers beyond the log, negative, in other digits, with
signs, points and spaces; both files as one, in two spellings; full devices; a tree of
one event; keys that were rotated before and after the event; each column of events, nodes
and checkpoints with values of six other types. What one of these did find is below.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scitt_cose.receipt import verify_receipt

from foreign_tools import COSIGN, NO_COSIGN, lacking
from muniment.encoding.canonical import canonical
from muniment.formats.sigstore import SigstoreBundle
from muniment.ledger import Ledger
from muniment_cli.keys.proof_formats import FORMATS
from programs import write_program


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


@pytest.mark.skipif(lacking("cosign") is not None, reason=NO_COSIGN)
def test_cosign_takes_what_is_written(shell: Any, made: Path) -> None:
    """Bundle, trusted root, and the key that the command names are all that it needs."""
    line = ("prove", "1", "--format", "sigstore", "-o", "1.json")
    said = shell(*line, "--trusted-root", "root.json").err
    named = re.findall(r"`muniment (keys export [^`]*)`", " ".join(said.split()))
    Path("key.pub").write_text(shell(*named[0].split()).out)
    with Ledger.open(made) as ledger:
        Path("data.json").write_bytes(
            canonical(json.loads(ledger.event(1).payload)["predicate"]["data"])
        )
    verify = "verify-blob-attestation --bundle 1.json --key key.pub "
    verify += (
        "--trusted-root root.json --type urn:muniment:event:note.added:v1 data.json"
    )
    done = subprocess.run(
        [COSIGN, *verify.split()], capture_output=True, text=True, check=False
    )

    assert (len(named), done.returncode) == (1, 0), done.stderr


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET payload = replace(payload, 'note', 'nota') WHERE seq = 1",
        "UPDATE event SET signature = zeroblob(64) WHERE seq = 1",
        "UPDATE event SET hash = zeroblob(32) WHERE seq = 2",
        "UPDATE checkpoint SET note = CAST(note AS TEXT)",
        "UPDATE checkpoint SET note = 7",
        "UPDATE checkpoint SET note = replace(note, 'muniment', 'monument')",
        "UPDATE checkpoint SET size = size - 1",
    ],
)
def test_a_changed_ledger(shell: Any, made: Path, form: str, change: str) -> None:
    """No proof is written that would not verify, whatever its format."""
    shell("checkpoint")
    database = sqlite3.connect(made)
    listed = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    triggers = database.execute(listed).fetchall()
    for name, _ in triggers:
        database.execute(f'DROP TRIGGER "{name}"')
    with database:
        assert database.execute(change).rowcount
    for _, made_again in triggers:
        database.execute(made_again)
    database.close()
    done = shell("prove", "1", "--format", form, "-o", "x")

    assert done.code == 1, done.err
    assert "muniment verify`" in " ".join(done.err.split())
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("output", "entry"),
    [("x", "nowhere/x"), ("x", "x/y"), ("one/x", "two/x"), ("x", "taken")],
)
def test_all_files_or_none(shell: Any, made: Path, output: str, entry: str) -> None:
    """If one file cannot be written, there is none of them."""
    Path("taken").touch()
    Path("one").mkdir()
    Path("two").symlink_to("one")
    before = sorted(Path().glob("[!.]*/**/*"))
    done = shell("prove", "1", "--format", "cose", "-o", output, "--entry", entry)

    assert (done.code, made.exists()) == (2, True)
    assert sorted(Path().glob("[!.]*/**/*")) == before
    assert not Path("x").exists()


def test_where_the_file_goes_is_looked_at_first(shell: Any, made: Path) -> None:
    """No checkpoint is signed for a proof that cannot be written."""
    Path("taken").touch()
    Path("link").symlink_to("taken")
    Path("dangling").symlink_to("nothing")
    os.mkfifo("fifo")
    with Ledger.open(made) as ledger:
        last = ledger.append("note.added", {"text": "under no checkpoint yet"}).seq
        places = ("taken", "link", "dangling", "fifo", "made/x", "nothing/x")
        codes = [shell("prove", last, "-o", place).code for place in places]

        assert codes == [2] * len(places)
        assert ledger.checkpointed == last
        assert shell("prove", last, "-o", "x").code == 0
        assert ledger.checkpointed == last + 1


def test_the_same_bytes_again(shell: Any, made: Path) -> None:
    """A proof under the same checkpoint is the same, in every format."""
    for form in FORMATS:
        for name in ("one", "two"):
            shell("prove", "1", "--format", form, "-o", f"{name}.{form}")
        assert Path(f"one.{form}").read_bytes() == Path(f"two.{form}").read_bytes()
    assert made.exists()


def test_an_erased_run(shell: Any, made: Path, work: Path) -> None:
    """What an erased run recorded is proven as before: events commit to contents."""
    file = write_program(work)
    line = ("run", f"{file.name}:triage", "-p", "ticket=T-1", "--label", "team=x")
    run = shell(*line, "--json").json["run"]
    before = shell("prove", run, "--bare", "--json").json
    with Ledger.open(made) as ledger:
        ledger.erase(run, reason="asked for")
    after = {
        form: shell("prove", run, "--format", form, "--json").json for form in FORMATS
    }

    assert {one["leaf"] for one in after.values()} == {before["leaf"]}


def test_a_copy_without_keys(
    shell: Any, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever only has the ledger makes proofs, but signs no receipt: exit 4."""
    shell("checkpoint")
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "other"))
    found = {
        form: shell("prove", "1", "--format", form, "-o", form) for form in FORMATS
    }

    codes = {form: done.code for form, done in found.items()}
    assert codes == {"tlog": 0, "sigstore": 0, "cose": 4}
    assert "cose/no-key" in found["cose"].err
    assert (made.exists(), Path("cose").exists()) == (True, False)


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
