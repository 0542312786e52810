"""Attacks on a real ledger that holds an event of every type the kernel writes."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from attacking import tampering
from every_kind import make
from muniment.encoding.canonical import canonical, parse
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.ledger import Ledger
from muniment.verification.verify import Report, verify


class World:
    """A closed ledger, its trust home, and copies of it to be attacked."""

    def __init__(self, place: Path, notes: int) -> None:
        self.home = place / "home"
        self.path = place / "original" / "ledger.db"
        self.copies = place / "copies"
        with make_at(self.path, self.home, notes) as ledger:
            self.types = {event.type: event.seq for event in ledger.events()}
            ledger.home.remember(str(self.copies / "ledger.db"), ledger.id)

    def copy(self) -> Path:
        """Return a fresh copy of the file and of its large contents."""
        shutil.rmtree(self.copies, ignore_errors=True)
        shutil.copytree(self.path.parent, self.copies)
        return self.copies / "ledger.db"

    def verify(self, path: Path, *, fast: bool = False) -> Report:
        """Verify *path* against the memory of the original."""
        return verify(path, home=self.home, fast=fast)


def make_at(path: Path, home: Path, notes: int) -> Ledger:
    """Make the ledger of every kind under the trust home *home*."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNIMENT_HOME", str(home))
        return make(path, notes)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Make the world once; every test attacks a copy."""
    return World(tmp_path_factory.mktemp("world"), 300)


@pytest.fixture(scope="module")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Make a world without the notes that fill tiles; it verifies faster."""
    return World(tmp_path_factory.mktemp("small"), 1)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every leaf of a JSON value."""
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, item in items:
            yield from leaves(item, (*path, step))
    else:
        yield path


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """Return *value* with another leaf at *path*."""
    if not path:
        if isinstance(value, str):
            return value[:-1] + ("0" if value[-1:] != "0" else "1")
        return value + 1 if type(value) is int else "other"
    copied = value.copy()
    copied[path[0]] = changed(value[path[0]], path[1:])
    return copied


def test_the_world_has_every_type(world: World) -> None:
    """No type of the kernel is missing from what is attacked below."""
    rare = {"key.rotated"}

    assert {t.name for t in KERNEL_TYPES} - rare <= world.types.keys()
    assert {
        "llm.failed",
        "human.completed",
        "execution.requested",
    } <= world.types.keys()


@pytest.mark.parametrize("fast", [False, True])
def test_the_world_is_intact(world: World, fast: bool) -> None:
    """An untouched copy of the ledger verifies, full and fast."""
    report = world.verify(world.copy(), fast=fast)

    assert (report.integrity, report.findings, report.exit_code) == ("intact", (), 0)


SHARED = 5
"""In how many types a leaf is changed that is not data: all types have it alike."""


@pytest.mark.slow
def test_every_leaf_of_every_type(small_world: World) -> None:
    """Changing any JSON leaf of an event of any type is found, at that event."""
    world = small_world
    path = world.copy()
    missed = []
    tried = Counter[tuple[Any, ...]]()
    with tampering(path) as connection:
        for kind, seq in world.types.items():
            (payload,) = connection.execute(
                "SELECT payload FROM event WHERE seq = ?", (seq,)
            ).fetchone()
            statement = parse(payload)
            for leaf in leaves(statement):
                if leaf[:2] != ("predicate", "data"):
                    tried[leaf] += 1
                    if tried[leaf] > SHARED:
                        continue
                altered = canonical(changed(statement, leaf))
                connection.execute(
                    "UPDATE event SET payload = ? WHERE seq = ?", (altered, seq)
                )
                report = world.verify(path)
                found = [f.seq for f in report.findings]
                if report.exit_code != 1 or seq not in found:
                    missed.append((kind, leaf, found))
            connection.execute(
                "UPDATE event SET payload = ? WHERE seq = ?", (payload, seq)
            )

    assert missed == []


@pytest.mark.parametrize("table", ["event", "subject", "blob", "tile", "checkpoint"])
def test_every_column_of_every_table(world: World, table: str) -> None:
    """Changing any column of the first, a middle or the last row is found."""
    with closing(sqlite3.connect(world.copy())) as connection:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    missed = []
    for place, name in enumerate(names):
        for number in sorted({0, len(rows) // 2, len(rows) - 1}):
            path = world.copy()
            where = " AND ".join(f"{one} IS ?" for one in names)
            new = changed_cell(rows[number][place])
            with tampering(path) as connection:
                connection.execute(
                    f"UPDATE {table} SET {name} = ? WHERE {where}", (new, *rows[number])
                )
            report = world.verify(path)
            if report.exit_code != 1:
                missed.append((name, number, report))

    assert missed == []


def changed_cell(old: object) -> object:
    """Return another value, of the same type where there was one."""
    if old is None:
        return b"other"
    if isinstance(old, bytes):
        return bytes([old[0] ^ 1]) + old[1:]
    return old + 100_000 if isinstance(old, int) else f"{old}x"


@pytest.mark.parametrize("keep", [0, 1, 7, -2, -1])
def test_a_cut_tail(world: World, keep: int) -> None:
    """A log cut to nothing, to its genesis, or by its last event is found."""
    path = world.copy()
    with tampering(path) as connection:
        (size,) = connection.execute("SELECT count(*) FROM event").fetchone()
        keep = size + keep if keep < 0 else keep
        for table in ("event", "subject", "blob"):
            connection.execute(f"DELETE FROM {table} WHERE seq >= ?", (keep,))
        connection.execute("DELETE FROM checkpoint WHERE size > ?", (keep,))
        connection.execute("DELETE FROM tile WHERE (idx + 1) * 256 > ?", (keep,))

    report = world.verify(path)

    assert report.exit_code == 1
    assert {"truncated", "rolled-back"} & {one.kind for one in report.findings}


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM event WHERE seq = 5",
        "DELETE FROM event WHERE seq < 3",
        "UPDATE event SET seq = -1 WHERE seq = 5; UPDATE event SET seq = 5 WHERE seq = 6; UPDATE event SET seq = 6 WHERE seq = -1",
        "INSERT INTO event SELECT 1000000, type, run, payload, signature, key, hash FROM event WHERE seq = 4",
        "UPDATE event SET signature = zeroblob(64) WHERE seq = 9",
        "UPDATE event SET signature = (SELECT signature FROM event WHERE seq = 8) WHERE seq = 9",
        "UPDATE event SET key = (SELECT key FROM event WHERE seq = 0) WHERE seq = 9",
        "UPDATE event SET type = 'note.added' WHERE type = 'llm.failed'",
        "UPDATE event SET run = NULL WHERE seq = 9",
        "DELETE FROM blob WHERE id = 3",
        "DELETE FROM tile",
        "CREATE TRIGGER planted BEFORE INSERT ON event BEGIN SELECT 1; END",
        "CREATE VIEW planted AS SELECT * FROM event",
        "CREATE TABLE planted (a)",
        "CREATE INDEX planted ON event (hash)",
        "DROP TRIGGER event_no_update",
    ],
)
def test_statements(world: World, sql: str) -> None:
    """Rows deleted, swapped, copied or emptied, and objects planted, are found."""
    path = world.copy()
    with tampering(path) as connection:
        pass
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        planted = "planted" in sql or "TRIGGER" in sql
        for name, _ in [] if planted else triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.executescript(sql)
        for _, text in [] if planted else triggers:
            connection.execute(text)

    report = world.verify(path)

    assert report.exit_code == 1


@pytest.mark.parametrize(
    "which", ["size > 0", "size = (SELECT min(size) FROM checkpoint)"]
)
def test_deleted_checkpoints(world: World, which: str) -> None:
    """A checkpoint that was anchored and is not in the file any more is missed."""
    path = world.copy()
    with tampering(path) as connection:
        connection.execute(f"DELETE FROM checkpoint WHERE {which}")

    report = world.verify(path)

    assert report.exit_code == 1
    assert report.findings[0].rule == "checkpoint/missing"


def test_a_newer_layout(world: World) -> None:
    """A file that says that it is newer cannot be judged, and says so."""
    path = world.copy()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")

    report = world.verify(path)

    assert (report.exit_code, report.integrity) == (3, "cannot tell")
