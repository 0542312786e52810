"""One consistent view of a ledger file, once it is known to be one.

    file:/home/ada/work/.muniment/ledger.db?mode=ro

Rules:

- Only this module finds and opens the file: with the standard library's driver,
  read-only, and no writer's code. ``trusted_schema`` is off; page cells are checked.
- No link is followed inside the ledger's folder (`muniment.files.sqlite`).
- ``immutable=1`` only if nobody could write: nothing is in a ``-wal``, and neither the
  file nor its directory is writable. Otherwise a writer may be at work, and WAL keeps
  reading and writing apart.
- ``sqlite_master`` is compared with `muniment.formats.tables.SCHEMA` before any table
  is read. Any other object is planted.
- No value larger than any honest one is returned: SQLite refuses to read it.
- A file that cannot be read is *cannot tell*, in one line; only a readable file that
  contradicts itself is *wrong*.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from muniment.errors import CannotTellError, StoreError
from muniment.files.folder import Folder, NotAFile, real_place
from muniment.files.sqlite import (
    MOVE_AWAY,
    Journal,
    connect,
    objects,
    readable_errors,
    size_of,
)
from muniment.formats.tables import (
    APPLICATION_ID,
    BLOB_FILE_THRESHOLD,
    LAYOUT_VERSION,
    SCHEMA,
    blob_directory,
)
from muniment.verification.report import Findings

__all__ = ["LARGEST", "MAX_PAYLOAD", "Snapshot", "open_snapshot"]

MAX_PAYLOAD = 64 * 1024
"""No payload has more bytes."""

LARGEST = BLOB_FILE_THRESHOLD + 4096
"""No row has a value of more bytes: larger contents are in files."""

_SECONDS_TO_WAIT = 30.0
_ON = re.compile(r" ON (\w+)")
_CONTENT = ("NULL value in ", "TEXT value in ", "NUMERIC value in ")
_INDEX = ("row ", "wrong # of entries in index", "non-unique entry in index")
_BACKUP = "restore it from a backup, and verify that"
_FOREIGN = "find out who put it there; SQLite keeps its own files by this name"


class Snapshot:
    """A read transaction on a ledger file."""

    __slots__ = ("blobs", "connection", "path", "refused")

    def __init__(
        self, path: Path, connection: sqlite3.Connection, blobs: Folder | str
    ) -> None:
        self.path = path
        self.connection = connection
        self.blobs = blobs if isinstance(blobs, Folder) else None
        """The folder of the contents in files, if there is one."""
        self.refused = "" if isinstance(blobs, Folder) else blobs
        """What is there instead of a folder."""

    def value(self, sql: str, *arguments: object) -> object:
        """Return the first column of the first row of *sql*, or ``None``."""
        row = self.connection.execute(sql, arguments).fetchone()
        return row[0] if row else None

    def count(self, table: str) -> int:
        """Return the number of rows of *table*."""
        number = self.value(f"SELECT count(*) FROM {table}")  # noqa: S608 - our names
        return number if isinstance(number, int) else 0

    def payload(self, seq: int) -> bytes | None:
        """Return the payload of the row *seq*, if it has one of a possible size."""
        found = self.value(
            "SELECT CASE WHEN typeof(payload) = 'blob' AND length(payload) <= ? "
            "THEN payload END FROM event WHERE seq = ?",
            MAX_PAYLOAD,
            seq,
        )
        return found if isinstance(found, bytes) else None

    def holds(self, digest: bytes) -> bool:
        """Tell whether there are bytes under a commitment, right or wrong."""
        held = "SELECT 1 FROM blob WHERE digest = ? AND data IS NOT NULL"
        if self.value(held, digest) is not None:
            return True
        return self.blobs is not None and bool(self.blobs.kind(digest.hex()))

    def ledger_id(self) -> str | None:
        """Return the id that the genesis row gives this file, unchecked."""
        try:
            payload = self.payload(0)
        except sqlite3.OperationalError:
            return None
        if payload is None:
            return None
        return "sha256:" + hashlib.sha256(payload).hexdigest()

    def renew(self, ledger: str | None, findings: Findings) -> bool:
        """Begin a read transaction that sees the present, and check the file again.

        Somebody may have planted something meanwhile, or replaced *ledger* by another.
        Tells whether the tables can be read.
        """
        self.connection.execute("COMMIT")
        self.begin()
        again = Findings()
        readable = self.check_schema(again)
        findings.take(again)
        if readable and self.ledger_id() != ledger:
            what = "another ledger took its place while this one was verified"
            findings.add("foreign", "ledger/foreign", what, place=str(self.path))
        return readable

    def begin(self) -> None:
        """Begin the read transaction; from here on the view does not change."""
        self.connection.execute("BEGIN")
        self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def check_schema(self, findings: Findings) -> bool:
        """Compare every object of the file; tell whether its tables can be read."""
        found = {
            name: (kind, table, sql)
            for kind, name, table, sql in objects(self.connection.execute)
            if not (sql is None and name.startswith("sqlite_autoindex_"))
        }
        if "event" not in found:
            raise self._not_a_ledger()
        self._check_header(findings)
        for name in sorted(found.keys() - SCHEMA.keys()):
            what = f"a planted {found[name][0]} {name!r}"
            _schema(findings, "schema/object", what, name)
        for name, sql in SCHEMA.items():
            kind = sql.split()[1].lower().replace("unique", "index")
            on = _ON.search(sql)
            table = name if kind == "table" or on is None else on[1]
            if name not in found:
                _schema(findings, "schema/object", f"the {kind} is gone", name)
            elif found[name] != (kind, table, sql):
                _schema(findings, "schema/object", f"the {kind} was altered", name)
        return self._has_all_columns()

    def _has_all_columns(self) -> bool:
        try:
            self.connection.execute(
                "SELECT event.seq, type, run, payload, signature, key, event.hash, "
                "subject.seq, subject.digest, blob.id, blob.digest, blob.seq, data, "
                "level, idx, tile.hash, size, note "
                "FROM event, subject, blob, tile, checkpoint LIMIT 0"
            )
        except sqlite3.OperationalError:
            return False
        return True

    def _check_header(self, findings: Findings) -> None:
        application = self.value("PRAGMA application_id")
        if application != APPLICATION_ID:
            what = f"the application id is {application}, not {APPLICATION_ID}"
            _schema(findings, "schema/application-id", what, "header")
        version = self.value("PRAGMA user_version")
        if version != LAYOUT_VERSION:
            raise CannotTellError(
                f"the file has layout {version}, this is muniment's {LAYOUT_VERSION}",
                rule="schema/version",
                place=str(self.path),
                remedy="verify it with the muniment that wrote it",
            )

    def check_pages(self, findings: Findings) -> None:
        """Let SQLite check its pages, and its indexes against its tables."""
        try:
            found = self.connection.execute("PRAGMA integrity_check(20)").fetchall()
        except sqlite3.DataError:
            what = f"a row has a value of more than {LARGEST} bytes"
            findings.add("edited", "file/size", what, place=str(self.path))
            return
        for (line,) in found:
            message = str(line)
            if message == "ok" or message.startswith(_CONTENT):
                continue  # the event pass finds such a value and names its row
            if message.startswith(_INDEX):
                what = f"an index and its table differ: {message}"
                findings.add("edited", "file/index", what, place=str(self.path))
                continue
            raise self._corrupt(message)

    def _corrupt(self, message: str) -> StoreError:
        return StoreError(
            f"the file is corrupt ({message.splitlines()[-1]})",
            rule="file/corrupt",
            place=str(self.path),
            remedy=_BACKUP,
        )

    def _not_a_ledger(self) -> StoreError:
        return StoreError(
            "this is not a muniment ledger",
            rule="file/not-a-ledger",
            place=str(self.path),
            remedy="name the ledger's own file",
        )


@contextmanager
def open_snapshot(path: Path, blobs: Path | None = None) -> Generator[Snapshot]:
    """Open *path* read-only, and close it whatever happens.

    Its large contents are in *blobs*, else beside it.

    Raises:
        StoreError: the file is missing, unreadable, locked, corrupt or encrypted, even
            if that shows only during reading.

    """
    with ExitStack() as stack:
        try:
            with readable_errors():
                yield _opened(path, blobs, stack)
        except FileNotFoundError:
            raise _missing(path, "there is no such file") from None
        except NotAFile as error:
            raise _no_file(path, error) from None
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreError(
                f"the file cannot be read ({error})",
                rule="file/unreadable",
                place=str(path),
                remedy=_BACKUP,
            ) from None


def _opened(path: Path, blobs: Path | None, stack: ExitStack) -> Snapshot:
    connection = _connected(path)
    stack.callback(connection.close)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON"):
        connection.execute(f"PRAGMA {pragma}")
    snapshot = Snapshot(path, connection, _blobs(path, blobs, stack))
    snapshot.begin()
    return snapshot


def _blobs(path: Path, elsewhere: Path | None, stack: ExitStack) -> Folder | str:
    """Open the folder of contents; say what is there instead, "" for nothing."""
    folder = stack.enter_context(Folder.at(path.parent))
    try:
        if elsewhere is not None:
            return stack.enter_context(Folder.at(elsewhere))
        return stack.enter_context(folder.inside(blob_directory(path.name)))
    except FileNotFoundError:
        return ""
    except NotAFile as error:
        return str(error.strerror)


def _connected(path: Path) -> sqlite3.Connection:
    def at(place: Path) -> sqlite3.Connection:
        return sqlite3.connect(
            _uri(place), uri=True, isolation_level=None, timeout=_SECONDS_TO_WAIT
        )

    return connect(real_place(path), at)


def _missing(path: Path, what: str) -> StoreError:
    return StoreError(
        what, rule="file/missing", place=str(path), remedy="name the ledger's own file"
    )


def _no_file(path: Path, error: NotAFile) -> StoreError:
    """Say what is in place of the file *path*, or beside it."""
    place = Path(error.filename or path)
    if place.name == path.name:
        return _missing(path, f"{error.strerror}; no link is followed here")
    return StoreError(
        error.strerror or "it is not a file",
        rule="file/sibling",
        place=str(place),
        remedy=MOVE_AWAY if isinstance(error, Journal) else _FOREIGN,
    )


def _uri(path: Path) -> str:
    absolute = path.absolute()
    uri = absolute.as_uri() + "?mode=ro"
    wal = absolute.with_name(absolute.name + "-wal")
    writable = os.access(absolute, os.W_OK) or os.access(absolute.parent, os.W_OK)
    shm = absolute.with_name(absolute.name + "-shm")
    used = shm.exists() or size_of(wal) > 0
    return uri if used or writable else uri + "&immutable=1"


def _schema(findings: Findings, rule: str, what: str, name: str) -> None:
    findings.add("schema", rule, what, place=name, remedy="trust no answer of queries")
