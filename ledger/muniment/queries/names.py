"""Runs and event types of a ledger by prefix, for completion in shells.

    run_ids(path, "01K")        the newest first, 50 at most
    type_names(path, "llm.")    ["llm.completed", "llm.requested"]

Rules: the file is read as it is, without keys, plugins or the trust home; a locked
database is waited for only briefly.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import cast

from muniment.storage.connections import open_reader, translated

__all__ = ["run_ids", "type_names"]

_RUNS = (
    "SELECT run, max(seq) AS last FROM event WHERE run >= ? AND run < ? "
    "GROUP BY run ORDER BY last DESC LIMIT 50"
)
_TYPES = "SELECT DISTINCT type FROM event WHERE type >= ? AND type < ? ORDER BY type"
_PATIENCE_S = 0.2


def run_ids(path: Path, prefix: str) -> list[str]:
    """Return the newest runs whose ids begin with *prefix*.

    Raises:
        StoreError: the file is missing, unreadable, or not a ledger.

    """
    return _names(path, _RUNS, prefix)


def type_names(path: Path, prefix: str) -> list[str]:
    """Return the event types of the log that begin with *prefix*.

    Raises:
        StoreError: the file is missing, unreadable, or not a ledger.

    """
    return _names(path, _TYPES, prefix)


def _names(path: Path, query: str, prefix: str) -> list[str]:
    between = (prefix, prefix + "\U0010ffff")
    with translated(str(path)), closing(open_reader(path, _PATIENCE_S)) as connection:
        return [cast("str", row[0]) for row in connection.execute(query, between)]
