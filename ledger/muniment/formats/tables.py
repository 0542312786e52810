"""The tables of a ledger file, statement by statement.

The file holds evidence only: data derived for convenience is in a separate
``cache.db`` that may be deleted. A ledger file contains exactly the objects below; the
writer creates them, the verifier compares them, and anything else in the file (a
trigger, a view, a column) is refused as planted.

Rules:

- ``event`` is the log. ``payload`` is the signed statement; ``type`` and ``run`` repeat
  those of the payload, for the two indexes; ``key`` is the raw public key of
  the signer; ``hash`` is the RFC 6962 leaf hash. Every column is recomputed by
  ``verify``.
- ``subject`` has one row for each subject of a statement but the event's own data.
- ``blob.data`` is ``salt (32 bytes) || content``, and NULL if the content was erased or
  is in a file of its own beside the database. ``digest`` is the SHA-256 of salt and
  content.
- ``tile`` holds the roots of complete subtrees of 256^level leaves, level ≥ 1.
- ``checkpoint.note`` is a C2SP signed note over the tree of the first ``size`` events.
- Triggers refuse UPDATE and DELETE. They guard against accidents, not against people
  who can edit the file; only an erasure may empty ``blob.data``.

Specification: ``docs/spec/event.md``.
"""

from __future__ import annotations

import hashlib

__all__ = [
    "APPLICATION_ID",
    "BLOB_FILE_THRESHOLD",
    "LAYOUT_VERSION",
    "MIGRATIONS",
    "SCHEMA",
    "blob_directory",
    "migration_checksum",
]

APPLICATION_ID = 0x6D756E69
"""``muni``: what ``file`` and ``PRAGMA application_id`` show."""

LAYOUT_VERSION = 1
"""The ``user_version`` of a file with this layout."""

BLOB_FILE_THRESHOLD = 1024 * 1024
"""Contents above this many bytes are kept in files beside the database."""

_REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"


def _append_only(table: str) -> dict[str, str]:
    return {
        f"{table}_no_update": (
            f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {_REFUSE}"
        ),
        f"{table}_no_delete": (
            f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {_REFUSE}"
        ),
    }


SCHEMA: dict[str, str] = {
    "event": (
        "CREATE TABLE event (seq INTEGER NOT NULL PRIMARY KEY, type TEXT NOT NULL, "
        "run TEXT, payload BLOB NOT NULL, signature BLOB NOT NULL, "
        "key BLOB NOT NULL, hash BLOB NOT NULL)"
    ),
    "event_by_type": "CREATE INDEX event_by_type ON event (type, seq)",
    "event_by_run": (
        "CREATE INDEX event_by_run ON event (run, seq) WHERE run IS NOT NULL"
    ),
    "subject": (
        "CREATE TABLE subject (seq INTEGER NOT NULL, digest BLOB NOT NULL, "
        "PRIMARY KEY (seq, digest)) WITHOUT ROWID"
    ),
    "subject_by_digest": "CREATE INDEX subject_by_digest ON subject (digest, seq)",
    "blob": (
        "CREATE TABLE blob (id INTEGER NOT NULL PRIMARY KEY, digest BLOB NOT NULL, "
        "seq INTEGER NOT NULL, data BLOB)"
    ),
    "blob_by_digest": "CREATE UNIQUE INDEX blob_by_digest ON blob (digest)",
    "tile": (
        "CREATE TABLE tile (level INTEGER NOT NULL, idx INTEGER NOT NULL, "
        "hash BLOB NOT NULL, PRIMARY KEY (level, idx)) WITHOUT ROWID"
    ),
    "checkpoint": (
        "CREATE TABLE checkpoint (size INTEGER NOT NULL PRIMARY KEY, "
        "note BLOB NOT NULL)"
    ),
    **_append_only("event"),
    **_append_only("subject"),
    **_append_only("tile"),
    **_append_only("checkpoint"),
    "blob_only_erased": (
        "CREATE TRIGGER blob_only_erased BEFORE UPDATE ON blob WHEN NEW.data IS NOT "
        f"NULL OR NEW.digest IS NOT OLD.digest OR NEW.seq IS NOT OLD.seq {_REFUSE}"
    ),
    "blob_no_delete": f"CREATE TRIGGER blob_no_delete BEFORE DELETE ON blob {_REFUSE}",
}
"""Name → the exact SQL text that ``sqlite_master`` must show for it."""

MIGRATIONS: tuple[tuple[int, tuple[str, ...]], ...] = ((1, tuple(SCHEMA.values())),)
"""Numbered steps from an empty file to this layout; a published step never changes."""


def migration_checksum(number: int) -> str:
    """Return the SHA-256 (hex) over the statements of migration *number*."""
    statements = dict(MIGRATIONS)[number]
    return hashlib.sha256(";\n".join(statements).encode()).hexdigest()


def blob_directory(database: str) -> str:
    """Return the directory of large blobs that belongs to the file *database*."""
    return f"{database}.blobs"
