"""A content in a place where no writer puts it is noted, backed up, and erased."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacking import check, tampering
from forge import RUN, Forge
from muniment.copies.backup import copy_ledger
from muniment.ledger import Ledger
from muniment.verification.verify import verify

LIMIT = 1_048_576
ELSEWHERE = "not where a writer puts them"


def misplaced(notes: tuple[str, ...]) -> list[str]:
    """Return the notes on contents in other places."""
    return [note for note in notes if ELSEWHERE in note]


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("size", "file", "noted"),
    [
        (1, False, False),
        (1, True, True),
        (LIMIT, False, False),
        (LIMIT, True, True),
        (LIMIT + 1, False, True),
        (LIMIT + 1, True, False),
    ],
)
def test_where_a_content_stands(
    size: int, tmp_path: Path, *, file: bool, noted: bool, fast: bool
) -> None:
    """At the threshold to the byte: in the row up to it, in a file above it."""
    forge = Forge("one").open()
    opened = {"name": "x", "seed": "00", "params": forge.blob(b"x" * size, file=file)}
    forge.append("run.started", opened, run=RUN)
    report = check(forge, tmp_path / "ledger.db", fast=fast)
    assert (report.findings, report.exit_code) == ((), 0)
    assert len(misplaced(report.notes)) == noted, report.notes


def test_a_small_content_in_a_file_is_reached(tmp_path: Path) -> None:
    """Readers, backup and erasure find the bytes beside as they do in the row."""
    place, copied = tmp_path / "work" / "ledger.db", tmp_path / "copy.db"
    with Ledger.create(place, plugins=()) as ledger:
        event = ledger.append("note.added", {"text": "t", "details": "small"})
    with tampering(place) as connection:
        ((digest, data),) = connection.execute("SELECT digest, data FROM blob")
        connection.execute("UPDATE blob SET data = NULL")
    beside = Path(f"{place}.blobs") / digest.hex()
    beside.parent.mkdir()
    beside.write_bytes(data)
    report = verify(place)
    assert (report.exit_code, len(misplaced(report.notes))) == (0, 1), str(report)
    assert copy_ledger(place, copied).contents == 1
    assert (Path(f"{copied}.blobs") / digest.hex()).read_bytes() == data
    with Ledger.open(place, plugins=()) as ledger:
        assert ledger.resolve(event)["details"] == "small"
        ledger.erase(f"sha256:{digest.hex()}", reason="asked")
    assert not beside.exists()
    report = verify(place)
    assert (report.exit_code, report.erased, misplaced(report.notes)) == (0, 1, [])
    with Ledger.open(copied, plugins=()) as older:
        assert older.id == ledger.id
    assert not (Path(f"{copied}.blobs") / digest.hex()).exists()
