"""No journal that somebody put beside a database of ours deletes a file elsewhere."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import muniment
from forked_commands import ForkedCommands
from muniment.errors import StoreError

COMMANDS = (
    *("status", "runs", "events", "rebuild", "verify", "keys list", "doctor"),
    *("runs show RUN", "runs explain RUN", "replay RUN", "run program.py"),
    *("query SELECT-1", "erase RUN --reason x --yes", "backup copy.db"),
)
MAGIC = bytes([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7])


def plant(database: Path, victim: Path) -> Path:
    """Put a hot journal beside *database* whose end names *victim* as its superior."""
    (page,) = struct.unpack(">H", database.read_bytes()[16:18])
    pages = database.stat().st_size // page
    head = (MAGIC + struct.pack(">IIIII", 0, 1234, pages, 512, page)).ljust(512, b"\0")
    name = os.fsencode(victim)
    end = struct.pack(">I", (0x40000000 // page) + 1) + name
    end += struct.pack(">II", len(name), sum(name)) + MAGIC
    journal = database.with_name(f"{database.name}-journal")
    journal.write_bytes(head + end)
    return journal


Shell = Callable[..., tuple[int, str]]


@pytest.fixture
def shell(work: Path, commands: ForkedCommands, tmp_path: Path) -> Shell:
    """Give what runs a command in a process of its own, beside the ledger."""
    return lambda *line: commands.run(line, work, tmp_path / "said")


@pytest.fixture
def work(tmp_path: Path, commands: ForkedCommands) -> Path:
    """Make a ledger with a run and a cache."""
    place = tmp_path / "work"
    place.mkdir()
    (place / "program.py").write_text("def main(run):\n    return 1\n")
    for line in (["init"], ["run", "program.py"], ["runs"]):
        assert commands.run(line, place, tmp_path / "said")[0] == 0
    return place


def test_sqlite_alone_deletes_it(work: Path) -> None:
    """The attack is one: without us, the file is gone."""
    victim = work / "victim"
    victim.write_text("precious")
    plant(work / ".muniment" / "cache.db", victim)
    with closing(sqlite3.connect(work / ".muniment" / "cache.db")) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master")
    assert not victim.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cache.db", "ledger.db"])
def test_no_command_does(work: Path, shell: Shell, name: str) -> None:
    """Whatever is asked of the ledger, the file that the journal names stays."""
    victim, database = work / "victim", work / ".muniment" / name
    known = json.loads(shell("runs", "list", "--json")[1])[0]["id"]
    for command in COMMANDS:
        victim.write_text("precious")
        journal = plant(database, victim)
        line = [known if one == "RUN" else one for one in command.split()]
        line = [one.replace("SELECT-1", "SELECT 1") for one in line]
        assert "Traceback" not in shell(*line)[1]
        assert victim.exists(), command
        journal.unlink(missing_ok=True)


@pytest.mark.parametrize("command", ["status", "run program.py", "verify", "events"])
@pytest.mark.parametrize("kind", ["hot", "junk"])
def test_a_journal_is_named(work: Path, shell: Shell, command: str, kind: str) -> None:
    """Beside a ledger it is refused by its name, with what to do; then all is well."""
    ledger = work / ".muniment" / "ledger.db"
    before = ledger.read_bytes()
    journal = plant(ledger, work / "victim")
    if kind == "junk":
        journal.write_text("somebody's notes")
    code, said = shell(*command.split())
    assert code == 3, said
    assert "a rollback journal lies here" in said
    assert str(journal) in said
    assert "move it away" in said
    assert ("store/journal" in said) != ("file/sibling" in said)
    assert (ledger.read_bytes(), journal.exists()) == (before, True)
    journal.unlink()
    assert shell(*command.split())[0] == 0


def test_a_journal_that_comes_later(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that is open already does not take one in when it begins to write."""
    monkeypatch.chdir(work)
    victim = work / "victim"
    victim.write_text("precious")
    with muniment.open(readonly=True) as reading:
        plant(reading.path, victim)
        with (
            pytest.raises(StoreError, match="store/journal"),
            muniment.open() as ledger,
        ):
            ledger.append("note.added", {"text": "x"})
        database = reading.store.database
        with pytest.raises(StoreError, match="store/journal"):
            database.writing()
    assert victim.exists()


@pytest.mark.parametrize("data", [b"", bytes(512)])
def test_a_journal_that_says_nothing(work: Path, shell: Shell, data: bytes) -> None:
    """What SQLite takes for none is none: it is left, and work goes on."""
    journal = work / ".muniment" / "ledger.db-journal"
    journal.write_bytes(data)
    for command in COMMANDS[:5]:
        assert shell(*command.split())[0] == 0


def test_the_cache_still_remembers(work: Path, shell: Shell) -> None:
    """A journal costs what was written last, not the cache."""
    cache = work / ".muniment" / "cache.db"
    before = cache.read_bytes()
    journal = plant(cache, work / "victim")
    assert shell("runs")[0] == 0
    assert not journal.exists()
    assert cache.read_bytes() == before
