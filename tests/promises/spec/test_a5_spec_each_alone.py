"""Sentences of the specification that only a small world of their own can break."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forge import RUN, Forge, keyid
from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification import verify as verifying
from muniment.verification.memory import Memory, recall
from muniment.verification.snapshot import open_snapshot
from muniment.verification.verify import verify
from muniment_cli import main


def noted() -> Forge:
    """Return a ledger with one sound event."""
    forge = Forge("one").open()
    forge.append("note.added", {"text": "sound"})
    return forge


def test_no_function_of_a_schema_is_called(tmp_path: Path) -> None:
    """A view that calls a function of the process finds none that it may call."""
    called: list[int] = []
    for trusted in (False, True):
        place = noted().write(tmp_path / f"{trusted}.db")
        with closing(sqlite3.connect(place)) as connection:
            connection.execute("CREATE VIEW planted AS SELECT spy() AS seq")
        with open_snapshot(place) as snapshot:
            snapshot.connection.create_function("spy", 0, lambda: called.append(1))
            if trusted:
                snapshot.connection.execute("PRAGMA trusted_schema=ON")
                snapshot.connection.execute("SELECT * FROM planted").fetchall()
                continue
            with pytest.raises(sqlite3.OperationalError, match="unsafe use of spy"):
                snapshot.connection.execute("SELECT * FROM planted")
            assert not called
    assert called, "the view would have called it"


def test_a_checkpoint_syncs_the_head(
    ledger: Ledger, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head of the last event under a checkpoint is on the disk, not in memory only."""
    (head,) = home.rglob("head")
    synced: list[bytes] = []
    sync = os.fsync

    def spy(fd: int) -> None:
        sync(fd)
        if os.fstat(fd).st_ino == head.stat().st_ino:
            synced.append(head.read_bytes())

    monkeypatch.setattr(os, "fsync", spy)
    event = ledger.append("note.added", {"text": "x"})
    assert not synced
    ledger.checkpoint()
    assert [bytes.fromhex(event.hash) in one for one in synced] == [True]


def test_a_checkpoint_is_in_the_file_before_anybody_has_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the file while it is handed on finds it, with the events under it."""
    ledger.append("note.added", {"text": "x"})
    found: list[tuple[int, int, bytes]] = []
    anchor = TrustHome.anchor

    def spy(self: TrustHome, ledger_id: str, note: bytes) -> None:
        with closing(
            sqlite3.connect(f"file:{ledger.path}?mode=ro", uri=True)
        ) as reader:
            query = "SELECT size, (SELECT count(*) FROM event), note FROM checkpoint"
            found.append(reader.execute(f"{query} ORDER BY size DESC").fetchone())
        assert found[-1][2] == note
        anchor(self, ledger_id, note)

    monkeypatch.setattr(TrustHome, "anchor", spy)
    ledger.checkpoint()
    assert [(size, events) for size, events, _ in found] == [(2, 2)]


def test_no_blob_is_shared_by_two_runs(ledger: Ledger) -> None:
    """One content in two runs stands behind two commitments."""
    tags: list[str] = []
    for _ in range(2):
        done = ledger.execute(lambda lane: lane.effect("llm", "q", str))
        for event in ledger.events(run=done.run_id):
            held = event.data.values() if event.type == "llm.requested" else ()
            tags += [one.digest for one in held if isinstance(one, BlobRef)]
    assert len(set(tags)) == len(tags) == 2


def test_every_blob_has_a_salt_of_its_own(ledger: Ledger) -> None:
    """One content in three events is there three times, each behind a fresh salt."""
    for _ in range(3):
        ledger.append("note.added", {"text": "x", "details": "y"})
    ledger.close()
    with closing(sqlite3.connect(ledger.path)) as connection:
        rows = connection.execute("SELECT digest, data FROM blob").fetchall()
    assert len(rows) == len({data[:32] for _, data in rows}) == 3
    assert {data[32:] for _, data in rows} == {b'"y"'}
    assert all(hashlib.sha256(data).digest() == digest for digest, data in rows)


def test_a_snapshot_is_younger_than_the_memory(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that comes before, and one after the memory is read, raise no alarm."""

    def beside(*told: Any) -> Memory:
        ledger.append("note.added", {"text": "before"})
        memory = recall(*told)
        ledger.append("note.added", {"text": "after"})
        return memory

    monkeypatch.setattr(verifying, "recall", beside)
    for size in (3, 5, 7):
        report = verify(ledger.path)
        assert (report.ok, report.size) == (True, size), str(report)


def test_a_json_file_is_renamed_into_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change makes a new file, synced; who has the old one open reads it whole."""
    home, forge = TrustHome(tmp_path / "home"), Forge("one").open()
    home.pin(forge.ledger, keyid(forge.key("root")))
    file = next((tmp_path / "home").rglob("pins.json"))
    synced: dict[int, int] = {}
    sync, rename = os.fsync, os.replace

    def spy(fd: int) -> None:
        sync(fd)
        synced[os.fstat(fd).st_ino] = os.fstat(fd).st_size

    def renamed(*places: Any, **folders: Any) -> None:
        assert synced, "it has the old name before it is on the disk"
        rename(*places, **folders)

    monkeypatch.setattr(os, "fsync", spy)
    monkeypatch.setattr(os, "replace", renamed)
    with file.open("rb") as old:
        home.pin(forge.ledger, keyid(forge.key("next")))
        assert len(json.loads(old.read())) == 1
        assert os.fstat(old.fileno()).st_ino != file.stat().st_ino
    assert len(json.loads(file.read_bytes())) == 2
    assert synced[file.stat().st_ino] == file.stat().st_size


def test_what_was_seen_is_not_replaced_by_less(tmp_path: Path) -> None:
    """Neither a shorter ledger nor another one takes the place of an entry."""
    place, home = tmp_path / "copy.db", tmp_path / "home"
    longer = noted()
    longer.append("note.added", {"text": "more"})
    for forge in (longer, noted(), Forge("two").open()):
        place.unlink(missing_ok=True)
        forge.write(place)
        verify(place, home=home, keys=[keyid(forge.key("root"))], remember=True)
        said = json.loads((home / "seen.json").read_bytes())
        assert [(one["ledger"], one["size"]) for one in said.values()] == [
            (longer.ledger, len(longer.rows))
        ]


def test_a_line_is_synced_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of the trust home is on the disk, whole, before success is reported."""
    home, forge = TrustHome(tmp_path / "home"), noted()
    synced: list[bytes] = []
    sync = os.fsync

    def spy(fd: int) -> None:
        sync(fd)
        synced.extend(
            file.read_bytes() for file in (tmp_path / "home").rglob("anchors.jsonl")
        )

    monkeypatch.setattr(os, "fsync", spy)
    home.anchor(forge.ledger, forge.note())
    file = next((tmp_path / "home").rglob("anchors.jsonl"))
    assert file.read_bytes().endswith(b"\n")
    assert file.read_bytes() in synced


@pytest.mark.parametrize("second", ["run.completed", "run.failed", "run.resumed"])
def test_readers_keep_the_first_end(
    second: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What follows the end of a completed run changes neither its status nor its end."""
    forge = noted()
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    forge.end_run(RUN, duration_us=7)
    told: list[list[object]] = []
    for more in (False, True):
        if more and second == "run.resumed":
            forge.append(second, {"generation": 1}, run=RUN)
        elif more:
            said = {"error_type": "E"} if second == "run.failed" else {}
            forge.end_run(RUN, second, duration_us=9, **said)
        place = forge.write(tmp_path / f"{more}.db")
        told.append([])
        for line in (
            ("query", "SELECT status, ended, duration_us FROM runs"),
            ("query", "SELECT error_type FROM runs"),
            ("runs", "list", "--json"),
        ):
            assert main(["--ledger", str(place), *line]) == 0
            told[-1].append(capfd.readouterr().out)
    sql, runs = slice(0, 2), [json.loads(str(one[2])) for one in told]
    assert told[0][sql] == told[1][sql]
    assert "completed" in str(told[1][0])
    assert str(runs[1]).count("'completed'") == str(runs[0]).count("'completed'") > 0
