"""A ledger that continues an older one, and what its genesis says about it.

    "continues": {"ledger": "sha256:<id of the old one>",
                  "checkpoint": "<its last signed tree head>",
                  "reason": "restored from the backup of Friday"}

Rules:

- One mechanism for a restore, lost keys, a change of format and retention: the old
  ledger stays as it is, the new one quotes it.
- It quotes the largest known checkpoint: from the file, or from the trust home if the
  file is gone or behind.
- A checkpoint counts only if it is signed by a checkpoint key of the old ledger that
  held the role at its size. The old file says which keys those are; if it is gone, or
  ends before that size, the checkpoint key that this trust home keeps for it counts.
"""

from __future__ import annotations

from pathlib import Path

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, MunimentError, UsageError, WrongError
from muniment.formats.checkpoint import (
    Checkpoint,
    Note,
    origin,
    read_checkpoint,
    read_vouched,
)
from muniment.keys.ed25519 import PublicKey, load_private
from muniment.keys.keyring import Keyring
from muniment.places import sqlite_path
from muniment.storage.append import Store
from muniment.storage.connections import Database
from muniment.storage.lookup import ledger_id_of
from muniment.trust.home import TrustHome

__all__ = ["predecessor"]


def predecessor(old: str, reason: str, home: TrustHome) -> dict[str, JsonValue]:
    """Return the member ``continues`` for the genesis of a successor of *old*.

    Args:
        old: the path of the old ledger, or its id if only that is left.
        reason: why there is a successor.
        home: the trust home that remembers the old ledger's checkpoints.

    Raises:
        UsageError: there is no reason.
        CannotTellError: nothing is known of *old*, or it has no checkpoint.

    """
    if not reason.strip():
        raise UsageError(
            "a successor says why it is one",
            rule="continues/reason",
            remedy="add --reason TEXT",
        )
    ledger, note, keyring = _known(old, home)
    own = _own_key(home, ledger)
    notes = [] if note is None else [note]
    notes += [one for one in home.anchors(ledger) if _counts(one, ledger, keyring, own)]
    if not notes:
        raise CannotTellError(
            "no checkpoint of the old ledger is known that one of its keys signed",
            rule="continues/no-checkpoint",
            place=old,
            remedy="sign one with `muniment --ledger OLD checkpoint`",
        )
    newest = max(notes, key=_size)
    return {"checkpoint": newest.decode(), "ledger": ledger, "reason": reason}


def _counts(
    note: bytes, ledger: str, keyring: Keyring | None, own: PublicKey | None
) -> bool:
    """Tell whether the trust home's *note* is by the old ledger."""
    try:
        if keyring is not None:
            read_vouched(note, origin(ledger), keyring)
            return True
    except WrongError as error:
        if error.rule != "checkpoint/unsigned":
            return False
    if own is None:
        return False
    try:
        read_checkpoint(note, origin(ledger), [own])
    except WrongError:
        return False
    return True


def _own_key(home: TrustHome, ledger: str) -> PublicKey | None:
    """Return the checkpoint key that *home* keeps for the ledger."""
    path = home.keys_directory(ledger) / "checkpoint.pem"
    return load_private(path).public if path.exists() else None


def _known(old: str, home: TrustHome) -> tuple[str, bytes | None, Keyring | None]:
    """Return the id of *old*, the last checkpoint of its file, and its keys."""
    if old.startswith("sha256:"):
        return old, None, None
    path = sqlite_path(old)
    try:
        return _read(path)
    except MunimentError:
        # Gone or damaged: the reason for a successor. The trust home may still know it.
        ledger = home.ledger_at(str(path))
        if ledger is None:
            raise
        return ledger, None, None


def _read(path: Path) -> tuple[str, bytes | None, Keyring]:
    database = Database.open(path, readonly=True)
    try:
        ledger = ledger_id_of(database)
        store = Store(database, ledger, None)
        keyring = store.keyring()
        note = store.last_checkpoint()[1]
        if note is not None:
            read_vouched(note, origin(ledger), keyring)
        return ledger, note, keyring
    finally:
        database.dispose()


def _size(note: bytes) -> int:
    return Checkpoint.parse(Note.parse(note).text).size
