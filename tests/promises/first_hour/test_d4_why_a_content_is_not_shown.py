"""What is wrong with a content is said alike by who shows it and by who verifies it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from attacking import tampering
from muniment.ledger import Ledger
from muniment.verification.verify import verify
from muniment_cli import main

LARGE = "x" * 1_200_000


def gone(file: Path) -> None:
    """Leave nothing."""
    file.unlink()


def linked(file: Path) -> None:
    """Put a link to the bytes themselves."""
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def piped(file: Path) -> None:
    """Put a FIFO."""
    file.unlink()
    os.mkfifo(file)


def opened(file: Path) -> None:
    """Put a directory."""
    file.unlink()
    file.mkdir()


def shorter(file: Path) -> None:
    """Cut a byte off."""
    file.write_bytes(file.read_bytes()[:-1])


def altered(file: Path) -> None:
    """Change a byte."""
    file.write_bytes(file.read_bytes()[:-1] + b"!")


def folder_linked(file: Path) -> None:
    """Put a link in the place of the folder."""
    folder = file.parent
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "harm", [gone, linked, piped, opened, shorter, altered, folder_linked]
)
def test_a_large_content(
    harm: Callable[[Path], None], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever stands in the place of its file, `events show` says what `verify` finds."""
    place = tmp_path / "work" / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        ledger.append("note.added", {"text": "t", "details": LARGE})
    (file,) = Path(f"{place}.blobs").iterdir()
    harm(file)
    assert said(place, capfd) in {one.message for one in verify(place).findings}


@pytest.mark.parametrize(
    "data", ["substr(data, 2)", "data || 'x'", "zeroblob(length(data))", "NULL"]
)
def test_a_small_content(
    data: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same of one that stands in its row."""
    place = tmp_path / "work" / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        ledger.append("note.added", {"text": "t", "details": "small"})
    with tampering(place) as connection:
        connection.execute(f"UPDATE blob SET data = CAST({data} AS BLOB)")
    assert said(place, capfd) in {one.message for one in verify(place).findings}


def test_an_erased_content(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What an event says is erased is nothing to find, and is called so."""
    place = tmp_path / "work" / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        event = ledger.append("note.added", {"text": "t", "details": "small"})
        reference = event.raw["details"]
        assert isinstance(reference, dict)
        ledger.erase(str(reference["$blob"]), reason="asked")
    assert said(place, capfd) == "erased"
    assert verify(place).findings == ()


def said(place: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """Return what is shown in the place of the content of event 1."""
    capfd.readouterr()
    assert main(["--ledger", str(place), "events", "show", "1"]) == 0
    line = capfd.readouterr().out.splitlines()[-1]
    assert line.startswith("("), line
    return line[1:-1]
