"""A SQLModel session over a ledger reads its rows, and can do nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Text, cast, col, func, select, text

import muniment
from muniment import BlobRow, CheckpointRow, EventRow, SubjectRow, TileRow
from muniment.errors import RefusedError, StoreError, UsageError
from muniment.ledger import Ledger

WRITES = (
    "INSERT INTO tile VALUES (1, 1, x'00')",
    "UPDATE blob SET data = NULL",
    "DELETE FROM event",
    "WITH x AS (SELECT 1) DELETE FROM event",
    "DROP TABLE event",
    "DROP TRIGGER event_no_delete",
    "CREATE TABLE x (y)",
    "CREATE TEMP TABLE x (y)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "ATTACH DATABASE '{path}' AS again",
    "ATTACH DATABASE 'other.db' AS other",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "PRAGMA query_only=OFF",
    "PRAGMA writable_schema=ON",
    "PRAGMA journal_mode=DELETE",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "REINDEX",
    "ANALYZE",
    "SAVEPOINT x",
)


@pytest.fixture
def asked(ledger: Ledger) -> Ledger:
    """Give a ledger with a run that asked a model twice."""

    def answer(request: Any) -> dict[str, str]:
        return {"text": "yes", "model": request["model"]}

    def program(run: muniment.Run) -> None:
        for model in ("m-1", "m-2"):
            run.effect("llm", {"model": model, "messages": []}, answer)

    ledger.execute(program)
    ledger.checkpoint()
    return ledger


def test_rows_are_those_of_the_ledger(asked: Ledger) -> None:
    """Each event is a row, with the same type, run, payload, signature, key and hash."""
    with asked.session() as session:
        rows = session.exec(select(EventRow).order_by(col(EventRow.seq))).all()
        assert [
            (r.seq, r.type, r.run, r.payload, r.signature, r.key, r.hash.hex())
            for r in rows
        ] == [
            (e.seq, e.type, e.run, e.payload, e.signature, e.key, e.hash)
            for e in asked.events()
        ]


def test_rows_are_joined_and_counted(asked: Ledger) -> None:
    """Conditions are checked by types, and members of the payload can be read."""
    model = func.json_extract(
        cast(EventRow.payload, Text), "$.predicate.data.about.model"
    )
    with asked.session() as session:
        completed = select(EventRow.seq, model).where(EventRow.type == "llm.completed")
        assert [said for _, said in session.exec(completed)] == ["m-1", "m-2"]
        counted = select(EventRow.type, func.count()).group_by(EventRow.type)
        assert dict(session.exec(counted).all())["llm.requested"] == 2
        salted = select(BlobRow.digest, BlobRow.data).where(
            col(BlobRow.data).is_not(None)
        )
        for digest, data in session.exec(salted):
            assert data is not None
            assert hashlib.sha256(data).digest() == digest
        (head,) = session.exec(select(CheckpointRow)).all()
        assert head.size == asked.checkpointed
        assert head.note.splitlines()[1] == str(head.size).encode()
        about = select(EventRow).join(
            SubjectRow, col(SubjectRow.seq) == col(EventRow.seq)
        )
        assert {json.loads(one.payload)["_type"] for one in session.exec(about)}
        assert session.exec(select(TileRow)).all() == []


@pytest.mark.parametrize("statement", WRITES)
def test_a_session_writes_nothing(
    asked: Ledger,
    statement: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Not in the ledger, nor beside it, nor anywhere else; and reading goes on."""
    place = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(place)
    before = {
        one: one.read_bytes() for one in asked.path.parent.iterdir() if one.is_file()
    }
    with asked.session() as session:
        with pytest.raises(RefusedError, match="only reads") as refused:
            session.connection().execute(text(statement.format(path=asked.path)))
        assert refused.value.rule == "query/forbidden"
        session.rollback()
        assert session.exec(select(func.count()).select_from(EventRow)).one()
    after = {one: one.read_bytes() for one in before}
    assert {one.name for one in before if before[one] != after[one]} <= {
        "ledger.db-shm"
    }
    assert list(place.iterdir()) == []


def test_objects_are_not_written(asked: Ledger) -> None:
    """A row that is new, changed or deleted in a session stays there."""
    with asked.session() as session:
        first = session.exec(select(EventRow)).first()
        assert first is not None
        first.type = "note.added"
        with pytest.raises(RefusedError, match=r"ledger\.append"):
            session.commit()
        session.rollback()
        session.add(TileRow(level=1, idx=0, hash=b""))
        with pytest.raises(RefusedError):
            session.flush()
        session.rollback()
        session.delete(session.exec(select(CheckpointRow)).one())
        with pytest.raises(RefusedError):
            session.commit()
        session.rollback()
    assert next(asked.events()).type == "ledger.opened"


def test_a_session_sees_what_is_appended(asked: Ledger) -> None:
    """Each statement reads the ledger as it is then; writers are not held up."""
    counted = select(func.count()).select_from(EventRow)
    with asked.session() as session:
        before = session.exec(counted).one()
        asked.append("note.added", {"text": "meanwhile"})
        assert session.exec(counted).one() == before + 1


def test_a_wrong_statement_is_an_error_of_ours(asked: Ledger) -> None:
    """It says what SQLite says, and where the columns are listed."""
    with asked.session() as session, pytest.raises(UsageError, match="no such column"):
        session.connection().execute(text("SELECT nope FROM event"))


def test_a_ledger_that_is_read_only_can_be_asked(asked: Ledger) -> None:
    """A ledger that is open for reading alone gives the same."""
    with (
        muniment.open(asked.path, readonly=True) as again,
        again.session() as session,
    ):
        assert session.get(EventRow, 0) is not None


def test_a_file_that_went_is_an_error_of_ours(asked: Ledger, tmp_path: Path) -> None:
    """A session begins by opening the file."""
    asked.path.rename(tmp_path / "moved.db")
    with pytest.raises(StoreError, match="No such file"), asked.session():
        pass
    (tmp_path / "moved.db").rename(asked.path)
