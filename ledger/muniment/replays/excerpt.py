"""The record of one run as bytes, and a ledger in memory that answers from them.

    data = excerpt(ledger, record)
    with open_excerpt(data, path=ledger.path, ledger_id=ledger.id) as ledger: …

Rules:

- It holds what answering a program needs: the run's events, the genesis, and the
  contents that they refer to. No key, and no other run.
- It is a database of the same layout, so that all readers of ledgers can read it.
- It is never a file: contents that are erased later do not stay behind.
- It answers, and proves nothing: the judge has verified the ledger itself.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode, encode
from muniment.errors import CannotTellError
from muniment.formats.statement import BlobRef, Event
from muniment.formats.tables import SCHEMA
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.storage.append import Store
from muniment.storage.connections import Database, Execute
from muniment.storage.open import Opened
from muniment.trust.home import TrustHome

if TYPE_CHECKING:
    from muniment.recorded.run import Recorded

__all__ = ["excerpt", "open_excerpt"]

_ROWS = (
    "SELECT seq, type, run, payload, signature, key, hash FROM event "
    "WHERE seq = 0 OR run = ? ORDER BY seq"
)


def excerpt(ledger: Ledger, record: Recorded) -> bytes:
    """Return the record of a run, with all contents that are still there."""
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
    """Yield commitment, event and salted bytes; the judge will miss those gone."""
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
    data: bytes,
    *,
    path: Path,
    ledger_id: str,
    plugins: Plugins | None = None,
    execute: Callable[[JsonValue], JsonValue] | None = None,
) -> Ledger:
    """Return a ledger that reads *data*, and knows no key and no trust home.

    Args:
        data: what `excerpt` returned.
        path: the path of its ledger, which is not opened.
        ledger_id: the ledger's id.
        plugins: the plugins that may be asked; by default all installed ones.
        execute: executes synthesised code instead of a plugin; takes the request and
            returns the answer as encoded values.

    """
    nowhere, active = TrustHome(path / "nowhere"), plugins or Plugins(None)
    database = _InMemory(path, data)
    try:
        store = Store(database, ledger_id, None)
        ledger = Ledger(Opened(store, nowhere, pinned=False), active, "local")
    except BaseException:
        database.dispose()
        raise
    if execute is not None:
        _let_execute(ledger, execute)
    return ledger


def _let_execute(ledger: Ledger, execute: Callable[[JsonValue], JsonValue]) -> None:
    port = ledger.port
    ask = port.hook

    def hook(name: str, /, **arguments: object) -> object:
        if name != "execute_code":
            return ask(name, **arguments)
        return decode(execute(encode(arguments["request"], port.values)), port.values)

    port.hook = hook  # type: ignore[method-assign]  # the one hook that acts


class _InMemory(Database):
    """A database that is opened from bytes; one thread reads at a time."""

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(path, readonly=True)
        self._turn = threading.RLock()
        self._only = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        try:
            self._fill(data)
        except BaseException:
            self._only.close()
            raise

    def _fill(self, data: bytes) -> None:
        if not hasattr(self._only, "deserialize"):
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
        """Release the bytes."""
        with self._turn:
            self._only.close()
