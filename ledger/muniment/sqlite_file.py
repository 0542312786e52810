"""Opening an SQLite file that nobody put a link, or anything else, in the place of.

    /srv/lab/.muniment/ledger.db          a regular file, and so are its siblings:
    /srv/lab/.muniment/ledger.db-wal -shm -journal

Rules:

- SQLite opens by path and follows links to the database. So the kinds of the file and
  its siblings are looked at before it opens, and afterwards, with everything open, the
  same file must stand there, under the path that SQLite says it has opened.
- A ledger writes ahead, and never has a rollback journal. By one that somebody put there
  SQLite would change the ledger, and delete the file that its end names: it is refused
  before SQLite sees it. One that begins with a zero says nothing, to SQLite either.
- Its texts are in UTF-8. In another encoding SQLite says its own path otherwise, too.
- Siblings are opened without following links by SQLite itself (3.32 and later).

What remains: whoever can write to the folder, and changes a name to a link and back
between two system calls of SQLite, is not noticed.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muniment.folder import Folder, NotAFile

__all__ = ["MOVE_AWAY", "SIBLINGS", "Journal", "connect", "look_at", "set_up"]

SIBLINGS = ("-wal", "-shm", "-journal")

MOVE_AWAY = "find out who put it there, move it away, and `muniment verify`"
"""What is to be done with a journal."""
_JOURNAL = "-journal"

_OPENED = "SELECT CAST(file AS BLOB) FROM pragma_database_list WHERE name = 'main'"


class Journal(NotAFile):
    """A rollback journal lies beside a file that never has one."""


def set_up(connection: sqlite3.Connection, *pragmas: str) -> sqlite3.Connection:
    """Return *connection* with these settings; it is closed where one cannot be made.

    The first of them reads the file, and may find that it is no database.
    """
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def look_at(path: Path) -> os.stat_result:
    """Return what is known of the file *path*, which SQLite may open.

    Raises:
        FileNotFoundError: there is none.
        NotAFile: something else is there, or in the place of a sibling.
        Journal: a rollback journal is.

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
        first = b"?"  # nor can SQLite tell
    if first.strip(b"\0"):
        what = (
            "a rollback journal lies here, which no ledger has: SQLite would change the "
            "ledger by it, and delete a file that it may name"
        )
        raise Journal(errno.EEXIST, what, str(folder.path / name))


def connect(
    path: Path, open_path: Callable[[Path], sqlite3.Connection]
) -> sqlite3.Connection:
    """Return the connection that *open_path* makes to the file *path*.

    Args:
        path: as `muniment.folder.real_place` returns it.
        open_path: connects, and changes nothing.

    Raises:
        FileNotFoundError: there is no such file.
        NotAFile: something else is there, or was while it was opened.
        Journal: a rollback journal is beside it.
        sqlite3.Error: SQLite cannot open it.

    """
    before = look_at(path)
    connection = open_path(path)
    try:
        connection.execute("PRAGMA schema_version").fetchone()  # the siblings, too
        _require_utf8(connection)
        _require_same(path, before, connection.execute(_OPENED).fetchone()[0])
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
