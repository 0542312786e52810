"""Connections to the database of a ledger, and its faults in plain words.

Rules:

- A wrong path never creates a database: opening asks SQLite for an existing file.
- Writers use WAL, ``synchronous=FULL``, ``secure_delete``, a busy timeout, and
  ``BEGIN IMMEDIATE``; readers are ``mode=ro`` and never checkpoint. ``immutable=1`` is
  asked for only where no write-ahead log exists and none can be made.
- ``trusted_schema=OFF``, and the schema text is compared before the file is used:
  triggers and views that somebody planted never run.
- No link is followed inside the ledger's folder (`muniment.sqlite_file`).
- A child process begins with connections of its own: SQLite's locks are not inherited.
- SQLAlchemy is loaded for audit queries alone, which go through `Database.querying`.
- Every fault of the database is one of ours, with a remedy.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from muniment.errors import MunimentError, StoreError, UsageError, WrongError
from muniment.folder import NotAFile, real_place
from muniment.layout import APPLICATION_ID, LAYOUT_VERSION, SCHEMA
from muniment.sqlite_file import MOVE_AWAY, Journal, connect, look_at, set_up

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Database", "Driver", "Execute", "Rows", "sqlite_path", "translated"]


class Rows(Protocol):
    """What a statement gives: rows, one after the other."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> Sequence[Any]:
        """Return all rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


Execute: TypeAlias = Callable[..., Rows]
"""Runs one statement with its parameters."""


class Driver(Protocol):
    """A connection of the database's own driver; SQLAlchemy's costs 12 µs a call."""

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


_IDLE = 4
"""How many reading connections are kept for the next reader."""

_FAULTS: tuple[tuple[str, str, str, str], ...] = (
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
    (
        "malformed",
        "corrupt",
        "the database is corrupt",
        "keep the file as it is and restore a backup; `muniment verify` says more",
    ),
    ("i/o error", "io", "the disk reported an error", "check the disk"),
    ("append-only", "append-only", "a ledger is append-only", "append a new event"),
)


@contextmanager
def translated(place: str) -> Generator[None]:
    """Turn a fault of SQLite or SQLAlchemy into a `StoreError` at *place*.

    An error of ours that names no place gets this one.
    """
    try:
        yield
    except MunimentError as error:
        error.place = error.place or place
        raise
    except Exception as error:
        # SQLAlchemy keeps the driver's own error in `orig`.
        fault = getattr(error, "orig", None) or error
        if not isinstance(fault, sqlite3.Error | OverflowError):
            raise
        text = str(fault)
        for sign, rule, message, remedy in _FAULTS:
            if sign in text.lower():
                raise StoreError(
                    message, rule=f"store/{rule}", place=place, remedy=remedy
                ) from error
        raise StoreError(
            text, rule="store/database", place=place, remedy="see --debug"
        ) from error


def sqlite_path(url: str | os.PathLike[str]) -> Path:
    """Return the file that *url* names.

    Raises:
        UsageError: the URL names another kind of database.

    """
    text = os.fspath(url)
    if text.startswith("sqlite:///"):
        text = text.removeprefix("sqlite:///").partition("?")[0]
    elif "://" in text:
        raise UsageError(
            f"{text.split('://', 1)[0]} ledgers are not supported by this version",
            rule="store/url",
            remedy="give a path, or sqlite:///PATH",
        )
    if text in {"", ":memory:"}:
        raise UsageError(
            "a ledger is a file",
            rule="store/url",
            remedy="give a path, or sqlite:///PATH",
        )
    return Path(text)


@dataclass(slots=True)
class Database:
    """The file of a ledger, with one writing connection and a pool of readers."""

    path: Path
    readonly: bool
    timeout: float = 60.0
    """Seconds that a statement waits for another writer."""
    _idle: list[sqlite3.Connection] = field(default_factory=list[sqlite3.Connection])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _generation: int = 0

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
                _compare_schema(driver.execute, str(path))
        except MunimentError:
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

    @contextmanager
    def querying(self) -> Generator[Connection]:
        """Lend a read-only connection as SQLAlchemy's, for queries built with it."""
        from sqlalchemy import create_engine  # noqa: PLC0415 - half of a start-up
        from sqlalchemy.pool import StaticPool  # noqa: PLC0415

        with self.reading() as driver:
            engine = create_engine(
                "sqlite://",
                creator=lambda: driver,
                poolclass=StaticPool,
                isolation_level="AUTOCOMMIT",
            )
            with engine.connect() as connection:
                yield connection

    def writing(self) -> Driver:
        """Return a new connection that may write; the caller closes it."""
        return _writer(self.path, self.timeout)

    def dispose(self) -> None:
        """Close every reading connection that nobody is using, now or when given back.

        Before the writing one: only the last connection removes the write-ahead log.
        """
        with self._lock:
            idle, self._idle = self._idle, []
            self._generation += 1
        for connection in idle:
            connection.close()

    def abandon(self) -> None:
        """In a child process: close the idle connections of the parent.

        A thread of the parent may have held the lock, and is not here to free it.
        """
        self._lock = threading.Lock()
        self.dispose()

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
            if generation == self._generation and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()


def create_file(path: Path) -> sqlite3.Connection:
    """Return a connection in WAL mode to the new, empty file *path*, made before.

    Nothing of it is on disk before whoever makes the file has synced it as a whole.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    return set_up(connection, "synchronous=OFF", "journal_mode=WAL")


def _require_file(path: Path) -> None:
    try:
        look_at(path)
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # a name too long is no file either
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


def _writer(path: Path, timeout: float) -> sqlite3.Connection:
    connection = _connect(path, timeout, "?mode=rw")
    return set_up(
        connection, "trusted_schema=OFF", "synchronous=FULL", "secure_delete=ON"
    )


def _connect(path: Path, timeout: float, options: str) -> sqlite3.Connection:
    def at(place: Path) -> sqlite3.Connection:
        return sqlite3.connect(
            place.as_uri() + options,
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    try:
        return connect(real_place(path), at)
    except OSError as error:
        raise _unopened(path, error) from None


def open_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection to *path* that cannot write, and never checkpoints."""
    connection = _connect(path, timeout, f"?mode=ro{_immutable(path)}")
    return set_up(connection, "trusted_schema=OFF", "wal_autocheckpoint=0")


def _immutable(path: Path) -> str:
    """Return the URI parameter for media where SQLite cannot make a ``-shm`` file."""
    if os.access(path.parent, os.W_OK) or _has_log(path):
        return ""
    return "" if Path(f"{path}-shm").exists() else "&immutable=1"


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


def _require_readable_log(path: Path) -> None:
    """Refuse a log whose index is missing where none can be made."""
    index = Path(f"{path}-shm")
    if not _has_log(path) or index.exists() or os.access(path.parent, os.W_OK):
        return
    raise StoreError(
        "the latest events stand in a write-ahead log that cannot be read here",
        rule="store/log",
        place=f"{path}-wal",
        remedy="copy the file and its -wal to a directory that can be written",
    )


def _compare_schema(execute: Execute, place: str) -> None:
    application = execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        raise StoreError(
            "the database is not a muniment ledger",
            rule="store/not-a-ledger",
            place=place,
            remedy="check the path",
        )
    version = execute("PRAGMA user_version").fetchone()[0]
    if version != LAYOUT_VERSION:
        raise StoreError(
            f"the file has layout {version}, this muniment knows {LAYOUT_VERSION}",
            rule="store/layout",
            place=place,
            remedy="use the muniment that wrote it, or a newer one",
        )
    rows = execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    found = {row[0]: row[1] for row in rows}
    if found != SCHEMA:
        odd = sorted({name for name, _ in found.items() ^ SCHEMA.items()})
        raise WrongError(
            f"the schema was changed: {', '.join(odd)}",
            rule="schema/object",
            place=place,
            remedy="run `muniment verify`; do not write to this file",
        )
