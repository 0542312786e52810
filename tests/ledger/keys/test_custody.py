"""Key events are rehearsed before they are written; nothing bad enters the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment import key_management
from muniment.errors import KeyRefused, UsageError
from muniment.keys.ed25519 import PrivateKey, load_private
from muniment.ledger import Ledger
from muniment.verification.verify import verify


@pytest.fixture
def root(ledger: Ledger) -> PrivateKey:
    """Give the root's key, as `create` left it."""
    return load_private(ledger.home.recovery_directory(ledger.id) / "root.pem")


def test_a_request_proves_possession(ledger: Ledger, root: PrivateKey) -> None:
    """An enrolled key is that of the request, under its roles and name."""
    key = PrivateKey.generate()
    asked = key_management.request(key, ledger.id, ["writer", "approver"], "ci")
    event = key_management.enrol(ledger, asked, root)
    entry = ledger.store.keyring().entries[-1]
    assert (entry.public, entry.roles) == (key.public, ("writer", "approver"))
    assert (entry.name, entry.since) == ("ci", event.seq)


def test_a_proof_for_another_ledger_is_refused(
    ledger: Ledger, root: PrivateKey
) -> None:
    """A request whose possession was proved elsewhere cannot be relabelled."""
    asked = key_management.request(
        PrivateKey.generate(), "sha256:" + "0" * 64, ["writer"]
    )
    with pytest.raises(KeyRefused, match="another ledger"):
        key_management.enrol(ledger, asked, root)
    with pytest.raises(KeyRefused, match="does not prove possession"):
        key_management.enrol(ledger, {**asked, "ledger": ledger.id}, root)
    assert ledger.head.size == 1


def test_no_root_is_requested(ledger: Ledger) -> None:
    """A root is only ever rotated to."""
    with pytest.raises(UsageError, match="never enrolled"):
        key_management.request(PrivateKey.generate(), ledger.id, ["root"])


def test_a_rotation_gives_no_further_role(ledger: Ledger, root: PrivateKey) -> None:
    """The successor of a writer is a writer, no checkpoint key."""
    old = key_management.find_key(ledger.store.keyring(), "writer")
    asked = key_management.request(PrivateKey.generate(), ledger.id, ["checkpoint"])
    with pytest.raises(KeyRefused, match="role that the old key has not"):
        key_management.rotate(ledger, old, asked, root)
    assert ledger.head.size == 1


def test_a_root_rotation_that_is_refused_leaves_no_key(
    ledger: Ledger, root: PrivateKey, tmp_path: Path
) -> None:
    """No next root is left on disk where the rotation was not written."""
    with pytest.raises(KeyRefused, match="next root"):
        key_management.rotate_root(ledger, root, tmp_path / "next.pem")
    assert not (tmp_path / "next.pem").exists()


def test_every_root_that_ever_was_vouches(
    ledger: Ledger, root: PrivateKey, tmp_path: Path
) -> None:
    """Whoever pins the root of today trusts the whole history, as of the first root."""
    following = ledger.home.recovery_directory(ledger.id) / "next-root.pem"
    successor = load_private(following)
    key_management.rotate_root(ledger, successor, tmp_path / "next.pem")
    ledger.append("note.added", {"text": "after"})
    ledger.checkpoint()
    ledger.close()
    for key in (root, successor):
        report = verify(ledger.path, keys=[key.public], home=tmp_path / "auditor")
        assert (report.authenticity, report.exit_code) == ("pinned", 0)
    stranger = PrivateKey.generate().public
    assert verify(ledger.path, keys=[stranger]).authenticity == "wrong"


def test_a_crash_between_key_and_event_keeps_the_old_key(ledger: Ledger) -> None:
    """What happens inside `install` decides: the key changes only when it succeeds."""
    directory = ledger.home.keys_directory(ledger.id)
    before = (directory / "writer.pem").read_bytes()
    new = PrivateKey.generate()
    with pytest.raises(RuntimeError, match="1 key waits"):
        cut_off(ledger, new)
    assert (directory / "writer.pem").read_bytes() == before
    assert not list(directory.glob("writer.*.new"))


def cut_off(ledger: Ledger, new: PrivateKey) -> None:
    """Stop where the event would be written; say what lies on disk by then."""
    with key_management.install(ledger.home, ledger.id, "writer", new) as path:
        waiting = list(path.parent.glob("writer.*.new"))
        raise RuntimeError(f"{len(waiting)} key waits")


def test_a_retired_checkpoint_key_signs_nothing(
    ledger: Ledger, root: PrivateKey
) -> None:
    """Once the key here is revoked no checkpoint is made, and the log verifies."""
    ledger.checkpoint()
    old = key_management.find_key(ledger.store.keyring(), "checkpoint")
    key_management.revoke(ledger, old, "retired", root)
    ledger.append("note.added", {"text": "after"})
    ledger.checkpoint()
    assert ledger.store.last_checkpoint()[0] == 1
    ledger.close()
    assert verify(ledger.path).exit_code == 0


def test_an_ambiguous_key_is_refused(ledger: Ledger) -> None:
    """A prefix of several keys, or of none, names nobody."""
    keyring = ledger.store.keyring()
    for text in ("", "SHA256:", "nobody"):
        with pytest.raises(UsageError, match="key"):
            key_management.find_key(keyring, text)
    whole = keyring.entries[1].keyid
    assert key_management.find_key(keyring, whole[:20]).keyid == whole
