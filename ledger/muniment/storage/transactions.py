"""The one writing connection: transactions, forks, and the write-ahead log.

Rules:

- A transaction is committed whole or leaves nothing behind, whatever raises in it, and
  is durable (``synchronous=FULL``) when the block ends.
- A fork waits until no transaction is under way. A child closes the connections that it
  inherited and opens its own: SQLite's locks are its parent's. If a transaction lasts
  longer than a fork waits, the child finds the ledger locked, and does not touch it.
- Waiting is limited: for another writer by the ledger's timeout; for readers, while the
  write-ahead log is emptied, by the caller.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol, cast

from muniment.errors import AppendRefused, StoreError
from muniment.storage.connections import Database, Driver, translated

__all__ = ["Writer"]


class _Closable(Driver, Protocol):
    def close(self) -> None: ...


class Writer:
    """Lends the writing connection of *database*, one transaction at a time."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.lock = threading.RLock()
        """Held for a transaction and its follow-up work; threads take turns."""
        self.wrote = False
        """Whether anything was committed through this object."""
        self._connection: _Closable | None = None
        self._closed = False
        _WRITERS.add(self)

    @contextmanager
    def transaction(self) -> Generator[Driver]:
        """Open one write transaction, durable when the block ends."""
        with translated(str(self.database.path)):
            driver = self._driver()
            try:
                if driver.in_transaction:  # an interrupt came before the rollback
                    driver.execute("ROLLBACK")
                driver.execute("BEGIN IMMEDIATE")
                yield driver
                driver.execute("COMMIT")
                self.wrote = True
            finally:
                if driver.in_transaction:  # SQLite ends some failed ones itself
                    driver.execute("ROLLBACK")

    def truncate_wal(self, seconds: float) -> bool:
        """Move the write-ahead log into the file and empty it; True when done.

        Args:
            seconds: how long to wait for readers that still use it.

        """
        with self.lock, translated(str(self.database.path)):
            driver = self._driver()
            (before,) = driver.execute("PRAGMA busy_timeout").fetchone()
            driver.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
            try:
                row = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                driver.execute(f"PRAGMA busy_timeout={before}")
            return cast("int", row[0]) == 0

    def close(self) -> None:
        """Close every connection; a closed ledger does not write again."""
        with self.lock:
            self._closed, self.wrote = True, False
            self.database.dispose()
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _driver(self) -> Driver:
        place = str(self.database.path)
        if self._closed:
            raise StoreError(
                "the ledger was closed",
                rule="store/closed",
                place=place,
                remedy="open it again",
            )
        if self.database.readonly:
            raise AppendRefused(
                "the ledger was opened read-only",
                rule="store/read-only",
                place=place,
                remedy="open it for writing, with its signing key",
            )
        if self._connection is None:
            self._connection = cast("_Closable", self.database.writing())
        return self._connection

    def inherit(self, *, quiet: bool) -> None:
        """In a child process: close the parent's connections, which took its locks.

        Args:
            quiet: no thread of the parent was in the middle of a transaction.

        """
        connection, self._connection = self._connection, None
        self.wrote = False  # the parent wrote, and signs when it closes
        if not quiet:
            self.lock = threading.RLock()
        if connection is not None:
            if quiet and not connection.in_transaction:
                connection.close()
            else:
                _ABANDONED.append(connection)  # the parent's, in mid-transaction
        self.database.abandon()


# Hooks on forks belong to the process and cannot be removed: the module knows the
# writers that are alive, as `logging` knows its handlers.
_WRITERS: weakref.WeakSet[Writer] = weakref.WeakSet()
_ABANDONED: list[_Closable] = []
_HELD: list[Writer] = []
_FORKING = threading.Lock()
_PATIENCE = 5.0
"""Seconds that a fork waits for a transaction; two ledgers may wait for each other."""


def _before_fork() -> None:
    _FORKING.acquire()
    _HELD[:] = [one for one in list(_WRITERS) if one.lock.acquire(timeout=_PATIENCE)]


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().lock.release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    for writer in list(_WRITERS):
        writer.inherit(quiet=writer in _HELD)
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork_in_child,
    )
