"""The three attacks of the tour, each on a copy, each without the ledger's keys.

Rules: an attacker has the file, SQLite and muniment's own code, and drops the triggers
first. The third one has a trust home of his own, since he has not the owner's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment_cli.demo import Place

__all__ = ["TAMPERS", "Attack"]


@dataclass(frozen=True, slots=True)
class Attack:
    """What is done, and how; gives the path of the tampered copy."""

    what: str
    carry_out: Callable[[Place], Path]


def _edit(place: Place) -> Path:
    """Turn the verdict of the last run around."""
    path = _copy(place, "edited.db")
    with closing(_unlocked(path)) as database:
        database.execute(
            "UPDATE event SET payload = CAST(replace(CAST(payload AS TEXT), "
            "'\"passed\":true', '\"passed\":false') AS BLOB) "
            "WHERE seq = (SELECT max(seq) FROM event WHERE type = 'verdict.reached')"
        )
        _lock(database)
    return path


def _cut(place: Place) -> Path:
    """Make the verdict of the last run, and everything after it, not have been."""
    path = _known(place, _copy(place, "cut.db"))
    with closing(_unlocked(path)) as database:
        (seq,) = database.execute(
            "SELECT max(seq) FROM event WHERE type = 'verdict.reached'"
        ).fetchone()
        for table in ("event", "subject", "blob"):
            database.execute(f"DELETE FROM {table} WHERE seq >= ?", (seq,))  # noqa: S608 - names of ours
        database.execute("DELETE FROM checkpoint WHERE size > ?", (seq,))
        database.execute(
            "DELETE FROM tile WHERE (idx + 1) * (1 << (8 * level)) > ?", (seq,)
        )
        _lock(database)
    return path


def _rebuild(place: Place) -> Path:
    """Put a ledger in its place that is sound in itself, under other keys."""
    from muniment.ledger import Ledger
    from muniment_cli.demo import PLUGINS, experiment

    path = _known(place, _copy(place, "rebuilt.db"))
    path.unlink()
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    forged = experiment("def fit_and_eval(data): return {'total': 15, 'mean': 3}")
    thief = place.tampered / "forger"
    with Ledger.create(path, home=thief, plugins=PLUGINS) as ledger:
        forged.run(ledger=ledger)
    return path


TAMPERS: tuple[Attack, ...] = (
    Attack("turn the verdict around", _edit),
    Attack("cut off the end", _cut),
    Attack("rebuild all of it under other keys", _rebuild),
)


def _copy(place: Place, name: str) -> Path:
    place.tampered.mkdir(exist_ok=True)
    path = place.tampered / name
    with (
        closing(
            sqlite3.connect(f"{place.ledger.as_uri()}?mode=ro", uri=True)
        ) as source,
        closing(sqlite3.connect(path)) as target,
    ):
        source.backup(target)
    return path


def _known(place: Place, path: Path) -> Path:
    """Let the owner know this copy, as he would know a ledger that he moved."""
    from muniment.ledger import Ledger
    from muniment.trust import TrustHome

    home = TrustHome(place.home)
    with Ledger.open(place.ledger, home=home, readonly=True) as original:
        home.remember(home.location(path), original.id)
    return path


def _unlocked(path: Path) -> sqlite3.Connection:
    """Open a copy without the triggers that refuse changes."""
    database = sqlite3.connect(path, isolation_level=None)
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in found.fetchall():
        database.execute(f"DROP TRIGGER {name}")
    return database


def _lock(database: sqlite3.Connection) -> None:
    """Put the triggers back, so that nobody sees from them what happened."""
    from muniment.layout import SCHEMA

    for text in SCHEMA.values():
        if text.startswith("CREATE TRIGGER"):
            database.execute(text)
