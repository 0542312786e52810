"""Damage of the file: cut, garbled, altered; each is said in a line, none is fatal."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from faults import NOTE, clear, opened, refused, well
from muniment.copies.histories import compare_histories, open_history
from muniment.errors import MunimentError, WrongError
from muniment.formats.tables import SCHEMA
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify


def test_a_truncated_file(ledger: Ledger) -> None:
    """A file that was cut anywhere is refused in one line, by each way to use it."""
    for number in range(30):
        ledger.append("note.added", {"text": str(number), "details": "y" * 3000})
    ledger.close()
    place, kept = ledger.path, ledger.path.read_bytes()
    for size in (50, 100, 4096, 5000, 8192, 20_000, len(kept) // 2, len(kept) - 4096):
        place.write_bytes(kept[:size])
        _is_said(place)
    place.write_bytes(kept)
    well(place, 31)


def test_a_corrupt_page(ledger: Ledger) -> None:
    """A page of garbage anywhere is one clear line, or no matter for what was asked."""
    for number in range(30):
        ledger.append("note.added", {"text": str(number), "details": "y" * 300})
    ledger.close()
    place, kept = ledger.path, ledger.path.read_bytes()
    home, count = TrustHome().path, 0
    shutil.copytree(home, home.with_name("kept"))
    for start in range(0, len(kept), 4096):
        place.write_bytes(kept[:start] + b"\xa5" * 4096 + kept[start + 4096 :])
        count += _is_said(place)
        shutil.rmtree(home)
        shutil.copytree(home.with_name("kept"), home)
    assert count > 3
    place.write_bytes(kept)
    well(place, 31)


def _is_said(place: Path) -> bool:
    """Use the ledger in every way; all errors must be ours, of code 1, 3 or 4."""
    for suffix in ("-wal", "-shm"):
        Path(f"{place}{suffix}").unlink(missing_ok=True)
    try:
        with opened(place) as ledger:
            for event in ledger.events():
                ledger.resolve(event)
            ledger.append("note.added", NOTE)
    except MunimentError as error:
        clear(error, error.exit_code, error.rule)
        return error.exit_code in (1, 3, 4) or pytest.fail(f"exit {error.exit_code}")
    return False


def _of_the_schema(kept: bytes) -> list[int]:
    """Return where a byte of the name or the text of an object stands, in the file."""
    found: list[int] = []
    for name, text in SCHEMA.items():
        at = kept.index(text.encode())
        before = kept.rindex(name.encode(), 0, at)  # the name, or the table's
        found += [*range(before, before + len(name)), *range(at, at + len(text))]
    return found


@pytest.mark.parametrize("part", range(6))
def test_a_byte_of_the_schema(ledger: Ledger, part: int) -> None:
    """One byte of it that is not UTF-8: every reader says so, and nothing else."""
    ledger.close()
    place, kept = ledger.path, ledger.path.read_bytes()
    rules = set[str]()
    for count, at in enumerate(_of_the_schema(kept)[part::42]):
        for value in (0xFF, kept[at] ^ 0x80):
            place.write_bytes(kept[:at] + bytes([value]) + kept[at + 1 :])
            assert _is_said(place), (at, value)
            try:
                with opened(place):
                    pass
            except MunimentError as error:
                rules.add(error.rule)
            try:
                report = verify(place)
            except MunimentError as error:
                clear(error, 3, error.rule)
            else:
                assert report.exit_code, (count, at, value)
                rules |= {one.rule for one in report.findings}
    assert rules == {"file/unreadable", "schema/object", "store/corrupt"}


@pytest.mark.parametrize("column", ["payload", "signature", "key", "hash", "type"])
@pytest.mark.parametrize("value", [b"", b"{}", "text", 7, 1.5, b"\xff" * 32])
@pytest.mark.parametrize("seq", [0, 1])
def test_a_row_of_nonsense(
    ledger: Ledger, column: str, value: object, seq: int
) -> None:
    """Whatever stands in a row, using the ledger ends in an error of ours, or well."""
    ledger.append("note.added", {"text": "a"})
    ledger.close()
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("DROP TRIGGER event_no_update")
        sql = f"UPDATE event SET {column} = ? WHERE seq = ?"
        connection.execute(sql, (value, seq))
        connection.execute(SCHEMA["event_no_update"])
    _is_said(ledger.path)
    assert not verify(ledger.path).ok


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("note = CAST(note AS TEXT)", "checkpoint/column"),
        ("note = 7", "checkpoint/column"),
        ("note = 1.5", "checkpoint/column"),
        ("note = zeroblob(9)", "note/control"),
        ("size = size - 1", "checkpoint/size"),
    ],
)
def test_a_checkpoint_of_nonsense(ledger: Ledger, change: str, rule: str) -> None:
    """Whoever reads a checkpoint that is none is told so: proofs, copies, the writer."""
    ledger.append("note.added", NOTE)
    ledger.checkpoint()
    ledger.close()
    with closing(sqlite3.connect(ledger.path)) as database, database:
        database.execute("DROP TRIGGER checkpoint_no_update")
        database.execute(f"UPDATE checkpoint SET {change}")
        database.execute(SCHEMA["checkpoint_no_update"])
    uses: list[Callable[[Ledger], object]] = [
        lambda one: one.prove(0),
        lambda one: one.first_checkpoint_over(0),
        lambda one: one.last_checkpoint,
        Ledger.checkpoint,
    ]
    for use in uses:
        with pytest.raises(WrongError) as caught, opened(ledger.path) as reader:
            use(reader)
        clear(caught.value, 1, rule)
    store = open_history(ledger.path)
    with store as one, pytest.raises(WrongError):
        compare_histories(one, one)


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (a)",
        "CREATE INDEX i ON event (hash)",
        "DROP TRIGGER event_no_delete",
        "ALTER TABLE event ADD COLUMN more",
    ],
)
def test_a_planted_object(ledger: Ledger, planted: str) -> None:
    """A schema that was changed is refused before anything of it is used."""
    ledger.close()
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute(planted)
    refused(lambda: opened(ledger.path), 1, "schema/object")


def test_a_newer_layout(ledger: Ledger) -> None:
    """A file that a newer muniment wrote is left alone."""
    ledger.close()
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    refused(lambda: opened(ledger.path), 3, "store/layout")
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    well(ledger.path, 1)
