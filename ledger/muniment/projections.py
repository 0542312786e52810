"""Projections: pure folds over events, remembered up to a position.

    class RunRecord(Projection[...]):
        name, version, types = "run-record", 1, ("*",)
        def initial(self): ...
        def apply(self, state, event): ...
        def view(self, state): ...

Rules:

- The state is JSON; ``apply`` reads the event's payload only (never a content), so an
  erasure changes no projection. It returns the new state and has no other effect.
- Folding from event 0 gives what folding on from a remembered state gives.
- What is remembered lives in ``cache.db`` beside the ledger, under the ledger's id, the
  projection's name and version, and the hash of the last event folded; anything that
  does not fit is thrown away. The file may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar, Generic, TypeVar, cast

from muniment.canonical import JsonValue
from muniment.events import Event

__all__ = ["Cache", "Projection", "cache_path", "fold"]

V_co = TypeVar("V_co", covariant=True)

_CHECK = hashlib.sha256().digest_size


def cache_path(ledger: Path) -> Path:
    """Return where what is remembered of the ledger file *ledger* is kept."""
    return ledger.with_name("cache.db")


class Projection(Generic[V_co]):
    """A fold with a name; subclass it, and give the class to ``ledger.project``."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Goes up whenever `initial` or `apply` change; old states are thrown away."""

    def initial(self) -> JsonValue:
        """Return the state before the first event."""
        raise NotImplementedError

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Return the state after *event*; may change *state* in place."""
        raise NotImplementedError

    def view(self, state: JsonValue) -> V_co:
        """Return what callers get to see."""
        raise NotImplementedError


class Cache:
    """Remembered states, in a file that may be missing, unwritable or garbage."""

    def __init__(self, path: Path, ledger_id: str) -> None:
        self._path = path
        self._ledger = ledger_id

    def load(self, projection: Projection[object], run: str) -> tuple[int, str, bytes]:
        """Return size, head hash and state bytes; ``(0, "", b"")`` for nothing."""
        nothing = (0, "", b"")
        found = self._find(projection, run)
        if found is None:
            return nothing
        size, head, stored = found
        state = stored[_CHECK:]
        sound = self._check(projection, run, size, head, state) == stored[:_CHECK]
        return (size, head, state) if sound else nothing

    def _find(
        self, projection: Projection[object], run: str
    ) -> tuple[int, str, bytes] | None:
        if not self._path.exists():
            return None
        try:
            with closing(self._connect()) as connection:
                row = connection.execute(
                    "SELECT size, head, state FROM projection WHERE ledger = ? "
                    "AND name = ? AND version = ? AND run = ?",
                    (self._ledger, projection.name, projection.version, run),
                ).fetchone()
        except sqlite3.Error:
            return None  # a cache that cannot be read is a cache that is empty
        whole = row is not None and type(row[2]) is bytes
        return cast("tuple[int, str, bytes]", row) if whole else None

    def _check(
        self,
        projection: Projection[object],
        run: str,
        size: int,
        head: str,
        state: bytes,
    ) -> bytes:
        """Return what stands before a state, against a file that was damaged."""
        names = (self._ledger, projection.name, projection.version, run, size, head)
        return hashlib.sha256(repr(names).encode() + state).digest()

    def save(
        self,
        projection: Projection[object],
        run: str,
        size: int,
        head: str,
        state: bytes,
    ) -> None:
        """Remember *state* as that after *size* events, the last with hash *head*."""
        row = (
            self._ledger,
            projection.name,
            projection.version,
            run,
            size,
            head,
            self._check(projection, run, size, head, state) + state,
        )
        try:
            with closing(self._connect()) as connection, connection:
                connection.execute(
                    "INSERT OR REPLACE INTO projection VALUES (?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
        except sqlite3.OperationalError:
            return  # a cache that cannot be written costs time, never an answer
        except sqlite3.DatabaseError:
            self.clear()  # it is no database, or not any more: the next time it is

    def clear(self) -> None:
        """Delete the file."""
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):  # a directory in its place, or read-only media
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)

    def _connect(self) -> sqlite3.Connection:
        with suppress(OSError):  # no more readers than the ledger itself may have
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL, 0o600))
        connection = sqlite3.connect(self._path, timeout=1)
        # A power cut may damage the file: every state has a digest before it.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS projection (ledger TEXT, name TEXT, "
            "version INTEGER, run TEXT, size INTEGER, head TEXT, state BLOB, "
            "PRIMARY KEY (ledger, name, version, run)) WITHOUT ROWID"
        )
        return connection


def fold(
    projection: Projection[V_co],
    events: Callable[[int], Iterable[Event]],
    cache: Cache | None,
    run: str = "",
    still_there: Callable[[int, str], bool] = lambda _size, _head: True,
) -> V_co:
    """Return the view of *projection* over all events.

    Args:
        projection: what to fold.
        events: the events with a ``seq`` of at least the argument, in order.
        cache: where states are remembered; None for a fold from event 0.
        run: the run that the events are restricted to, or ``""``.
        still_there: tells whether the event before *size* still has the hash *head*.

    """
    size, head, remembered = (0, "", b"")
    if cache is not None:
        size, head, remembered = cache.load(projection, run)
        if size and not still_there(size, head):
            size, remembered = 0, b""
    try:
        state = json.loads(remembered) if remembered else projection.initial()
    except json.JSONDecodeError:
        size, state = 0, projection.initial()
    start = size
    for event in events(size):
        state = projection.apply(state, event)
        size, head = event.seq + 1, event.hash
    if cache is not None and size > start:
        # Not canonical: the order of members and 1.0 are part of the state.
        cache.save(projection, run, size, head, json.dumps(state).encode())
    return projection.view(state)
