"""Copies are whole, verify, and hold nothing that was erased meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment.copies import backup
from muniment.copies.backup import copy_ledger
from muniment.errors import RefusedError, StoreError, WrongError
from muniment.formats.statement import BlobRef
from muniment.formats.tables import BLOB_FILE_THRESHOLD, blob_directory
from muniment.ledger import Ledger
from muniment.verification.verify import verify

LARGE = "large " * (BLOB_FILE_THRESHOLD // 4)


def large(ledger: Ledger) -> str:
    """Append a content that stands beside the database; return its commitment."""
    event = ledger.append("note.added", {"text": "large", "details": LARGE})
    ref = event.data["details"]
    assert isinstance(ref, BlobRef)
    return ref.digest


def test_contents_beside_the_database_are_copied(
    ledger: Ledger, tmp_path: Path
) -> None:
    """The copy resolves every content without the original."""
    ref = large(ledger)
    done = copy_ledger(ledger.path, tmp_path / "copy.db")
    assert (done.size, done.contents) == (2, 1)
    with Ledger.open(done.path, readonly=True) as copy:
        assert copy.get_blob(ref) == ledger.get_blob(ref)
    assert verify(done.path).exit_code == 0


def test_what_is_erased_meanwhile_is_not_in_the_copy(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure between snapshot and contents makes the copy begin again."""
    ref, erased, copy_contents = large(ledger), list[int](), backup._copy_contents

    def erase_first(source: Any, target: Any, digests: Any) -> int:
        found = copy_contents(source, target, digests)
        if not erased:
            erased.append(ledger.erase(ref, reason="asked for").seq)
        return found

    monkeypatch.setattr(backup, "_copy_contents", erase_first)
    done = copy_ledger(ledger.path, tmp_path / "copy.db")
    assert (done.size, done.contents) == (3, 0)
    assert not Path(blob_directory(str(done.path))).exists()
    report = verify(done.path)
    assert (report.exit_code, report.erased) == (0, 1)


def test_a_damaged_content_stops_the_copy(ledger: Ledger, tmp_path: Path) -> None:
    """A backup of damaged contents would be no backup; nothing is left behind."""
    digest = large(ledger).removeprefix("sha256:")
    (Path(blob_directory(str(ledger.path))) / digest).write_bytes(b"x" * 100)
    target = tmp_path / "safe" / "copy.db"
    with pytest.raises(WrongError, match="blob/commitment"):
        copy_ledger(ledger.path, target)
    assert not target.exists()


def test_nothing_is_written_over(ledger: Ledger, tmp_path: Path) -> None:
    """A file, a directory, a dangling link, foreign blobs: each is left alone."""
    for name in ("file.db", "blobs.db.blobs"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "directory.db").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere")
    for name in ("file.db", "blobs.db", "directory.db", "link.db"):
        with pytest.raises(RefusedError, match="never writes over"):
            copy_ledger(ledger.path, tmp_path / name)
    assert (tmp_path / "file.db").read_text() == "mine"
    left = {path.name for path in tmp_path.iterdir()} - {"home", "work"}
    assert left == {"blobs.db.blobs", "directory.db", "file.db", "link.db"}


def test_a_place_that_cannot_be_written(ledger: Ledger, tmp_path: Path) -> None:
    """A target inside of a file is one clear error."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        copy_ledger(ledger.path, tmp_path / "file" / "copy.db")
