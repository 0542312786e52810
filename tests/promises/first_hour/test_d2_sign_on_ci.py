"""What the how-to of CI says of notes holds on the runner that it describes.

Two homes, a process for each command. The page itself is followed with all the others.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from first_hour import Newcomer


@pytest.fixture
def runner(newcomer: Newcomer, tmp_path: Path) -> Newcomer:
    """Give a runner that has a directory and a home of its own, and the ledger."""
    newcomer.begin()
    shutil.move(next(newcomer.home.rglob("recovery/root.pem")), newcomer.folder)
    folder = tmp_path / "runner"
    folder.mkdir()
    (folder / "nightly.py").write_text("def main(run): return 1\n")
    ledger = newcomer.folder / ".muniment" / "ledger.db"
    also = {"MUNIMENT_LEDGER": str(ledger), "MUNIMENT_KEY": str(folder / "ci.pem")}
    return Newcomer(folder, tmp_path / "job", also)


def test_no_empty_note_is_left_behind(newcomer: Newcomer, runner: Newcomer) -> None:
    """Where there is no checkpoint key, no file is made, and one there stays."""
    assert newcomer.muniment("checkpoint", "-o", "last.note").code == 0
    kept = (newcomer.folder / "last.note").read_bytes()
    newcomer.muniment("run", runner.folder / "nightly.py")
    (runner.folder / "last.note").write_bytes(kept)
    newcomer.muniment("keys", "list")
    shutil.rmtree(next(newcomer.home.rglob("keys")))

    for name in ("last.note", "other.note"):
        done = runner.muniment("checkpoint", "-o", name)
        assert done.code in (3, 4), done
    assert (runner.folder / "last.note").read_bytes() == kept
    assert not (runner.folder / "other.note").exists()
