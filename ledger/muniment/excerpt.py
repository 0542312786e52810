"""The record of one run as bytes, and a ledger in memory that answers from them.

    data = excerpt(ledger, record)
    with open_excerpt(data, path=ledger.path, ledger_id=ledger.id) as ledger: …

Rules:

- It holds what a program needs to be answered: the run's events, the genesis, and the
  contents that they refer to. No key, and no other run.
- It is a database of the same layout, so that whatever reads a ledger reads it.
- It is never a file: what was erased since does not stay behind somewhere.
- It answers, and proves nothing: who judges has verified the ledger itself.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.database import Database, Execute
from muniment.errors import CannotTellError
from muniment.events import BlobRef, Event
from muniment.layout import SCHEMA
from muniment.ledger import Ledger
from muniment.opening import Opened
from muniment.plugins import Plugins
from muniment.store import Store
from muniment.trust import TrustHome

if TYPE_CHECKING:
    from muniment.recorded import Recorded

__all__ = ["excerpt", "open_excerpt"]

_ROWS = (
    "SELECT seq, type, run, payload, signature, key, hash FROM event "
    "WHERE seq = 0 OR run = ? ORDER BY seq"
)


def excerpt(ledger: Ledger, record: Recorded) -> bytes:
    """Return the record of a run, with all that it refers to and that is still there."""
    run = cast("str", record.events[0].run)
    with closing(sqlite3.connect(":memory:")) as made:
        for sql in SCHEMA.values():
            made.execute(sql)
        with ledger.store.database.reading() as driver:
            rows = driver.execute(_ROWS, (run,)).fetchall()
            made.executemany("INSERT INTO event VALUES (?,?,?,?,?,?,?)", rows)
            made.executemany(
                "INSERT OR IGNORE INTO blob (digest, seq, data) VALUES (?,?,?)",
                _contents(ledger, driver.execute, record.events),
            )
        made.commit()
        return made.serialize()


def _contents(
    ledger: Ledger, execute: Execute, events: list[Event]
) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield commitment, event and salted bytes; what is gone, the judge will miss."""
    for event in events:
        for value in event.raw.values():
            if isinstance(value, dict) and "$blob" in value:
                ref = BlobRef.from_json(value)
                data = ledger.store.blobs.stored(execute, ref.digest, ref.size)
                if data is not None:
                    yield (
                        bytes.fromhex(ref.digest.removeprefix("sha256:")),
                        event.seq,
                        data,
                    )


def open_excerpt(
    data: bytes, *, path: Path, ledger_id: str, plugins: Plugins | None = None
) -> Ledger:
    """Return a ledger that reads *data*, and knows no key and no trust home.

    Args:
        data: what `excerpt` returned.
        path: where the ledger lies that it is of; it is not opened.
        ledger_id: the ledger's id.
        plugins: those that may be asked; all that are installed without.

    """
    store = Store(_InMemory(path, data), ledger_id, None)
    nowhere = TrustHome(path / "nowhere")
    opened = Opened(store, nowhere, pinned=False)
    return Ledger(opened, plugins or Plugins(None), "local")


class _InMemory(Database):
    """A database that is opened from bytes; one thread reads at a time."""

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(path, readonly=True)
        self._turn = threading.RLock()
        self._only = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        if not hasattr(self._only, "deserialize"):
            self._only.close()
            raise CannotTellError(
                "this Python's SQLite cannot open a database from memory",
                rule="replay/memory",
                remedy="use one that is built with it; the usual builds are",
            )
        self._only.deserialize(data)

    def _take(self) -> tuple[sqlite3.Connection, int]:
        self._turn.acquire()
        return self._only, 0

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:  # noqa: ARG002 - as the pool has it
        if connection.in_transaction:
            connection.rollback()
        self._turn.release()

    def dispose(self) -> None:
        """Let go of the bytes."""
        with self._turn:
            self._only.close()
