"""Connections to the database of a ledger, and its errors in plain words.

Rules:

- A wrong path never creates a database: opening asks SQLite for an existing file.
- Writers use WAL, ``synchronous=FULL``, ``secure_delete``, a busy timeout, and
  ``BEGIN IMMEDIATE``; readers are ``mode=ro`` and never checkpoint. ``immutable=1`` is
  used only if there is no write-ahead log and none can be made.
- ``trusted_schema=OFF``, and the schema text is compared before the file is used:
  planted triggers and views never run.
- No link is followed inside the ledger's folder (`muniment.files.sqlite`).
- A child process opens its own connections: SQLite's locks are not inherited.
- Every error of the database becomes one of ours, with a remedy.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from muniment.errors import MunimentError, StoreError
from muniment.events.readable import Declared, undeclared
from muniment.files.folder import NotAFile, real_place
from muniment.files.sqlite import (
    MOVE_AWAY,
    Journal,
    connect,
    look_at,
    readable_errors,
    size_of,
)
from muniment.storage.schema import compare_schema

__all__ = ["Database", "Driver", "Execute", "Rows", "open_reader", "translated"]


class Rows(Protocol):
    """The rows that a statement returns, one after the other."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> Sequence[Any]:
        """Return all remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


Execute: TypeAlias = Callable[..., Rows]
"""Runs one statement with its parameters."""


class Driver(Protocol):
    """A connection of the database's own driver."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction was begun and not ended."""
        ...

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> Rows:
        """Run one statement."""
        ...

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> Rows:
        """Run one statement for each of *rows*."""
        ...


_READING = ("trusted_schema=OFF", "wal_autocheckpoint=0")
_WRITING = ("trusted_schema=OFF", "synchronous=FULL", "secure_delete=ON")
_IDLE = 4
"""How many reading connections are kept for the next reader."""

# The first match counts. SQLite quotes malformed schemas, which may contain any text.
_FAULTS: tuple[tuple[str, str, str, str], ...] = (
    (
        "malformed",
        "corrupt",
        "the database is corrupt",
        "keep the file as it is and restore a backup; `muniment verify` says more",
    ),
    (
        "locked",
        "locked",
        "the database is locked",
        "another writer holds it; try again",
    ),
    ("busy", "locked", "the database is busy", "another writer holds it; try again"),
    ("full", "full", "the disk is full; nothing was written", "make room, try again"),
    (
        "readonly",
        "read-only",
        "the database cannot be written",
        "check the permissions of the file and its directory, or open it read-only",
    ),
    (
        "unable to open",
        "unreadable",
        "the database cannot be opened",
        "check the path and its permissions",
    ),
    (
        "not a database",
        "not-a-database",
        "the file is not a database",
        "check the path; `muniment verify` says more",
    ),
    ("i/o error", "io", "the disk reported an error", "check the disk"),
    ("append-only", "append-only", "a ledger is append-only", "append a new event"),
)


@contextmanager
def translated(place: str) -> Generator[None]:
    """Turn an error of SQLite into a `StoreError` at *place*.

    An error of ours that names no place gets this one.
    """
    try:
        with readable_errors():
            yield
    except MunimentError as error:
        error.place = error.place or place
        raise
    except Exception as error:
        if not isinstance(error, sqlite3.Error | OverflowError):
            raise
        text = str(error)
        for sign, rule, message, remedy in _FAULTS:
            if sign in text.lower():
                raise StoreError(
                    message, rule=f"store/{rule}", place=place, remedy=remedy
                ) from error
        raise StoreError(
            text, rule="store/database", place=place, remedy="see --debug"
        ) from error


@dataclass(slots=True)
class Database:
    """The file of a ledger, with one writing connection and a pool of readers."""

    path: Path
    readonly: bool
    timeout: float = 60.0
    """Seconds that a statement waits for another writer."""
    declared: Declared = undeclared
    """The types of event that readers of the file know, beside the kernel's."""
    _idle: list[sqlite3.Connection] = field(default_factory=list[sqlite3.Connection])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _generation: int = 0
    _kept: int = _IDLE
    """How many are kept: none once the ledger is closed, but it can still be read."""

    @classmethod
    def open(cls, path: Path, *, readonly: bool, timeout: float = 60.0) -> Database:
        """Open the existing file *path* and compare its schema.

        Raises:
            StoreError: missing, unreadable, not a ledger, or ahead of this version.
            WrongError: the schema was changed (a planted trigger, view or table).

        """
        _require_file(path)
        _require_readable_log(path)
        database = cls(path, readonly, timeout)
        try:
            with database.reading() as driver:
                compare_schema(driver.execute, str(path))
        except BaseException:
            database.dispose()
            raise
        return database

    @contextmanager
    def reading(self) -> Generator[Driver]:
        """Lend a read-only connection."""
        with translated(str(self.path)):
            connection, generation = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection, generation)

    def writing(self) -> Driver:
        """Return a new connection that may write; the caller closes it."""
        return _connect(self.path, self.timeout, "?mode=rw", *_WRITING)

    def dispose(self) -> None:
        """Close every reading connection, now or when it is given back; keep none.

        Called before closing the writing one: only the last connection removes the
        write-ahead log.
        """
        self._kept = 0
        self._close_idle()

    def abandon(self) -> None:
        """In a child process: close the idle connections of the parent.

        A thread of the parent, which is not here to free it, may have held the lock.
        """
        self._lock = threading.Lock()
        self._close_idle()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            self._generation += 1
        for connection in idle:
            connection.close()

    def _take(self) -> tuple[sqlite3.Connection, int]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), self._generation
            generation = self._generation
        return open_reader(self.path, self.timeout), generation

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:
        if connection.in_transaction:
            connection.rollback()
        with self._lock:
            if generation == self._generation and len(self._idle) < self._kept:
                self._idle.append(connection)
                return
        connection.close()


@contextmanager
def filling(path: Path) -> Generator[sqlite3.Connection]:
    """Lend a connection in WAL mode to *path*, a new, empty file that is there.

    It does not sync: the caller syncs the whole file.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=WAL")
        yield connection


def _require_file(path: Path) -> None:
    try:
        look_at(path)
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # no file has a name that long
            raise _missing(path) from None
        raise _unopened(path, error) from None


def _missing(path: Path) -> StoreError:
    return StoreError(
        "there is no such file",
        rule="store/missing",
        place=str(path),
        remedy="check the path, or make a ledger with `muniment init`",
    )


def _unopened(path: Path, error: OSError) -> StoreError:
    place = str(error.filename or path)
    if os.path.isdir(place) and not os.path.islink(place):  # noqa: PTH112, PTH114 - any name
        return StoreError(
            "this is a directory, not a ledger file",
            rule="store/directory",
            place=place,
            remedy="name the ledger.db inside it",
        )
    rule = "store/not-a-file" if isinstance(error, NotAFile) else "store/unreadable"
    remedy = "name the file itself; in the folder of a ledger no link is followed"
    if isinstance(error, Journal):
        rule, remedy = "store/journal", MOVE_AWAY
    return StoreError(
        error.strerror or "it cannot be opened", rule=rule, place=place, remedy=remedy
    )


def _connect(
    path: Path, timeout: float, options: str, *pragmas: str
) -> sqlite3.Connection:
    def at(place: Path) -> sqlite3.Connection:
        return sqlite3.connect(
            place.as_uri() + options,
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    try:
        return connect(real_place(path), at, *pragmas)
    except OSError as error:
        raise _unopened(path, error) from None


def open_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection to *path* that cannot write, and never checkpoints."""
    return _connect(path, timeout, f"?mode=ro{_immutable(path)}", *_READING)


def _immutable(path: Path) -> str:
    """Return the URI parameter for media where SQLite cannot make a ``-shm`` file."""
    if os.access(path.parent, os.W_OK) or _has_log(path):
        return ""
    return "" if Path(f"{path}-shm").exists() else "&immutable=1"


def _has_log(path: Path) -> bool:
    return size_of(Path(f"{path}-wal")) > 0


def _require_readable_log(path: Path) -> None:
    """Refuse a write-ahead log without an index if none can be made."""
    index = Path(f"{path}-shm")
    if not _has_log(path) or index.exists() or os.access(path.parent, os.W_OK):
        return
    raise StoreError(
        "the latest events are in a write-ahead log that cannot be read here",
        rule="store/log",
        place=f"{path}-wal",
        remedy="copy the file and its -wal to a directory that can be written",
    )
