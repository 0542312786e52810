"""A fork is not begun from a forged record, whatever of it is forged, and by whom.

Rules: in each of a thousand cases one event of the origin is forged: a member of its
statement, left as it was signed or signed anew by the ledger's own writer and hashed; a
column of its row; or the bytes of a blob that it refers to. All are refused with exit
code 1, before anything is written and before the program is called.
"""

from __future__ import annotations

import copy
import json
import random
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import rfc8785

from forged import leaf_hash, pae
from forking_programs import World, travel
from muniment.errors import MunimentError
from muniment.keys.ed25519 import load_private
from muniment.ledger import Ledger
from muniment.runs.run import Run

CASES, SEED = 1_000, "5eed"
COLUMNS = ("type", "run", "payload", "signature", "key", "hash")
Row = dict[str, Any]


def paths(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each member that is no container."""
    if isinstance(value, dict | list) and value:
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in named:
            yield from paths(one, *path, name)
    else:
        yield path


def another(value: Any) -> list[Any]:
    """Return other values in the place of *value*."""
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int):
        return [value + 1, value + 7]
    if isinstance(value, str) and value:
        middle = len(value) // 2
        other = "0" if value[middle] != "0" else "1"
        return [f"{value[:middle]}{other}{value[middle + 1 :]}", f"{value}0"]
    return ["0", 7]


def changed(statement: Any, path: tuple[Any, ...], value: Any) -> bytes:
    """Return the payload of *statement* with another *value* at *path*."""
    forged = copy.deepcopy(statement)
    inside = forged
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    return rfc8785.dumps(forged)


@dataclass(frozen=True)
class Forgery:
    """Other columns of one row, or none, where the row is gone."""

    name: str
    table: str
    key: tuple[str, object]
    columns: Mapping[str, object] | None

    @contextmanager
    def in_place(self, file: sqlite3.Connection) -> Generator[None]:
        """Have it in the *file*, for as long as the body lasts."""
        where = f"{self.table} WHERE {self.key[0]} = ?"
        (row,) = file.execute(f"SELECT * FROM {where}", self.key[1:])
        if self.columns is None:
            file.execute(f"DELETE FROM {where}", self.key[1:])
        for name, value in (self.columns or {}).items():
            sql = f"UPDATE {self.table} SET {name} = ? WHERE {self.key[0]} = ?"
            file.execute(sql, (value, self.key[1]))
        file.commit()
        yield
        marks = ", ".join("?" * len(row))
        file.execute(f"REPLACE INTO {self.table} VALUES ({marks})", row)
        file.commit()


def of_members(row: Row, sign: Callable[[bytes], bytes]) -> Iterator[Forgery]:
    """Yield forgeries of each member of the statement, unsigned and signed."""
    statement = json.loads(row["payload"])
    for path in paths(statement):
        value: Any = statement
        for step in path:
            value = value[step]
        for other in another(value):
            name = f"event {row['seq']}: {'.'.join(map(str, path))} is {other!r}"
            payload = changed(statement, path, other)
            where = "event", ("seq", row["seq"])
            yield Forgery(name, *where, {"payload": payload})
            signature = sign(pae(payload))
            leaf = leaf_hash(payload, signature, row["key"])
            signed = {"payload": payload, "signature": signature, "hash": leaf}
            yield Forgery(f"{name}, signed", *where, signed)


def of_columns(row: Row) -> Iterator[Forgery]:
    """Yield forgeries of each column, and the row that is gone."""
    where = "event", ("seq", row["seq"])
    for name in COLUMNS:
        old = row[name]
        other = (
            another(old)[0] if isinstance(old, str) else bytes([old[0] ^ 1]) + old[1:]
        )
        yield Forgery(f"event {row['seq']}: {name}", *where, {name: other})
    yield Forgery(f"event {row['seq']}: gone", *where, None)


def of_blobs(seq: int, digest: bytes, data: bytes) -> Iterator[Forgery]:
    """Yield forgeries of the bytes of a blob: of its salt, and of its content."""
    for place in (0, len(data) - 1):
        forged = bytearray(data)
        forged[place] ^= 1
        name = f"event {seq}: byte {place} of the blob {digest.hex()}"
        yield Forgery(name, "blob", ("digest", digest), {"data": bytes(forged)})


def forgeries(
    file: sqlite3.Connection, run: str, sign: Callable[[bytes], bytes]
) -> list[Forgery]:
    """Return every forgery of the rows of *run*, and of what the program is answered."""
    names = ("seq", *COLUMNS)
    sql = f"SELECT {', '.join(names)} FROM event WHERE run = ?"
    found: list[Forgery] = []
    for values in file.execute(sql, (run,)).fetchall():
        row = dict(zip(names, values, strict=True))
        found += of_members(row, sign)
        found += of_columns(row)
        if not row["type"].startswith("run."):
            blobs = "SELECT digest, data FROM blob WHERE seq = ?"
            for digest, data in file.execute(blobs, (row["seq"],)).fetchall():
                found += of_blobs(row["seq"], digest, data)
    return found


def untouched(_: Run) -> None:
    """Be called by nobody."""
    pytest.fail("the program was called")


@pytest.mark.slow
def test_a_thousand_forged_origins(ledger: Ledger) -> None:
    """Each is refused with exit code 1; nothing is written, and no program is called."""
    world = World()
    run = travel(ledger, world).run_id
    at = list(ledger.events(run=run))[-1].seq
    ledger.checkpoint()
    size = ledger.head.size
    keys = ledger.home.keys_directory(ledger.id)
    signer = load_private(keys / "writer.pem")
    with closing(sqlite3.connect(ledger.path)) as file:
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in file.execute(triggers).fetchall():
            file.execute(f"DROP TRIGGER {name}")
        file.commit()
        every = forgeries(file, run, signer.sign)
        assert len({one.name for one in every}) == len(every) > CASES
        let_pass: list[str] = []
        for one in random.Random(SEED).sample(every, CASES):  # noqa: S311 - a test's
            with one.in_place(file):
                try:
                    ledger.fork(run, at=at, program=untouched)
                except MunimentError as error:
                    if error.exit_code != 1:
                        let_pass.append(f"{one.name}: {error}")
                else:
                    let_pass.append(one.name)
    assert let_pass == []
    assert ledger.head.size == size
    assert ledger.fork(run, at=at, program=world.plan).ok
