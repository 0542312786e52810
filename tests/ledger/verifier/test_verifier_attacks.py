"""The verifier against somebody who changes any cell, leaf or byte of the file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from attacking import again, check, first, small, tampering
from forge import (
    Forge,
    rehash,
)

SIZE = 15


@pytest.fixture(scope="module")
def forge() -> Forge:
    """Return a ledger with every kind of thing in it."""
    return small()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where ledgers are written."""
    return tmp_path / "ledger.db"


# --- every column of every table ---------------------------------------------------

COLUMNS = {
    "event": ("seq", "type", "run", "payload", "signature", "key", "hash"),
    "subject": ("seq", "digest"),
    "blob": ("id", "digest", "seq", "data"),
    "tile": ("level", "idx", "hash"),
    "checkpoint": ("size", "note"),
}


def other_values(value: object) -> Iterator[object]:
    """Yield what somebody could put in the place of *value*."""
    if isinstance(value, bytes):
        yield bytes([value[0] ^ 1]) + value[1:]
        yield value[:-1] + bytes([value[-1] ^ 0x80])
        yield value[:-1]
        yield value + b"\0"
        yield value.hex()
        yield value.decode("latin-1")
        yield b""
        yield None
        yield 7
    elif isinstance(value, int):
        yield from (value + 1, value + 1000, -1 - value, f"{value}x", b"\1", None, 0.5)
    else:
        text = "x" if value is None else f"{value}x"
        yield from (text, str(value).encode(), 5, b"\xff", "")
        if value is not None:
            yield from (None, str(value).upper())


def cases(file: Path) -> Iterator[tuple[str, str, int, object]]:
    """Yield table, column, row number and value of every cell, but for equal ones."""
    with closing(sqlite3.connect(file)) as connection:
        for table, columns in COLUMNS.items():
            names = ", ".join(columns)
            order = ", ".join(columns[:2])
            sql = f"SELECT {names} FROM {table} ORDER BY {order}"
            rows = connection.execute(sql)
            for number, row in enumerate(rows.fetchall()):
                for column, value in zip(columns, row, strict=True):
                    yield table, column, number, value


def mutate(file: Path, table: str, column: str, number: int, new: object) -> bool:
    """Put *new* into a cell; tell whether SQLite let that happen."""
    columns = COLUMNS[table]
    key = " AND ".join(f"{name} IS ?" for name in columns)
    select = (
        f"SELECT {', '.join(columns)} FROM {table} "
        f"ORDER BY {', '.join(columns[:2])} LIMIT 1 OFFSET {number}"
    )
    update = f"UPDATE {table} SET {column} = ? WHERE {key}"
    try:
        with tampering(file) as connection:
            row = connection.execute(select).fetchone()
            connection.execute(update, (new, *row))
            return bool(connection.execute(select).fetchone() != row)
    except (sqlite3.IntegrityError, OverflowError):
        return False


@pytest.mark.parametrize("table", sorted(COLUMNS))
def test_text_that_is_not_utf_8(forge: Forge, file: Path, table: str) -> None:
    """Text that no driver can decode is found as wrong, in any column."""
    ledger = tiled() if table == "tile" else forge
    original = ledger.write(file).read_bytes()
    for column in COLUMNS[table]:
        file.write_bytes(original)
        sql = f"UPDATE {table} SET {column} = CAST(x'ff41' AS TEXT)"
        try:
            with tampering(file) as connection:
                connection.execute(sql)
        except sqlite3.IntegrityError:
            continue
        report = again(file)
        assert report.exit_code == 1, (table, column, report.findings)


def tiled() -> Forge:
    """Return a ledger that has tiles, and little else."""
    forge = Forge("one").open()
    for number in range(530):
        forge.append("note.added", {"text": str(number)})
    forge.checkpoint()
    return forge


@pytest.mark.parametrize("table", ["event", "subject", "blob", "checkpoint"])
def test_every_column_of_every_row(forge: Forge, file: Path, table: str) -> None:
    """Any other value in any column of any row is found, at the row's event."""
    original = forge.write(file).read_bytes()
    tried = 0
    for name, column, number, value in list(cases(file)):
        if name != table:
            continue
        for new in other_values(value):
            file.write_bytes(original)
            if not mutate(file, table, column, number, new):
                continue
            tried += 1
            rule, seq, exit_code = first(again(file))
            where = (column, number, new, rule, seq)
            assert exit_code == 1, where
            if table == "event" and column != "seq":
                assert seq == number, where
            elif table == "event":
                assert seq is not None, where
                assert seq <= number, where
    assert tried > 20


def test_every_column_of_tiles(file: Path) -> None:
    """Any other value in a tile is found."""
    original = tiled().write(file).read_bytes()
    assert again(file).ok
    for table, column, number, value in list(cases(file)):
        for new in other_values(value) if table == "tile" else ():
            file.write_bytes(original)
            if mutate(file, table, column, number, new):
                rule, seq, exit_code = first(again(file))
                assert exit_code == 1, (column, number, new)
                assert rule.startswith("tile/"), (column, number, new)
                assert seq in (255, 511), (column, number, new)


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("DELETE FROM tile WHERE idx = 1", "tile/missing"),
        ("INSERT INTO tile VALUES (1, 2, zeroblob(32))", "tile/extra"),
        ("INSERT INTO tile VALUES (2, 0, zeroblob(32))", "tile/extra"),
        ("INSERT INTO tile VALUES (0, 0, zeroblob(32))", "tile/extra"),
    ],
)
def test_tiles_too_few_and_too_many(file: Path, sql: str, rule: str) -> None:
    """A tile that is missing, and one too many, are found."""
    tiled().write(file)
    with tampering(file) as connection:
        connection.execute(sql)
    assert [finding.rule for finding in again(file).findings] == [rule]
    assert again(file).exit_code == 1


# --- every JSON leaf, and unknown members ------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every leaf."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))
    else:
        yield path


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every object."""
    if isinstance(value, dict):
        yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, item in items:
        yield from objects(item, (*path, name))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """Return what stands at *path*."""
    for name in path:
        value = value[name]
    return value


def changes(statement: Any) -> Iterator[Any]:
    """Yield functions that each change one thing in a statement."""

    def put(path: tuple[Any, ...], new: Any) -> Any:
        return lambda target: at(target, path[:-1]).__setitem__(path[-1], new)

    def drop(path: tuple[Any, ...]) -> Any:
        return lambda target: at(target, path[:-1]).__delitem__(path[-1])

    def inject(path: tuple[Any, ...]) -> Any:
        return lambda target: at(target, path).__setitem__("zzz", 1)

    for path in leaves(statement):
        value = at(statement, path)
        news: list[Any] = (
            [value[:-1] if value else "x", 5]
            if isinstance(value, str)
            else [value + 1, None]
        )
        for new in news:
            yield put(path, new)
        yield drop(path)
    for path in objects(statement):
        yield inject(path)


@pytest.mark.parametrize("seq", range(SIZE))
@pytest.mark.parametrize("rehashed", [False, True])
def test_every_leaf_of_every_event(
    forge: Forge, file: Path, seq: int, rehashed: bool
) -> None:
    """Any change of a statement is found at its event, re-hashed or not."""
    forge.write(file)
    for change in changes(json.loads(forge.rows[seq].payload)):
        if rehashed:

            def apply(number: int, target: Any, change: Any = change) -> None:
                if number == seq:
                    change(target)

            try:
                rows = rehash(forge.rows, apply)
                found = first(check(forge.with_rows(rows), file))
            except (KeyError, TypeError):
                continue  # a statement without what the forger itself needs
        else:
            statement = json.loads(forge.rows[seq].payload)
            change(statement)
            with tampering(file) as connection:
                payload = rfc8785.dumps(statement)
                sql = "UPDATE event SET payload = ? WHERE seq = ?"
                connection.execute(sql, (payload, seq))
            found = first(again(file))
        assert found[1:] == (seq, 1), found


@pytest.mark.parametrize("seq", range(SIZE))
def test_signed_by_the_writer_itself(forge: Forge, file: Path, seq: int) -> None:
    """Even with the keys, nothing can be added to the statement's own members."""
    names = {0: "root", 6: "root", 8: "root", 7: "second"}
    signer = forge.key(names.get(seq, "writer"))
    for path in objects(json.loads(forge.rows[seq].payload)):
        if path[:2] == ("predicate", "data"):
            continue
        forged = forge.with_rows(forge.rows[:seq])
        statement = json.loads(forge.rows[seq].payload)
        at(statement, path)["zzz"] = "x"
        forged.blobs = [blob for blob in forge.blobs if blob[1] <= seq]
        forged.add(statement, signer)
        rule, where, exit_code = first(check(forged, file))
        expected = "event/subject" if path[:1] == ("subject",) else "event/shape"
        assert (rule, where, exit_code) == (expected, seq, 1), path


ODD: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda p: p.replace(b'{"_type"', b'{ "_type"'), "event/canonical"),
    (lambda p: p.replace(b'"version":1}', b'"version":1.0}'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":"x","text":"y"'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":"\\u0078"'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":3.0'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":[3.0]'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":[{"a":[1e2]}]'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":"x","a":1'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":{"b":1,"a":2}'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":-0'), "event/canonical"),
    (
        lambda p: p.replace(b'"text":"x"', '"\uffff":1,"\U0001f600":2'.encode()),
        "event/canonical",
    ),
    (lambda p: p.replace(b'"text":"x"', b'"text":1e400'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":9007199254740992'), "event/canonical"),
    (
        lambda p: p.replace(b'"text":"x"', b'"text":%b1%b' % (b"[" * 63, b"]" * 63)),
        "event/canonical",
    ),
    (lambda p: p.replace(b'"text":"x"', b'"text":"\\ud800"'), "event/canonical"),
    (lambda p: p.replace(b'"text":"x"', b'"text":"%b"' % (b"y" * 70000)), "event/size"),
    (lambda p: p.replace(b'Z"', b'+00:00"'), "event/time"),
    (lambda p: p.replace(b"2026-11-20T", b"2026-11-31T"), "event/time"),
    (lambda p: p.replace(b"2026-11-20T", b"2025-11-20T"), "event/time"),
    (lambda p: p.replace(b"note.added", b"Note added"), "event/shape"),
    (lambda p: p.replace(b"note.added", "nöte.added".encode()), "event/shape"),
    (lambda p: p.replace(b"urn:muniment", b"urn:other"), "event/predicate-type"),
    (lambda p: p.replace(b'"version":1}', b'"version":true}'), "event/shape"),
    (lambda p: p.replace(b'"version":1}', b'"version":0}'), "event/shape"),
    (lambda p: p.replace(b'"actor":"local"', b'"actor":null'), "event/shape"),
    (lambda p: p.replace(b'"data":{"text":"x"}', b'"data":[]'), "event/shape"),
    (lambda _: b"[]", "event/shape"),
    (lambda _: b"", "event/canonical"),
    (lambda _: b"\xff\xfe", "event/canonical"),
    (lambda p: p + b"\n", "event/canonical"),
]


def redigest(payload: bytes) -> bytes:
    """Make the subject that of the bytes of ``data``, whatever they are."""
    start, middle, rest = payload.partition(b',"muniment":')
    data = start.partition(b'"data":')[2]
    old = hashlib.sha256(b'{"text":"x"}').hexdigest().encode()
    new = hashlib.sha256(data).hexdigest().encode()
    return start + middle + rest.replace(old, new)


@pytest.mark.parametrize("number", range(len(ODD)))
def test_odd_bytes_signed_by_the_writer(file: Path, number: int) -> None:
    """What parsers could read differently is refused, although the writer signed it."""
    change, expected = ODD[number]
    forge = Forge("one").open()
    forge.append("note.added", {"text": "before"})
    statement = forge.statement("note.added", {"text": "x"})
    original = rfc8785.dumps(statement)
    payload = redigest(change(original))
    assert payload != original
    row = forge.add_bytes(payload, statement, forge.key("writer"))
    if b"added" in payload and expected == "event/shape":
        kind = json.loads(payload)["predicate"]["muniment"]["type"]
        forge.rows[-1] = replace(row, type=kind)
    rules = {finding.rule for finding in check(forge, file).findings}
    assert first(check(forge, file))[1:] == (2, 1)
    assert expected in rules


def test_honest_oddities_pass(file: Path) -> None:
    """Floats, other scripts, escapes and deep nesting are fine where canonical."""
    forge = Forge("one").open()
    deep: Any = 1.5
    for _ in range(50):
        deep = [deep]
    data: dict[str, Any]
    for data in (
        {"ü": "ß", "\U0001f600": 1, "\uffff": 2},
        {"x": [1e21, 1e-7, 0.1, -0.5, {"y": 5e-324}]},
        {"x": deep},
        {"text": '\0\x1f"\\/\u2028\x7f'},
        {"text": '"$blob"', "n": None, "b": [True, False], "e": {}, "l": []},
        {},
    ):
        forge.append("x.noted", data, actor='Zoë "x"', tenant="\\")
    assert check(forge, file).findings == ()
