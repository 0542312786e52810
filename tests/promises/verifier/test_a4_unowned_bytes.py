"""Bytes that no row owns are noted where somebody put them, and nowhere else."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from attacking import again, small, tampering
from muniment.copies.backup import copy_ledger
from muniment.ledger import Ledger
from muniment.verification.verify import verify

HIDDEN = b"hidden by somebody"
UNOWNED = ("header", "between the rows", "ends of", "free", "after the last page")

Use = Callable[[Ledger, random.Random, int], None]


def plain(ledger: Ledger, chance: random.Random, number: int) -> None:
    """Add events of all sizes that stand in the log itself."""
    ledger.append("note.added", {"text": f"{number} " + "t" * chance.randrange(3000)})


def contents(ledger: Ledger, chance: random.Random, number: int) -> None:
    """Add contents: digests fall everywhere in the indexes."""
    size = chance.choice((10, 300, 2000, 9000))
    ledger.append(
        "note.added", {"text": str(number), "details": chance.randbytes(size).hex()}
    )


def erased(ledger: Ledger, chance: random.Random, number: int) -> None:
    """Erase every third content, of one page and of many."""
    size = chance.choice((10, 300, 2000, 9000, 100_000))
    data = {"text": str(number), "details": chance.randbytes(size).hex()}
    event = ledger.append("note.added", data)
    if number % 3 == 0:
        ledger.erase(event.data["details"].digest, reason="x")  # type: ignore[attr-defined] # a BlobRef


def runs(ledger: Ledger, chance: random.Random, number: int) -> None:
    """Tell runs with scopes, facts and contents."""
    with ledger.run(f"run-{number % 7}") as run:
        for lane in range(chance.randrange(12)):
            with run.scope(f"m{lane}") as scope:
                scope.record("note.added", {"text": "x", "details": "y" * 70 * lane})


SHAPES: dict[str, tuple[Use, int]] = {
    "plain": (plain, 1500),
    "contents": (contents, 2500),
    "erased": (erased, 150),
    "runs": (runs, 120),
}


def remarks(place: Path) -> list[str]:
    """Return what a verification of an intact ledger says of bytes of nobody."""
    report = verify(place)
    assert report.exit_code == 0, str(report)
    return [note for note in report.notes if any(one in note for one in UNOWNED)]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_honest_ledger_is_not_suspected(shape: str, tmp_path: Path) -> None:
    """However it was written, copied or packed: no note on bytes of nobody."""
    use, times = SHAPES[shape]
    chance = random.Random(shape)  # noqa: S311 - nothing is secret
    place = tmp_path / "work" / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        for number in range(times):
            use(ledger, chance, number)
        assert remarks(place) == []  # beside its writer
    assert remarks(place) == []
    copy_ledger(place, tmp_path / "copy.db")
    assert remarks(tmp_path / "copy.db") == []
    packed = tmp_path / "packed.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("VACUUM INTO ?", (str(packed),))
    if not Path(f"{place}.blobs").exists():
        assert remarks(packed) == []


def page_at(data: bytes, size: int, kind: int) -> int:
    """Return where the first page of *kind* stands, after that of the schema."""
    return next(at for at in range(size, len(data), size) if data[at] == kind)


def in_header(data: bytes, _: int) -> int:
    """Where the header is reserved."""
    assert not any(data[72:92])
    return 72


def between_rows(data: bytes, size: int) -> int:
    """Between the pointers and the rows of a page."""
    at = page_at(data, size, 13)
    return at + 8 + 2 * int.from_bytes(data[at + 3 : at + 5]) + 2


def in_pieces(data: bytes, size: int) -> int:
    """Between the rows, in pieces that are no longer than what SQLite leaves."""
    return between_rows(data, size)


def after_long_value(data: bytes, size: int) -> int:
    """After the end of a value that goes over pages."""
    trunk = (int.from_bytes(data[32:36]) - 1) * size
    ends = [at for at in range(0, len(data), size) if not any(data[at : at + 4])]
    filled = (at for at in ends if at != trunk and any(data[at : at + size]))
    return next(filled) + size - len(HIDDEN)


def in_free_page(data: bytes, size: int) -> int:
    """In a page that is free."""
    trunk = (int.from_bytes(data[32:36]) - 1) * size
    return (int.from_bytes(data[trunk + 8 : trunk + 12]) - 1) * size + 70


def in_list_of_free_pages(data: bytes, size: int) -> int:
    """After the numbers of the free pages."""
    return int.from_bytes(data[32:36]) * size - len(HIDDEN)


def after_last_page(data: bytes, _: int) -> int:
    """After everything."""
    return len(data)


PLANTED = (
    (in_header, "the file's header says something"),
    (between_rows, f"{len(HIDDEN)} bytes between the rows"),
    (in_pieces, "60 bytes between the rows"),
    (after_long_value, f"{len(HIDDEN)} bytes between the rows"),
    (in_free_page, "1 pages of the file are free, and not empty"),
    (in_list_of_free_pages, "1 pages of the file are free, and not empty"),
    (after_last_page, f"{len(HIDDEN)} bytes come after the last page"),
)


@pytest.mark.parametrize(
    ("where", "said"), PLANTED, ids=[where.__name__ for where, _ in PLANTED]
)
def test_what_somebody_put_there_is_noted(
    where: Callable[[bytes, int], int], said: str, tmp_path: Path
) -> None:
    """Put bytes wherever SQLite leaves none: the note says where, no verdict changes."""
    place = tmp_path / "work" / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        gone = ledger.append("note.added", {"text": "t", "details": "z" * 90_000})
        ledger.append("note.added", {"text": "t", "details": "z" * 8_300})
        ledger.erase(gone.data["details"].digest, reason="x")  # type: ignore[attr-defined] # a BlobRef
    assert remarks(place) == []
    data = bytearray(place.read_bytes())
    at = where(bytes(data), int.from_bytes(data[16:18]))
    hidden = b"\0".join([b"hide"] * 15) if where is in_pieces else HIDDEN
    assert not any(data[at : at + len(hidden)])
    data[at : at + len(hidden)] = hidden
    place.write_bytes(data)
    (note,) = remarks(place)
    assert note.startswith(said)


def test_what_another_program_deleted_is_noted(tmp_path: Path) -> None:
    """Another program leaves what it deleted in free pages; packing takes it away."""
    place = small().write(tmp_path / "ledger.db")
    with tampering(place) as connection:
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute("CREATE TABLE passing AS SELECT randomblob(9000)")
        connection.execute("DROP TABLE passing")
    (note,) = (one for one in again(place).notes if "free" in one)
    assert "VACUUM INTO" in note
    packed = tmp_path / "packed.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("VACUUM INTO ?", (str(packed),))
    Path(f"{place}.blobs").rename(f"{packed}.blobs")
    assert not [one for one in again(packed).notes if "free" in one]
