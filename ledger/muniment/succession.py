"""A ledger that goes on from an older one: what its genesis says of it.

    "continues": {"ledger": "sha256:<id of the old one>",
                  "checkpoint": "<its last signed tree head>",
                  "reason": "restored from the backup of Friday"}

Rules:

- One mechanism for a restore, lost keys, a change of format and retention: the old
  ledger stays as it is, the new one quotes it.
- What is quoted is the largest checkpoint that is known: of the file, where its keys
  signed it, or of the trust home, where the file is gone or behind.
"""

from __future__ import annotations

from pathlib import Path

from muniment.canonical import JsonValue
from muniment.checkpoint import Checkpoint, Note, origin, read_checkpoint
from muniment.database import Database, sqlite_path
from muniment.errors import CannotTellError, MunimentError, UsageError
from muniment.reading import ledger_id_of
from muniment.store import Store
from muniment.trust import TrustHome

__all__ = ["predecessor"]


def predecessor(old: str, reason: str, home: TrustHome) -> dict[str, JsonValue]:
    """Return what the genesis of a successor of *old* says.

    Args:
        old: the path of the old ledger, or its id where only that is left.
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
    ledger, note = _known(old, home)
    notes = [] if note is None else [note]
    notes += home.anchors(ledger)
    if not notes:
        raise CannotTellError(
            "no checkpoint of the old ledger is known",
            rule="continues/no-checkpoint",
            place=old,
            remedy="sign one with `muniment --ledger OLD checkpoint`",
        )
    newest = max(notes, key=_size)
    return {"checkpoint": newest.decode(), "ledger": ledger, "reason": reason}


def _known(old: str, home: TrustHome) -> tuple[str, bytes | None]:
    """Return the id of *old*, and the last checkpoint of its file, if it has one."""
    if old.startswith("sha256:"):
        return old, None
    path = sqlite_path(old)
    try:
        return _read(path)
    except MunimentError:
        # Gone or damaged: what a successor is for. The trust home may know it still.
        ledger = home.ledger_at(str(path))
        if ledger is None:
            raise
        return ledger, None


def _read(path: Path) -> tuple[str, bytes | None]:
    database = Database.open(path, readonly=True)
    try:
        ledger = ledger_id_of(database)
        store = Store(database, ledger, None)
        size, note = store.last_checkpoint()
        if note is not None:
            keys = store.keyring().checkpoint_keys_at(size)
            read_checkpoint(note, origin(ledger), keys)
        return ledger, note
    finally:
        database.dispose()


def _size(note: bytes) -> int:
    return Checkpoint.parse(Note.parse(note).text).size
