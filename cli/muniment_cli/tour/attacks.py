"""The three attacks of the tour, each on a copy, each without the ledger's keys.

Rules: an attacker has the file, SQLite and muniment's own code, and drops the triggers
first. The third one uses a trust home of their own, since they lack the owner's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from muniment_cli.tour.place import PLUGINS, TourPlace

if TYPE_CHECKING:
    from muniment_plugins.harness import Experiment

__all__ = ["Attack", "tampers"]


@dataclass(frozen=True, slots=True)
class Attack:
    """A description, and a function that returns the path of the tampered copy."""

    what: str
    carry_out: Callable[[TourPlace], Path]


def _edit(place: TourPlace) -> Path:
    """Turn the verdict of the last run around."""
    path = _copy(place, "edited.db")
    with _unlocked(path) as database:
        database.execute(
            "UPDATE event SET payload = CAST(replace(CAST(payload AS TEXT), "
            "'\"passed\":true', '\"passed\":false') AS BLOB) "
            "WHERE seq = (SELECT max(seq) FROM event WHERE type = 'verdict.reached')"
        )
    return path


def _cut(place: TourPlace) -> Path:
    """Remove the verdict of the last run, and everything after it."""
    path = _known(place, _copy(place, "cut.db"))
    with _unlocked(path) as database:
        (seq,) = database.execute(
            "SELECT max(seq) FROM event WHERE type = 'verdict.reached'"
        ).fetchone()
        for table in ("event", "subject", "blob"):
            database.execute(f"DELETE FROM {table} WHERE seq >= ?", (seq,))  # noqa: S608 - names of ours
        database.execute("DELETE FROM checkpoint WHERE size > ?", (seq,))
        database.execute(
            "DELETE FROM tile WHERE (idx + 1) * (1 << (8 * level)) > ?", (seq,)
        )
    return path


def _rebuild(experiment: Callable[[str], Experiment], place: TourPlace) -> Path:
    """Replace it by a ledger that is sound in itself, under other keys."""
    from muniment.ledger import Ledger

    path = _known(place, _copy(place, "rebuilt.db"))
    path.unlink()
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    forged = experiment("def fit_and_eval(data): return {'total': 15, 'mean': 3}")
    thief = place.tampered / "forger"
    with Ledger.create(path, home=thief, plugins=PLUGINS) as ledger:
        forged.run(ledger=ledger)
    return path


def tampers(experiment: Callable[[str], Experiment]) -> tuple[Attack, ...]:
    """Return the attacks; the last runs the *experiment* with code of the attacker."""
    return (
        Attack("turn the verdict around", _edit),
        Attack("cut off the end", _cut),
        Attack("rebuild all of it under other keys", partial(_rebuild, experiment)),
    )


def _copy(place: TourPlace, name: str) -> Path:
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


def _known(place: TourPlace, path: Path) -> Path:
    """Make the copy known to the owner, like a ledger that the owner moved."""
    from muniment.ledger import Ledger
    from muniment.trust.home import TrustHome

    home = TrustHome(place.home)
    with Ledger.open(place.ledger, home=home, readonly=True) as original:
        home.remember(home.location(path), original.id)
    return path


@contextmanager
def _unlocked(path: Path) -> Generator[sqlite3.Connection]:
    """Lend a copy without the triggers that refuse changes.

    They are put back, so that they do not show what happened.
    """
    from muniment.formats.tables import SCHEMA

    triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for (name,) in database.execute(triggers).fetchall():
            database.execute(f"DROP TRIGGER {name}")
        yield database
        for text in SCHEMA.values():
            if text.startswith("CREATE TRIGGER"):
                database.execute(text)
