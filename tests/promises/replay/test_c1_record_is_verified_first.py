"""Nothing is answered from a record that does not verify, and the program is not called."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from forge import RUN, Forge, Row, leaf_hash, make_key, pae, raw, rehash
from muniment.errors import WrongError
from muniment.ledger import Ledger
from muniment.recorded import run_check
from muniment.replays.replay import replay
from muniment.runs.run import Run

EVENTS = ("run.started", "claim", "asked", "answered", "note", "asked", "answered")
CALLED: list[str] = []


def program(run: Run, *, fail: bool = False) -> object:
    """State two facts around two effects."""
    CALLED.append(run.mode)
    run.record("claim.stated", {"id": "c1", "text": "t", "acceptance": {}})
    one = run.effect("llm", {"prompt": "one"}, lambda _: {"answer": "yes"})
    run.record("note.added", {"text": "between"})

    def two(_: object) -> object:
        if fail and run.mode == "live":
            raise KeyboardInterrupt
        return {"found": 2}

    return [one, run.effect("tool", {"name": "two"}, two)]


@pytest.fixture
def recorded(ledger: Ledger) -> tuple[Path, str]:
    """Record a run that completed; return the closed ledger, and its id."""
    CALLED.clear()
    done = ledger.execute(program)
    ledger.append("note.added", {"text": "of no run"})
    ledger.close()
    return ledger.path, done.run_id


def rows_of(path: Path) -> list[Row]:
    """Return the rows of the ledger at *path*."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT seq, type, run, payload, signature, key, hash FROM event "
            "ORDER BY seq"
        )
        return [Row(*row) for row in found]


def put(path: Path, rows: list[Row], blobs: dict[bytes, bytes] | None = None) -> None:
    """Let the ledger at *path* have these *rows*; whoever edits files needs no key."""
    with closing(sqlite3.connect(path)) as connection, connection:
        guards = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM event")
        connection.executemany(
            "INSERT INTO event VALUES (?,?,?,?,?,?,?)",
            [
                (r.seq, r.type, r.run, r.payload, r.signature, r.key, r.hash)
                for r in rows
            ],
        )
        for digest, data in (blobs or {}).items():
            connection.execute(
                "INSERT INTO blob (digest, seq, data) VALUES (?, 1, ?)", (digest, data)
            )
        for _, sql in guards:
            connection.execute(sql)


Tampering = Callable[[list[Row], int], list[Row]]


def _at(rows: list[Row], seq: int, **changes: object) -> list[Row]:
    return [replace(r, **changes) if r.seq == seq else r for r in rows]  # type: ignore[arg-type]


def _edited(rows: list[Row], seq: int) -> list[Row]:
    def change(at: int, statement: dict[str, dict[str, dict[str, object]]]) -> None:
        if at == seq:
            statement["predicate"]["muniment"]["actor"] = "mallory"

    return rehash(rows, change)


def _resigned(rows: list[Row], seq: int) -> list[Row]:
    key, row = make_key("mallory"), rows[seq]
    signature = key.sign(pae(row.payload))
    leaf = leaf_hash(row.payload, signature, raw(key))
    return _at(rows, seq, signature=signature, key=raw(key), hash=leaf)


def _flipped(rows: list[Row], seq: int) -> list[Row]:
    signature = bytes([rows[seq].signature[0] ^ 1]) + rows[seq].signature[1:]
    leaf = leaf_hash(rows[seq].payload, signature, rows[seq].key)
    return _at(rows, seq, signature=signature, hash=leaf)


def _scalar(rows: list[Row], seq: int) -> list[Row]:
    leaf = leaf_hash(b"null", rows[seq].signature, rows[seq].key)
    return _at(rows, seq, payload=b"null", hash=leaf)


TAMPERINGS: dict[str, Tampering] = {
    "edited, and all of it linked again": _edited,
    "signed by a stranger": _resigned,
    "another signature": _flipped,
    "null in the place of the statement": _scalar,
    "another hash": lambda rows, seq: _at(rows, seq, hash=bytes(32)),
    "another type in the column": lambda rows, seq: _at(rows, seq, type="note.added"),
    "a payload that is text": lambda rows, seq: _at(
        rows, seq, payload=rows[seq].payload.decode()
    ),
    "left out": lambda rows, seq: [row for row in rows if row.seq != seq],
    "moved to no run": lambda rows, seq: _at(rows, seq, run=None),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_no_row_of_the_run_can_be_changed(
    recorded: tuple[Path, str], tmp_path: Path, name: str
) -> None:
    """Whatever is done to any row of a run, its replay is exit 1 and calls nothing."""
    path, run = recorded
    whole = rows_of(path)
    own = [row.seq for row in whole if row.run == run]
    assert len(own) == len(EVENTS) + 1
    caught = 0
    for seq in own:
        place = tmp_path / f"{seq}" / "ledger.db"
        place.parent.mkdir()
        shutil.copy(path, place)
        put(place, TAMPERINGS[name](whole, seq))
        if rows_of(place) == whole:
            continue  # a note already is of the type that the column now says
        CALLED.clear()
        with Ledger.open(place, readonly=True) as ledger:
            if name in ("left out", "moved to no run") and seq == own[-1]:
                continue  # then it is a run without an end, of which nothing is told
            with pytest.raises(WrongError) as caught_error:
                replay(ledger, run, program)
        assert caught_error.value.exit_code == 1
        assert CALLED == []
        caught += 1
    assert caught >= len(own) - 1


def test_an_answer_linked_again_without_a_key(recorded: tuple[Path, str]) -> None:
    """Another answer and another result, linked and hashed anew, are not acceptable."""
    path, run = recorded
    content = b"\1" * 32 + b'{"answer":"no"}'
    digest = sha256(content).hexdigest()

    def change(_: int, statement: dict[str, dict[str, dict[str, object]]]) -> None:
        if statement["predicate"]["muniment"]["type"] == "llm.completed":
            data = statement["predicate"]["data"]
            data["value"] = {"$blob": f"sha256:{digest}", "size": len(content) - 32}

    put(path, rehash(rows_of(path), change), {bytes.fromhex(digest): content})
    CALLED.clear()
    with Ledger.open(path, readonly=True) as ledger, pytest.raises(WrongError):
        replay(ledger, run, program)
    assert CALLED == []


@pytest.mark.parametrize("seq", range(1, 5))
def test_a_resume_goes_on_from_no_such_record(ledger: Ledger, seq: int) -> None:
    """What goes live is not begun, and nothing is written, after a row was changed."""
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program, params={"fail": True})
    run = next(ledger.events(type="run.started")).run
    ledger.close()
    rows = _flipped(rows_of(ledger.path), seq)
    put(ledger.path, rows)
    CALLED.clear()
    with Ledger.open(ledger.path) as again:
        with pytest.raises(WrongError):
            again.resume(str(run), program)
        assert CALLED == []
        assert again.head.size == len(rows)


def test_a_revoked_key_writes_no_record(tmp_path: Path) -> None:
    """A row that a writer signed after its key was revoked is not answered from."""
    for revoked in (False, True):
        forge = Forge().open()
        forge.enrol("other", ["writer"])
        forge.append("run.started", {"name": "x", "seed": "0", "params": None}, run=RUN)
        if revoked:
            keyid = json.loads(forge.rows[1].payload)["predicate"]["data"]["keyid"]
            gone = {"keyid": keyid, "reason": "lost"}
            forge.append("key.revoked", gone, signer=forge.key("root"))
        forge.append("note.added", {"text": "x"}, run=RUN, signer=forge.key("other"))
        forge.end_run(RUN)
        path = forge.write(tmp_path / f"{revoked}.db")
        with Ledger.open(path, readonly=True) as ledger:
            check = run_check.RunCheck(ledger.store.database, ledger.id, RUN)
            if not revoked:
                assert len(check.events()) == 3
                assert check.checked() == run_check.Checked(3, 5, proven=True)
                continue
            with pytest.raises(WrongError, match="not a writer here") as error:
                check.events()
        assert error.value.rule == "key/role"


@pytest.mark.parametrize("ordinal", [0, 1])
def test_an_ordinal_is_given_once(tmp_path: Path, ordinal: int) -> None:
    """A writer's second fact of one ordinal is found; a second outcome of one is not."""
    forge = Forge().open()
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    forge.append("note.added", {"text": "one"}, run=RUN)
    forge.append("note.added", {"text": "two"}, run=RUN, ordinal=ordinal)
    forge.end_run(RUN)
    path = forge.write(tmp_path / "ledger.db")
    with (
        Ledger.open(path, readonly=True) as ledger,
        pytest.raises(WrongError, match=f"ordinal {ordinal}") as error,
    ):
        run_check.RunCheck(ledger.store.database, ledger.id, RUN).events()
    assert (error.value.rule, error.value.seq) == ("run/ordinal", 3)


def test_the_report_says_what_was_verified(recorded: tuple[Path, str]) -> None:
    """Rows, signatures, and whether an end proves that no row is missing."""
    path, run = recorded
    with Ledger.open(path, readonly=True) as ledger:
        report = replay(ledger, run, program)
    number = len(EVENTS) + 1
    assert report.verdict == "acceptable"
    assert report.to_json()["verified"] == {
        "rows": number,
        "signatures": number + 1,  # and that of the genesis
        "root": True,
    }
    assert f"verified: {number} events, {number + 1} signatures" in str(report)


def test_the_cost_is_that_of_the_run(ledger: Ledger) -> None:
    """Keys are found by their type and rows by their run, never by going through all."""
    with ledger.store.database.reading() as driver:
        for sql, given in (
            (run_check._OF_RUN, (RUN, 0)),
            (run_check._OF_KEYS, ("key.revoked", RUN, 0)),
            (run_check._GENESIS, ("ledger.opened", 0)),
        ):
            plan = driver.execute(f"EXPLAIN QUERY PLAN {sql}", given).fetchall()
            assert [row[3][:6] for row in plan] == ["SEARCH"], plan
