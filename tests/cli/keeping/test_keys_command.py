"""Keys from the shell: a second machine, a rotation, a theft, a lost root."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from muniment.keys.ed25519 import PrivateKey, load_private
from muniment.ledger import Ledger


def listed(shell: Any) -> list[dict[str, Any]]:
    """Return the keys of the ledger."""
    keys: list[dict[str, Any]] = shell("keys", "--json").json
    return keys


def current(shell: Any, role: str) -> str:
    """Return the id of the one key that has *role* now."""
    (key,) = [
        one for one in listed(shell) if role in one["roles"] and one["until"] is None
    ]
    return str(key["keyid"])


def test_the_first_keys_are_listed(shell: Any, made: Path) -> None:
    """Root, writer and checkpoint; the root is pinned, the others are here."""
    keys = listed(shell)
    assert [one["roles"] for one in keys] == [["root"], ["writer"], ["checkpoint"]]
    assert [one["pinned"] for one in keys] == [True, False, False]
    assert [one["here"] for one in keys] == [False, True, True]
    assert shell("keys").out == shell("keys", "list").out
    assert made.exists()


@pytest.mark.parametrize("algorithm", ["ed25519", "p256"])
def test_a_second_machine_writes(
    shell: Any,
    root: Path,
    made: Path,
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
) -> None:
    """Request there, enrol here: then the other key appends, and all verifies."""
    ledger_id = shell("status", "--json").json["ledger"]
    asked = shell(
        *("keys", "request", "--id", ledger_id, "--name", "ci"),
        *("--key", "ci.pem", "-o", "ci.json", "--algorithm", algorithm),
    )
    assert asked.code == 0
    assert "PRIVATE" not in Path("ci.json").read_text()
    assert Path("ci.pem").stat().st_mode & 0o077 == 0
    assert shell("keys", "enrol", "ci.json", "--root", root).code == 0
    monkeypatch.setenv("MUNIMENT_KEY", f"file:{Path('ci.pem').absolute()}")
    with Ledger.open(made) as ledger:
        event = ledger.append("note.added", {"text": "from the runner"})
    assert event.key == load_private("ci.pem").public.raw
    assert len(event.key) == {"ed25519": 32, "p256": 65}[algorithm]
    assert shell("verify").code == 0


def test_a_request_is_checked(shell: Any, root: Path) -> None:
    """A request for another ledger, for a root, twice, or edited is refused."""
    shell("keys", "request", "--key", "a.pem", "-o", "a.json")
    asked = json.loads(Path("a.json").read_text())
    other = {**asked, "ledger": "sha256:" + "0" * 64}
    grown = {**asked, "key": {**asked["key"], "roles": ["checkpoint", "writer"]}}
    refused: list[object] = [other, grown, [], {"request": "x"}]
    for bad in refused:
        Path("bad.json").write_text(json.dumps(bad))
        done = shell("keys", "enrol", "bad.json", "--root", root)
        assert (done.code, done.out) == (4, ""), bad
    Path("bad.json").write_text("{")
    assert shell("keys", "enrol", "bad.json", "--root", root).code in (1, 4)
    assert shell("keys", "enrol", "none.json", "--root", root).code == 3
    assert shell("keys", "enrol", "a.json", "--root", root).code == 0
    again = shell("keys", "enrol", "a.json", "--root", root)
    assert again.code == 4
    assert "key/duplicate" in again.err
    assert shell("verify").code == 0


def test_only_the_root_enrols(shell: Any, root: Path) -> None:
    """Any other key as --root is refused before anything is written."""
    shell("keys", "request", "--key", "a.pem", "-o", "a.json")
    done = shell("keys", "enrol", "a.json", "--root", "a.pem")
    assert done.code == 4
    assert "key/role" in done.err
    missing = shell("keys", "enrol", "a.json", "--root", "gone.pem")
    assert missing.code == 3
    assert len(listed(shell)) == 3
    assert root.exists()


@pytest.mark.parametrize("role", ["writer", "checkpoint"])
def test_a_rotated_key_goes_on(
    shell: Any, root: Path, made: Path, role: str, home: Path
) -> None:
    """The new key is kept here and used; the old one is set aside, not deleted."""
    before = current(shell, role)
    done = shell("keys", "rotate", "--role", role, "--root", root)
    assert done.code == 0, done.err
    after = current(shell, role)
    assert after != before
    (kept,) = home.glob(f"ledgers/*/keys/{role}.pem")
    assert load_private(kept).public.keyid == after
    assert len(list(home.glob(f"ledgers/*/keys/{role}.*.old"))) == 1
    with Ledger.open(made) as ledger:
        ledger.append("note.added", {"text": "after"})
    assert shell("verify", "--require", "complete").code == 0


def test_a_key_is_named_by_prefix_or_name(shell: Any, root: Path) -> None:
    """Whatever the list prints can be pasted back, shortened."""
    shell("keys", "request", "--key", "a.pem", "--name", "laptop", "-o", "a.json")
    shell("keys", "enrol", "a.json", "--root", root)
    keyid = load_private("a.pem").public.keyid
    shown = shell("keys", "export", keyid[:16], "--format", "fingerprint").out
    assert shown == keyid + "\n"
    assert shell("keys", "export", keyid[7:20] + "…").code == 0
    assert shell("keys", "export", "laptop").out.endswith(" laptop\n")
    assert shell("keys", "export", "SHA256:").code == 2
    assert shell("keys", "export", "nobody").code == 2


@pytest.mark.parametrize("algorithm", ["ed25519", "p256"])
def test_a_revoked_key_writes_nothing_more(
    shell: Any,
    root: Path,
    made: Path,
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
) -> None:
    """After a theft: revoke; the stolen key is refused, history stays good."""
    shell(
        *("keys", "request", "--key", "stolen.pem", "--name", "laptop", "-o", "a.json"),
        *("--algorithm", algorithm),
    )
    shell("keys", "enrol", "a.json", "--root", root)
    line = ("keys", "revoke", "laptop", "--reason", "stolen", "--root", root)
    assert shell(*line).code == 0
    assert shell(*line).code == 4
    monkeypatch.setenv("MUNIMENT_KEY", str(Path("stolen.pem").absolute()))
    done = shell("--ledger", made, "erase", "sha256:" + "0" * 64, "--reason", "x")
    assert done.code in (2, 4)
    assert shell("verify").code == 0


def test_the_key_that_signs_checkpoints_here_is_revoked(
    shell: Any, root: Path, made: Path
) -> None:
    """No checkpoint is signed by a key that just ended; the ledger verifies."""
    keyid = current(shell, "checkpoint")
    line = ("keys", "revoke", keyid, "--reason", "old", "--root", root)
    assert shell(*line).code == 0
    done = shell("checkpoint")
    assert done.code == 4
    assert "key/none" in done.err
    with Ledger.open(made) as ledger:
        ledger.append("note.added", {"text": "goes on"})
    assert shell("verify").code == 0


def test_a_lost_root_is_replaced_by_the_next_alone(
    shell: Any, root: Path, home: Path
) -> None:
    """The next root takes over without the old one, and commits to another."""
    following = root.with_name("next-root.pem")
    root.unlink()
    done = shell("keys", "rotate", "--root", following, "--json")
    assert done.code == 0, done.err
    assert current(shell, "root") == load_private(following).public.keyid
    after = Path(done.json["next_root"])
    assert after.is_relative_to(home)
    assert shell("verify").code == 0
    assert shell("keys", "rotate", "--root", after).code == 0
    assert current(shell, "root") == load_private(after).public.keyid
    assert shell("verify").code == 0


def test_a_stolen_root_names_no_successor(shell: Any, root: Path) -> None:
    """Only the committed next root replaces a root; no file is left behind."""
    for key in (root, root.with_name("other.pem")):
        if not key.exists():
            key.write_bytes(PrivateKey.generate().to_pem())
            key.chmod(0o600)
        done = shell("keys", "rotate", "--root", key)
        assert done.code == 4
        assert "key/next-root" in done.err
    home = Path(os.environ["MUNIMENT_HOME"])
    assert not list(home.glob("ledgers/*/recovery/*"))


def test_trust_pins_what_others_told(
    shell: Any, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger verifies with 3, trusts the fingerprint, verifies with 0."""
    root = current(shell, "root")
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    assert shell("verify").code == 3
    wrong = shell("keys", "trust", "SHA256:" + "A" * 43)
    assert wrong.code == 4
    assert shell("keys", "trust", root[:20]).code == 4
    assert shell("keys", "trust", root).code == 0
    assert shell("verify").code == 0
    made.unlink()
    assert shell("verify").code == 1


def test_a_locked_root_is_opened_by_its_passphrase(
    shell: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The passphrase comes from the environment; a wrong one is exit 3."""
    pem = load_private(root).to_pem("correct horse")
    root.write_bytes(pem)
    line = ("keys", "rotate", "--role", "writer", "--root", root)
    assert shell(*line).code == 3
    monkeypatch.setenv("MUNIMENT_PASSPHRASE", "wrong")
    assert shell(*line).code == 3
    monkeypatch.setenv("MUNIMENT_PASSPHRASE", "correct horse")
    assert shell(*line).code == 0


def test_a_root_that_others_can_read_is_refused(shell: Any, root: Path) -> None:
    """A recovery file with open permissions is not used."""
    root.chmod(0o644)
    done = shell("keys", "rotate", "--role", "writer", "--root", root)
    assert done.code == 4
    assert "chmod" in done.err


def test_a_rotation_that_fails_leaves_the_key(
    shell: Any, root: Path, made: Path, home: Path
) -> None:
    """Where the event cannot be written, the old key stays in use."""
    (kept,) = home.glob("ledgers/*/keys/writer.pem")
    before = kept.read_bytes()
    other = root.with_name("other.pem")
    other.write_bytes(PrivateKey.generate().to_pem())
    other.chmod(0o600)
    done = shell("keys", "rotate", "--role", "writer", "--root", other)
    assert done.code == 4
    assert kept.read_bytes() == before
    assert sorted(path.name for path in kept.parent.iterdir()) == [
        "checkpoint.pem",
        "writer.pem",
    ]
    with sqlite3.connect(made) as connection:
        count = connection.execute("SELECT count(*) FROM event").fetchone()
    connection.close()
    assert count == (2,)


def test_export_prints_what_others_read(shell: Any, made: Path) -> None:
    """OpenSSH, PEM, fingerprints and C2SP verifier keys, of the current keys."""
    assert shell("keys", "export").out.count("ssh-ed25519 ") == 3
    pem = shell("keys", "export", "--role", "writer", "--format", "pem").out
    assert pem.startswith("-----BEGIN PUBLIC KEY-----\n")
    vkey = shell("keys", "export", "--role", "checkpoint", "--format", "vkey").out
    assert ".muniment.invalid+" in vkey
    assert made.exists()
