"""Verify from the shell: the three verdicts, the findings, proofs, and every code."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from muniment import Run
from muniment.ledger import Ledger


@pytest.fixture
def stranger(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be another user from here on, who knows nothing of the ledger."""
    home = tmp_path / "stranger"
    monkeypatch.setenv("MUNIMENT_HOME", str(home))
    assert made.exists()
    return home


def codes(shell: Any, *line: object) -> set[int]:
    """Return the exit codes with and without --json."""
    return {shell("verify", *line).code, shell("verify", *line, "--json").code}


def tamper(path: Path) -> None:
    """Change one letter of the second event."""
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER event_no_update")
    connection.execute(
        "UPDATE event SET payload = replace(payload, '\"one\"', '\"two\"') WHERE seq = 1"
    )
    connection.execute(
        "CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT "
        "RAISE(ABORT, 'a ledger is append-only'); END"
    )
    connection.commit()
    connection.close()


def test_three_verdicts_are_printed(shell: Any, made: Path) -> None:
    """Integrity, authenticity and completeness each have a line."""
    done = shell("verify")
    words = dict(line.split()[:2] for line in done.out.splitlines())
    assert (words["integrity"], words["authenticity"]) == ("intact", "pinned")
    assert words["completeness"] == "checked"
    assert words["file"] == str(made)


def test_an_edit_is_found_and_named(shell: Any, made: Path) -> None:
    """One changed letter: exit 1 in both forms, the event and rule are named."""
    tamper(made)
    assert codes(shell) == {1}
    done = shell("verify")
    assert "wrong" in done.out
    assert "event 1" in done.out
    first = shell("verify", "--json").json["findings"][0]
    assert first["seq"] == 1
    assert first["rule"] in done.out


def test_nobody_vouches(shell: Any, stranger: Path) -> None:
    """Without a pin: exit 3, 0 on first use on request; verify writes no pin."""
    assert codes(shell) == {3}
    assert not stranger.exists()
    assert codes(shell, "--trust-on-first-use") == {0}
    assert "self-asserted" in shell("verify").out
    assert not list(stranger.glob("**/pins.json"))


def test_a_given_key_is_a_pin(shell: Any, made: Path, stranger: Path) -> None:
    """The right fingerprint: 0; a file of the right key: 0; another key: 1."""
    with Ledger.open(made, readonly=True) as ledger:
        root = ledger.store.keyring().current("root")[0]
    Path("root.pub").write_text(root.ssh)
    assert codes(shell, "--key", "SHA256:" + "A" * 43) == {1}
    assert codes(shell, "--key", "nowhere.pub") == {3}
    assert not stranger.exists()
    assert codes(shell, "--key", root.keyid) == {0}
    assert codes(shell, "--key", "root.pub") == {0}
    assert not list(stranger.glob("**/pins.json"))


def test_what_to_do_without_a_pin_works(
    shell: Any, made: Path, stranger: Path, tmp_path: Path
) -> None:
    """The advice names the file that was given, and following it gives a pin."""
    copy = tmp_path / "handed over.db"
    assert shell("backup", copy).code == 0
    with Ledger.open(made, readonly=True) as ledger:
        roles = ("root", "checkpoint")
        root, other = (ledger.store.keyring().current(one)[0] for one in roles)
    Path("other.pub").write_text(other.ssh)
    missed = shell("verify", copy, "--key", "other.pub")
    assert missed.code == 3
    assert "keys that were given are not its root" in missed.err
    advice = shell("verify", copy).err.partition("`muniment ")[2].partition("`")[0]
    assert shlex.split(advice)[:2] == ["verify", str(copy)]
    assert shell(*shlex.split(advice.replace("FINGERPRINT", root.keyid))).code == 0
    assert shell("verify", copy).code == 0
    assert stranger.exists()


def test_completeness_can_be_required(shell: Any, made: Path, stranger: Path) -> None:
    """No memory: 3 where completeness is required; 0 with a note that was kept."""
    with Ledger.open(made, readonly=True) as ledger:
        root = ledger.store.keyring().current("root")[0].keyid
        note = ledger.store.last_checkpoint()[1]
    assert note is not None
    Path("kept.note").write_bytes(note)
    line = ("--key", root, "--require", "complete")
    assert codes(shell, *line, "--fast") == {3}
    assert codes(shell, *line, "--anchor", "kept.note", "--fast") == {0}
    assert codes(shell, *line, "--anchor", "lost.note") == {3}
    assert not stranger.exists()
    assert shell("verify", *line).code == 3
    assert shell("verify", *line).code == 0  # now it remembers what it saw


def test_fast_says_so(shell: Any, made: Path) -> None:
    """--fast is another depth, with the same codes."""
    assert shell("verify", "--fast", "--json").json["fast"] is True
    tamper(made)
    assert codes(shell, "--fast") == {1}


def test_verify_finds_the_ledger_of_a_directory(shell: Any, work: Path) -> None:
    """A directory that holds a ledger stands for it."""
    shell("init", "sub")
    assert shell("verify", "sub").code == 0
    assert shell("verify", work / "sub" / ".muniment").code == 0


def test_verifying_is_remembered_by_status(shell: Any, made: Path) -> None:
    """Status says when a known ledger was last verified, and that it was wrong."""
    assert "never" in shell("status").out
    shell("verify")
    assert shell("status", "--json").json["verified"]["ok"] is True
    with Ledger.open(made) as ledger:
        ledger.append("note.added", {"text": "the newest, which status reads"})
    tamper(made)
    shell("verify")
    assert shell("status", "--json").json["verified"]["ok"] is False


FIRST_USE = ("event.tlog-proof", "--trust-on-first-use")


def test_a_proof_is_checked_without_the_ledger(
    shell: Any, made: Path, stranger: Path
) -> None:
    """A proof file and the checkpoint key are enough; the key may be a vkey."""
    done = shell("--ledger", made, "prove", "1", "-o", "event.tlog-proof")
    assert (done.code, done.out) == (0, "event.tlog-proof\n")
    keys = shell("keys", "export", "--role", "checkpoint", "--format", "vkey").out
    pem = shell("keys", "export", "--role", "checkpoint", "--format", "pem").out
    Path("key.pem").write_text(pem)
    shutil.rmtree(made.parent)
    assert codes(shell, "event.tlog-proof", "--key", keys.strip()) == {0}
    assert codes(shell, "event.tlog-proof", "--key", "key.pem") == {0}
    whole = "SHA256:" + "A" * 43
    named = shell("verify", "event.tlog-proof", "--key", whole)
    assert "a fingerprint names a key, and checks no signature" in named.err
    assert codes(shell, "event.tlog-proof", "--key", whole) == {3}
    assert codes(shell, "event.tlog-proof", "--key", "SHA256:bbXpuKG6") == {3}
    found = shell("verify", "event.tlog-proof", "--key", "key.pem", "--json").json
    assert found["statement"]["predicate"]["data"]["text"] == "one"
    assert codes(shell, "event.tlog-proof") == {3}
    assert not stranger.exists()


def test_a_proof_beside_its_ledger(
    shell: Any, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger at hand gives the keys: 0 where it is pinned, 3 where it is not."""
    shell("prove", "1", "-o", "event.tlog-proof")
    assert codes(shell, "event.tlog-proof") == {0}
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    assert codes(shell, "event.tlog-proof") == {3}
    assert codes(shell, "event.tlog-proof", "--trust-on-first-use") == {0}
    assert "Trusted on first" in shell("verify", *FIRST_USE).err
    said = shell("verify", *FIRST_USE, "--json").json
    assert (said["ok"], said["authenticity"]) == (False, "self-asserted")
    assert made.exists()


def test_a_proof_and_fingerprints(
    shell: Any, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fingerprint stands for the pins: the root's, or that of the key that signed."""
    shell("prove", "1", "-o", "event.tlog-proof")
    keys = {key["name"]: key["keyid"] for key in shell("keys", "list", "--json").json}
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    line = ("event.tlog-proof", "--key")
    assert codes(shell, *line, keys["root"]) == {0}
    assert codes(shell, *line, keys["checkpoint"]) == {0}
    assert codes(shell, *line, keys["writer"]) == {3}
    assert codes(shell, *line, "SHA256:" + "A" * 43) == {1}
    assert made.exists()


def test_a_tampered_proof_is_wrong(shell: Any, made: Path) -> None:
    """Another index, hash, root or event: exit 1, one line."""
    shell("prove", "1", "-o", "event.tlog-proof")
    text = Path("event.tlog-proof").read_text()
    lines = text.split("\n")
    changed = [
        text.replace("index 1", "index 0"),
        text.replace(lines[3], "A" * 43 + "="),
        text.replace("\n2\n", "\n3\n"),
        text.replace(lines[1], lines[1][:200] + "AAAA" + lines[1][204:]),
    ]
    for number, other in enumerate(changed):
        assert other != text, number
        Path("bad.tlog-proof").write_text(other)
        done = shell("verify", "bad.tlog-proof")
        assert done.code == 1, (number, done)
        assert done.err.count("\n") == 1
    assert made.exists()


def test_a_run_is_proved_by_its_end(shell: Any, made: Path) -> None:
    """Prove RUN takes a prefix and proves run.completed; an open run is refused."""
    with Ledger.open(made) as ledger:
        done = ledger.execute(nothing, name="x")
    proved = shell("prove", done.run_id[:20], "--json").json
    assert proved["type"] == "run.completed"
    assert shell("prove", "999").code == 2
    assert shell("prove", "ZZZZ").code == 2
    with Ledger.open(made) as ledger, ledger.run("in the middle") as run:
        refused = shell("prove", run.id)
    assert refused.code == 4
    assert "proof/open-run" in refused.err


def nothing(run: Run) -> None:
    """Be a program."""
    assert run.id


def test_the_environment_names_the_ledger(
    shell: Any, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MUNIMENT_LEDGER is used from anywhere; --ledger wins over it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUNIMENT_LEDGER", str(made))
    assert shell("verify").code == 0
    assert shell("--ledger", tmp_path / "no.db", "verify").code == 3
    assert os.environ["MUNIMENT_LEDGER"]


def test_a_trust_home_that_cannot_be_written_changes_no_verdict(
    shell: Any, made: Path, home: Path
) -> None:
    """Where the date of the verification cannot be kept, a warning says so."""
    shell("verify")
    (remembered,) = home.glob("ledgers/*/verified.json")
    remembered.unlink()
    remembered.mkdir()
    done = shell("verify")
    assert (done.code, "intact" in done.out) == (0, True)
    assert done.err.startswith("warning: ")
    assert made.exists()
