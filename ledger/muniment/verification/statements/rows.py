"""The rows of the log, in order, whatever is in their columns.

Rules:

- A row is returned as SQLite has it. Text that is not UTF-8 becomes odd text.
- Nothing larger than the snapshot's limit is read: such a value becomes `TOO_LARGE`,
  and the rows around it are unaffected.
- A row with a negative number is not a row of the log; `numbered_below` yields those.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, Final

from muniment.verification.snapshot import Snapshot

__all__ = ["TOO_LARGE", "Row", "numbered_below", "rows_from"]

Row = tuple[Any, Any, Any, Any, Any, Any, Any]
"""seq, type, run, payload, signature, key, hash, whatever SQLite returns."""

TOO_LARGE: Final = object()
"""Stands for a value that is larger than any in a ledger."""

_COLUMNS = ("type", "run", "payload", "signature", "key", "hash")
_ALL = f"SELECT seq, {', '.join(_COLUMNS)} FROM event WHERE seq >= ? ORDER BY seq"  # noqa: S608 - our names


def rows_from(snapshot: Snapshot, begin: Callable[[], int]) -> Iterator[Row]:
    """Yield the rows of the log; *begin* says which number comes next.

    It is asked again whenever reading has to restart.
    """
    connection = snapshot.connection
    while True:
        try:
            yield from connection.execute(_ALL, (begin(),))
        except sqlite3.DataError:
            yield from _to_the_large_one(connection, begin())
        except sqlite3.OperationalError as error:
            if "decode" not in str(error) or connection.text_factory is not str:
                raise
            connection.text_factory = _lenient
        else:
            return


def numbered_below(snapshot: Snapshot) -> Iterator[int]:
    """Yield the numbers of rows below zero, which no event has."""
    found = snapshot.connection.execute("SELECT seq FROM event WHERE seq < 0")
    return (seq for (seq,) in found)


def _to_the_large_one(connection: sqlite3.Connection, begin: int) -> Iterator[Row]:
    """Yield rows column by column, up to and including one that is too large."""
    sql = "SELECT seq FROM event WHERE seq >= ? ORDER BY seq"
    for (seq,) in connection.execute(sql, (begin,)):
        values = [_value(connection, column, seq) for column in _COLUMNS]
        yield (seq, *values)
        if any(value is TOO_LARGE for value in values):
            return


def _value(connection: sqlite3.Connection, column: str, seq: int) -> Any:
    sql = f"SELECT {column} FROM event WHERE seq = ?"  # noqa: S608 - our names
    try:
        return connection.execute(sql, (seq,)).fetchone()[0]
    except sqlite3.DataError:
        return TOO_LARGE


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
