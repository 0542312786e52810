"""A successor quotes the largest tree head that is known of the old ledger."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from muniment.copies.successor import predecessor
from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.formats.checkpoint import Checkpoint, Note
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify


def size_of(quoted: object) -> int:
    """Return how many events the quoted checkpoint covers."""
    assert isinstance(quoted, str)
    return Checkpoint.parse(Note.parse(quoted.encode()).text).size


def test_the_memory_may_know_more_than_an_older_copy(
    ledger: Ledger, tmp_path: Path
) -> None:
    """After a restore of an old file, the newest anchored head is quoted."""
    ledger.checkpoint()
    shutil.copy(ledger.path, tmp_path / "old.db")
    ledger.append("note.added", {"text": "lost in the restore"})
    ledger.checkpoint()
    found = predecessor(str(tmp_path / "old.db"), "restored", ledger.home)
    assert found["ledger"] == ledger.id
    assert size_of(found["checkpoint"]) == 2


def test_a_stranger_quotes_what_the_file_says(ledger: Ledger, tmp_path: Path) -> None:
    """Without a memory the file's own signed head is quoted."""
    ledger.append("note.added", {"text": "x"})
    ledger.checkpoint()
    found = predecessor(str(ledger.path), "moved", TrustHome(tmp_path / "stranger"))
    assert size_of(found["checkpoint"]) == 2
    heir = Ledger.create(tmp_path / "heir.db", continues=found)
    heir.close()
    assert verify(tmp_path / "heir.db").exit_code == 0


def test_a_damaged_ledger_has_a_successor(ledger: Ledger) -> None:
    """Where the file is garbage, the trust home still knows the place."""
    ledger.checkpoint()
    ledger.close()
    ledger.path.write_bytes(b"garbage" * 1000)
    found = predecessor(str(ledger.path), "disk failed", ledger.home)
    assert found["ledger"] == ledger.id


def test_a_forged_head_is_not_quoted(ledger: Ledger, tmp_path: Path) -> None:
    """A checkpoint in the file that no key of it signed is refused."""
    ledger.checkpoint()
    ledger.close()
    copy = tmp_path / "copy.db"
    shutil.copy(ledger.path, copy)
    with sqlite3.connect(copy) as connection:
        (note,) = connection.execute("SELECT note FROM checkpoint").fetchone()
        name, size, _, *rest = note.split(b"\n")
        assert size == b"1"
        forged = b"\n".join([name, b"9", b"A" * 43 + b"=", *rest])
        connection.execute("INSERT INTO checkpoint VALUES (9, ?)", (forged,))
    connection.close()
    with pytest.raises(WrongError, match="signature"):
        predecessor(str(copy), "x", TrustHome(tmp_path / "stranger"))


def test_nothing_is_known(ledger: Ledger, tmp_path: Path) -> None:
    """No reason, no ledger, no head: each is said."""
    stranger = TrustHome(tmp_path / "stranger")
    with pytest.raises(UsageError, match="says why"):
        predecessor(str(ledger.path), " ", ledger.home)
    with pytest.raises(CannotTellError, match="no such file"):
        predecessor(str(tmp_path / "none.db"), "x", stranger)
    with pytest.raises(CannotTellError, match="no checkpoint"):
        predecessor(ledger.id, "x", stranger)
