"""The states of projections, in a file that may be missing, poisoned or a stranger's.

    cache.db    projection (ledger, name, version, run, size, head, state)
                state = HMAC-SHA-256(secret, the other columns and JSON) || JSON

Rules:

- The file is believed only under a secret of the trust home: somebody who can write the
  file, but not read that home, changes no answer. Without a secret nothing is
  remembered, and each question folds again.
- The file is ours if it is a regular file with one name and our application id (or the
  one table of the first edition), or empty. Anything else is neither read by SQLite,
  nor written, nor deleted: it costs time, never an answer.
- It has no journal. SQLite rolls back any journal beside a file, and deletes the file
  that the end of the journal names, wherever it is: a planted one is removed unread, or
  the cache is not opened.
- It may be deleted at any time; a power cut may damage it.
"""

from __future__ import annotations

import errno
import hmac
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar, Protocol, cast

from muniment.files.folder import Folder, NotAFile
from muniment.files.sqlite import SIBLINGS, connect

__all__ = ["Cache", "Folded", "cache_path"]

APPLICATION_ID = 0x6D756E63
"""``munc``, at offset 68 of the file."""

_JOURNAL = "-journal"
_CHECK = 32
_HEADER = 72
_MAGIC = b"SQLite format 3\0"
_CREATE = (
    "CREATE TABLE IF NOT EXISTS projection (ledger TEXT, name TEXT, "
    "version INTEGER, run TEXT, size INTEGER, head TEXT, state BLOB, "
    "PRIMARY KEY (ledger, name, version, run)) WITHOUT ROWID"
)
_SCHEMA = [("projection", _CREATE.replace("IF NOT EXISTS ", ""))]


def cache_path(ledger: Path) -> Path:
    """Return the path of the cache of the ledger file *ledger*."""
    return ledger.with_name("cache.db")


class Folded(Protocol):
    """What is remembered: a projection, of which the name and the version count."""

    name: ClassVar[str]
    version: ClassVar[int]


class Cache:
    """Remembered states of the ledger *ledger_id*, under *secret*."""

    def __init__(self, path: Path, ledger_id: str, secret: bytes | None) -> None:
        """Open nothing yet."""
        self._path = path
        self._ledger = ledger_id
        self._secret = secret

    def load(self, projection: Folded, run: str) -> tuple[int, str, bytes]:
        """Return size, head hash and state bytes; ``(0, "", b"")`` for nothing."""
        nothing = (0, "", b"")
        found = self._find(projection, run)
        if found is None:
            return nothing
        size, head, stored = found
        state = stored[_CHECK:]
        check = self._check(projection, run, size, head, state)
        if check is None or not hmac.compare_digest(check, stored[:_CHECK]):
            return nothing
        return size, head, state

    def save(
        self,
        projection: Folded,
        run: str,
        size: int,
        head: str,
        state: bytes,
    ) -> None:
        """Remember *state* as that after *size* events, the last with hash *head*."""
        check = self._check(projection, run, size, head, state)
        if check is None:
            return
        names = (self._ledger, projection.name, projection.version, run)
        try:
            self._make()
            with closing(self._connect()) as connection, connection:
                connection.execute(_CREATE)
                _mark(connection)
                connection.execute(
                    "INSERT OR REPLACE INTO projection VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*names, size, head, check + state),
                )
        except (OSError, sqlite3.OperationalError):
            return  # a cache that cannot be written costs time, never an answer
        except sqlite3.DatabaseError:
            self.clear()  # it is damaged: the next one is fresh

    def clear(self) -> bool:
        """Delete the file if it is ours; tell whether there is none any more."""
        try:
            with Folder.at(self._path.parent) as folder:
                if folder.kind(self._path.name) and not self._ours(folder):
                    return False
                for suffix in ("", *SIBLINGS):
                    folder.remove(self._path.name + suffix)
        except OSError:  # read-only media
            return False
        return True

    def _find(self, projection: Folded, run: str) -> tuple[int, str, bytes] | None:
        if self._secret is None:
            return None
        try:
            with closing(self._connect()) as connection:
                row = connection.execute(
                    "SELECT size, head, state FROM projection WHERE ledger = ? "
                    "AND name = ? AND version = ? AND run = ?",
                    (self._ledger, projection.name, projection.version, run),
                ).fetchone()
        except (OSError, sqlite3.Error):
            return None  # an unreadable cache is an empty cache
        whole = row is not None and type(row[2]) is bytes
        return cast("tuple[int, str, bytes]", row) if whole else None

    def _check(
        self,
        projection: Folded,
        run: str,
        size: int,
        head: str,
        state: bytes,
    ) -> bytes | None:
        """Return the HMAC that comes before a state."""
        if self._secret is None:
            return None
        names = (self._ledger, projection.name, projection.version, run, size, head)
        return hmac.digest(self._secret, repr(names).encode() + b"\0" + state, "sha256")

    def _make(self) -> None:
        """Make the file if there is none, readable by no more users than the ledger."""
        with Folder.at(self._path.parent) as folder, suppress(FileExistsError):
            folder.create(self._path.name, [], sync=False)

    def _connect(self) -> sqlite3.Connection:
        with Folder.at(self._path.parent) as folder:
            if not self._ours(folder):
                raise NotAFile(errno.EEXIST, "it is not a cache of ours", self._path)
            if folder.kind(self._path.name + _JOURNAL) == "a file":
                folder.remove(self._path.name + _JOURNAL)
        return connect(
            self._path,
            lambda place: sqlite3.connect(place, timeout=1),
            "trusted_schema=OFF",
            "synchronous=OFF",  # a power cut may damage it: every state has a check
            "journal_mode=MEMORY",
        )

    def _ours(self, folder: Folder) -> bool:
        with folder.opened(self._path.name) as file:
            found, header = os.fstat(file.fileno()), file.read(_HEADER)
        if found.st_nlink != 1:
            return False  # it has another name, which is somebody's
        if not header or header[68:] == APPLICATION_ID.to_bytes(4, "big"):
            return True
        return header.startswith(_MAGIC) and self._is_first_edition()

    def _is_first_edition(self) -> bool:
        uri = f"{self._path.as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                found = connection.execute("SELECT name, sql FROM sqlite_master")
                return found.fetchall() == _SCHEMA
        except sqlite3.Error:
            return False


def _mark(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
