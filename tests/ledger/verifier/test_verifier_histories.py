"""The verifier against histories that never were, by whoever has some of the keys."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from attacking import again, check, first, small, tampering
from forge import (
    RUN,
    Forge,
    Row,
    entry,
    leaf_hash,
    make_key,
    pae,
    raw,
)
from muniment.formats.tables import SCHEMA

SIZE = 15


@pytest.fixture(scope="module")
def forge() -> Forge:
    """Return a ledger with every kind of thing in it."""
    return small()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where ledgers are written."""
    return tmp_path / "ledger.db"


# --- rows moved about --------------------------------------------------------------


def renumbered(rows: list[Row]) -> list[Row]:
    """Return the rows with numbers from 0."""
    return [replace(row, seq=seq) for seq, row in enumerate(rows)]


@pytest.mark.parametrize("seq", range(SIZE - 1))
@pytest.mark.parametrize("renumber", [False, True])
def test_delete(forge: Forge, file: Path, seq: int, renumber: bool) -> None:
    """A deleted event is missing at its place, whether or not rows are renumbered."""
    rows = forge.rows[:seq] + forge.rows[seq + 1 :]
    report = check(forge.with_rows(renumbered(rows) if renumber else rows), file)
    assert first(report)[1:] == (seq, 1)
    assert report.findings[0].kind in ("missing", "edited")
    if not renumber:
        assert first(report)[0] == "event/seq"


@pytest.mark.parametrize("seq", range(SIZE - 1))
def test_swap(forge: Forge, file: Path, seq: int) -> None:
    """Two events that changed places are reordered."""
    rows = list(forge.rows)
    rows[seq], rows[seq + 1] = rows[seq + 1], rows[seq]
    report = check(forge.with_rows(renumbered(rows)), file)
    assert first(report)[1:] == (seq, 1)
    found = {finding.kind for finding in report.findings if finding.seq == seq}
    assert "reordered" in found


@pytest.mark.parametrize("seq", range(1, SIZE))
def test_insert_a_copy(forge: Forge, file: Path, seq: int) -> None:
    """A row that was put in between is found there."""
    rows = [*forge.rows[:seq], forge.rows[seq - 1], *forge.rows[seq:]]
    report = check(forge.with_rows(renumbered(rows)), file)
    assert first(report)[1:] == (seq, 1)
    assert "inserted" in {f.kind for f in report.findings if f.seq == seq}


@pytest.mark.parametrize("count", [1, 5, SIZE - 1])
@pytest.mark.parametrize("renumber", [False, True])
def test_cut_the_beginning(
    forge: Forge, file: Path, count: int, renumber: bool
) -> None:
    """A ledger without its beginning is found at 0."""
    rows = forge.rows[count:]
    report = check(forge.with_rows(renumbered(rows) if renumber else rows), file)
    assert first(report)[1:] == (0, 1)


def test_tail_cut_under_a_checkpoint(forge: Forge, file: Path) -> None:
    """A log shorter than its own checkpoint is truncated, without any memory."""
    report = check(forge.with_rows(forge.rows[:10], notes=True), file)
    assert ("checkpoint/beyond", 10) in {(f.rule, f.seq) for f in report.findings}
    assert report.exit_code == 1


def test_row_of_another_ledger(forge: Forge, file: Path) -> None:
    """An event of another ledger of the same writer is foreign here."""
    other = Forge("one").open(nonce="ab" * 32)
    other.append("note.added", {"text": "elsewhere"})
    forged = forge.with_rows([forge.rows[0], other.rows[1]])
    forged.blobs = []
    rules = {(f.rule, f.seq) for f in check(forged, file).findings}
    assert ("event/ledger", 1) in rules


@pytest.mark.parametrize("fast", [False, True])
def test_unsigned_rows_after_the_last_checkpoint(
    forge: Forge, file: Path, fast: bool
) -> None:
    """Rows without a signature of the key are found, also by --fast."""
    forged = forge.copy()
    statement = forged.statement("note.added", {"text": "forged"})
    row = forged.add(statement, make_key("stranger"))
    mine = raw(forge.key("writer"))
    leaf = leaf_hash(row.payload, row.signature, mine)
    forged.rows[-1] = replace(row, key=mine, hash=leaf)
    report = check(forged, file, fast=fast)
    assert first(report) == ("event/signature", SIZE, 1)


def test_fast_checks_key_events(file: Path) -> None:
    """--fast checks who enrolled a key, however many checkpoints follow."""
    forge = Forge("one").open()
    stranger = make_key("stranger")
    data = entry(stranger, ["writer", "checkpoint"], forge.ledger)
    row = forge.append("key.enrolled", data, signer=stranger)
    mine = raw(forge.key("root"))
    leaf = leaf_hash(row.payload, row.signature, mine)
    forge.rows[-1] = replace(row, key=mine, hash=leaf)
    forge.append("note.added", {"text": "forged"}, signer=stranger)
    forge.notes = [(3, forge.note(signer=stranger))]
    report = check(forge, file, fast=True)
    assert first(report) == ("event/signature", 1, 1)


@pytest.mark.parametrize("fast", [False, True])
def test_rebuilt_under_another_key(file: Path, fast: bool) -> None:
    """A perfect ledger under other keys is not the pinned one."""
    report = check(small("two"), file, fast=fast)
    assert first(report) == ("key/pin", None, 1)
    assert (report.integrity, report.authenticity) == ("intact", "wrong")


# --- keys ---------------------------------------------------------------------------


def test_roles_and_intervals(forge: Forge, file: Path) -> None:
    """A key counts in its role, from its enrolment to its end, and nowhere else."""
    for name in ("root", "checkpoint", "second", "next", "stranger"):
        forged = forge.copy()
        forged.append("note.added", {"text": "x"}, signer=forge.key(name))
        assert first(check(forged, file)) == ("key/role", SIZE, 1), name
    early = forge.with_rows(forge.rows[:5])
    early.blobs = early.blobs[:2]
    early.append("note.added", {"text": "x"}, signer=forge.key("second"))
    assert first(check(early, file)) == ("key/role", 5, 1)
    enrolled = forge.copy()
    data = entry(make_key("new"), ["writer"], forge.ledger)
    enrolled.append("key.enrolled", data, signer=forge.key("writer"))
    assert first(check(enrolled, file)) == ("key/role", SIZE, 1)


@pytest.mark.parametrize("name", ["writer", "stranger", "root"])
def test_checkpoint_by_another_key(forge: Forge, file: Path, name: str) -> None:
    """A checkpoint counts only by a checkpoint key."""
    forged = forge.copy()
    forged.notes.append((SIZE, forge.note(signer=forge.key(name))))
    assert first(check(forged, file)) == ("checkpoint/unsigned", SIZE - 1, 1)


def test_checkpoint_of_another_root_size_and_ledger(forge: Forge, file: Path) -> None:
    """A checkpoint with another root, size or origin than its place has is found."""
    for note, rule in (
        (forge.sign_note(SIZE, b"x" * 32), "checkpoint/root"),
        (forge.note(4), "checkpoint/size"),
        (small("two").note(), "checkpoint/origin"),
        (b"nonsense", "note/final-newline"),
    ):
        forged = forge.copy()
        forged.notes.append((SIZE, note))
        assert first(check(forged, file)) == (rule, SIZE - 1, 1)


def test_signature_from_another_context(forge: Forge, file: Path) -> None:
    """The bytes that a checkpoint key signed are not event, and the other way round."""
    forged = forge.copy()
    row = forged.append("note.added", {"text": "x"})
    bare = forge.key("writer").sign(row.payload)
    assert bare != forge.key("writer").sign(pae(row.payload))
    leaf = leaf_hash(row.payload, bare, row.key)
    forged.rows[-1] = replace(row, signature=bare, hash=leaf)
    assert first(check(forged, file)) == ("event/signature", SIZE, 1)


@pytest.mark.parametrize("key", [b"\0" * 32, b"\1" + b"\0" * 31, b"\xff" * 32])
def test_weak_key(forge: Forge, file: Path, key: bytes) -> None:
    """A low-order or non-canonical key is refused by name, whatever it verifies."""
    forged = forge.copy()
    row = forged.append("note.added", {"text": "x"})
    signature = b"\1" + b"\0" * 63
    leaf = leaf_hash(row.payload, signature, key)
    forged.rows[-1] = replace(row, signature=signature, key=key, hash=leaf)
    rule, seq, exit_code = first(check(forged, file))
    assert (rule in ("key/low-order", "key/non-canonical"), seq) == (True, SIZE)
    assert exit_code == 1


# --- runs, blobs, subjects, schema ----------------------------------------------------


def test_event_left_out_of_a_run(file: Path) -> None:
    """A producer who leaves out an event of a run is found by counts and root."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    forge.append("claim.stated", {"id": "c1", "text": "t"}, run=RUN)
    shorter = forge.copy()
    del shorter.rows[-1:]
    end = json.loads(forge.end_run(RUN).payload)["predicate"]["data"]
    assert check(forge, file).ok
    shorter.append("run.completed", end, run=RUN)
    report = check(shorter, file)
    assert [(f.rule, f.seq) for f in report.findings] == [
        ("run/counts", 2),
        ("run/root", 2),
    ]
    assert check(shorter, file, fast=True).ok


def test_blobs(file: Path) -> None:
    """Missing, foreign, wrong, misplaced and undead contents are found."""
    base = Forge("one").open()
    reference = base.blob(b"[1]")
    base.append("x.noted", {"details": reference})
    large = base.blob(b"y" * 100, file=True)
    base.append("x.noted", {"details": large, "other": reference})
    assert check(base, file).ok
    digest, seq, data = base.blobs[0]
    assert data is not None
    for blobs, rule in (
        ([(digest, seq, None)], "blob/missing"),
        ([], "blob/missing"),
        ([(digest, seq, data[:-1] + b"x")], "blob/commitment"),
        ([(digest, seq, data + b"x")], "blob/size"),
        ([(digest, 2, data)], "blob/seq"),
        ([(digest, 0, data)], "blob/unreferenced"),
        ([(digest, seq, data), (b"z" * 32, 1, b"z" * 35)], "blob/unreferenced"),
        ([(digest, seq, data), (b"z" * 32, 9, b"z" * 35)], "blob/unreferenced"),
    ):
        forged = base.copy()
        forged.blobs = sorted([*blobs, base.blobs[1]], key=lambda blob: blob[1])
        report = check(forged, file)
        assert rule in {f.rule for f in report.findings}, rule
        assert report.exit_code == 1
    path = Path(f"{file}.blobs") / base.blobs[1][0].hex()
    for content in (b"", path.read_bytes()[:-1] + b"x", None):
        check(base, file)
        path.unlink() if content is None else path.write_bytes(content)
        assert first(again(file))[1:] == (2, 1)
    for tag in (reference, large):
        forged = base.copy()
        forged.append("blob.erased", {"blobs": [tag["$blob"]], "reason": "x"})
        report = check(forged, file)
        assert first(report) == ("blob/erased", 3, 1), tag


def test_blob_reference_of_another_shape(file: Path) -> None:
    """What begins like a reference is one, or wrong."""
    for bad in (
        {"$blob": "sha256:zz", "size": 1},
        {"$blob": "sha256:" + "0" * 64},
        {"$blob": "sha256:" + "0" * 64, "size": True},
        {"$blob": "sha256:" + "0" * 64, "size": 1, "more": 1},
        {"$blob": 5, "size": 1},
    ):
        forge = Forge("one").open()
        forge.append("x.noted", {"details": bad})
        assert first(check(forge, file)) == ("blob/reference", 1, 1)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER planted AFTER INSERT ON event BEGIN SELECT 1; END",
        "CREATE VIEW planted AS SELECT 1",
        "CREATE TABLE planted (x)",
        "CREATE INDEX planted ON event (hash)",
        "ALTER TABLE event ADD COLUMN planted",
        "DROP TRIGGER event_no_update",
        "DROP INDEX event_by_type",
        "ANALYZE",
    ],
)
def test_planted_objects(forge: Forge, file: Path, sql: str) -> None:
    """A planted, altered or dropped object is found before a table is trusted."""
    forge.write(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(sql)
    report = again(file)
    assert {finding.kind for finding in report.findings} == {"schema"}
    assert report.exit_code == 1


def test_view_in_the_place_of_a_table(file: Path) -> None:
    """A view or a table of another shape named like ours is found, without a crash."""
    for sql in ("CREATE VIEW event AS SELECT 1 AS seq", "CREATE TABLE event (x)"):
        file.unlink(missing_ok=True)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("PRAGMA application_id=0x6d756e69")
            connection.execute("PRAGMA user_version=1")
            connection.execute(sql)
        report = again(file)
        assert "schema" in {finding.kind for finding in report.findings}
        assert report.exit_code == 1


def test_index_that_disagrees(forge: Forge, file: Path) -> None:
    """An index that gives queries another answer than the table is found."""
    forge.write(file)
    name = "event_by_type"
    with tampering(file) as connection:
        connection.execute("UPDATE event SET type = 'x.y' WHERE seq = 3")
        page = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
        ).fetchone()[0]
    for sql, values in (
        ("DELETE FROM sqlite_master WHERE name = ?", (name,)),
        ("UPDATE event SET type = 'llm.requested' WHERE seq = 3", ()),
        (
            "INSERT INTO sqlite_master VALUES ('index', ?, 'event', ?, ?)",
            (name, page, SCHEMA[name]),
        ),
    ):
        with tampering(file) as connection:
            connection.execute("PRAGMA writable_schema=ON")
            connection.execute(sql, values)
    report = again(file)
    assert {finding.rule for finding in report.findings} == {"file/index"}
    assert (report.integrity, report.exit_code) == ("wrong", 1)
