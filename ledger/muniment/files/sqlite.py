"""Opening an SQLite file safely: it and its siblings are regular files, not links.

    /srv/lab/.muniment/ledger.db          a regular file, and so are its siblings:
    /srv/lab/.muniment/ledger.db-wal -shm -journal

Rules:

- SQLite opens by path and follows links to the database. So the file and its siblings
  are checked before it opens them, and afterwards, with everything open, the same file
  must be there, under the path that SQLite says it has opened.
- A ledger uses a write-ahead log and never has a rollback journal. SQLite would change
  the ledger by a planted one, and delete the file that its end names: it is refused
  before SQLite sees it. SQLite ignores a journal that begins with a zero, and so do we.
- Its texts are in UTF-8. In another encoding SQLite spells its own path differently.
- SQLite quotes the file in its errors, byte by byte; Python's module cannot decode such
  an error if the bytes are not UTF-8. `readable_errors` raises one that can be read.
- SQLite itself (3.32 and later) opens siblings without following links.

What remains: if somebody who can write to the folder changes a name to a link and back
between two system calls of SQLite, nothing notices.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from muniment.files.folder import Folder, NotAFile

__all__ = [
    "MOVE_AWAY",
    "SIBLINGS",
    "Journal",
    "connect",
    "look_at",
    "objects",
    "readable_errors",
    "size_of",
]

SIBLINGS = ("-wal", "-shm", "-journal")

MOVE_AWAY = "find out who put it there, move it away, and `muniment verify`"
"""The remedy for a journal."""
_JOURNAL = "-journal"

_OBJECTS = (
    "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), "
    "CAST(sql AS BLOB) FROM sqlite_master"
)
_OPENED = "SELECT CAST(file AS BLOB) FROM pragma_database_list WHERE name = 'main'"


class Journal(NotAFile):
    """A rollback journal is beside a file that never has one."""


def look_at(path: Path) -> os.stat_result:
    """Return the status of the file *path*, which SQLite may open.

    Raises:
        FileNotFoundError: there is none.
        NotAFile: something else is there, or in the place of a sibling.
        Journal: a rollback journal is there.

    """
    with Folder.at(path.parent) as folder:
        found = folder.regular(path.name)
        for suffix in SIBLINGS:
            with suppress(FileNotFoundError):
                folder.regular(path.name + suffix)
        with suppress(FileNotFoundError):
            _require_idle(folder, path.name + _JOURNAL)
    return found


def _require_idle(folder: Folder, name: str) -> None:
    try:
        with folder.opened(name) as file:
            first = file.read(1)
    except PermissionError:
        first = b"?"  # SQLite cannot read it either
    if first.strip(b"\0"):
        what = (
            "a rollback journal lies here, which no ledger has: SQLite would change the "
            "ledger by it, and delete a file that it may name"
        )
        raise Journal(errno.EEXIST, what, str(folder.path / name))


def size_of(path: Path) -> int:
    """Return the size of a sibling, 0 if there is none: its last user deletes it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def readable_errors() -> Generator[None]:
    """Raise an error of SQLite that cannot be decoded as a `sqlite3.DatabaseError`."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError(_readable(error.object)) from error


def objects(execute: Callable[[str], Any]) -> list[tuple[str, str, str, str | None]]:
    """Return type, name, table and SQL text of each object in the schema."""
    return [
        (_readable(kind), _readable(name), _readable(table), sql and _readable(sql))
        for kind, name, table, sql in execute(_OBJECTS)
    ]


def _readable(stored: bytes | None) -> str:
    """Return the stored bytes as text, with escapes for what is not UTF-8."""
    return (stored or b"").decode("utf-8", "backslashreplace")


def connect(
    path: Path, open_path: Callable[[Path], sqlite3.Connection], *pragmas: str
) -> sqlite3.Connection:
    """Return the connection that *open_path* makes to the file *path*.

    A failure once it is made closes it.

    Args:
        path: as `muniment.files.folder.real_place` returns it.
        open_path: connects, and changes nothing.
        pragmas: the settings of the connection.

    Raises:
        FileNotFoundError: there is no such file.
        NotAFile: something else is there, or was while it was opened.
        Journal: a rollback journal is beside it.
        sqlite3.Error: SQLite cannot open it.

    """
    before = look_at(path)
    connection = open_path(path)
    try:
        with readable_errors():
            connection.execute("PRAGMA schema_version").fetchone()  # the siblings, too
            _require_utf8(connection)
            opened = connection.execute(_OPENED).fetchone()[0]
            _require_same(path, before, opened)
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _require_utf8(connection: sqlite3.Connection) -> None:
    encoding = connection.execute("PRAGMA encoding").fetchone()[0]
    if encoding != "UTF-8":
        what = f"its texts are in {encoding}; those of a ledger are in UTF-8"
        raise sqlite3.DatabaseError(what)


def _require_same(path: Path, before: os.stat_result, opened: bytes) -> None:
    same = os.path.normcase(os.fsdecode(opened)) == os.path.normcase(path)
    if not (same and os.path.samestat(before, look_at(path))):
        raise NotAFile(errno.EAGAIN, "it was replaced just now", str(path))
