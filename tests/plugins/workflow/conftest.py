"""A ledger that knows workflows, in a folder where tests stand.

Whatever a test runs on a ledger of this process, the record of each of its runs is held
to what is promised of records when the ledger is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.ledger import Ledger
from run_records import TAMPERED, require_sound_records


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of the test's own."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def book(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with this plugin."""
    del place
    with Ledger.create(
        tmp_path / "ledger.db",
        home=tmp_path / "home",
        plugins=("workflow", "executors"),
    ) as made:
        yield made


@pytest.fixture(autouse=True)
def records_are_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the records of all runs to their promises, once a test is done with them."""
    close = Ledger.close

    def checked(ledger: Ledger) -> None:
        try:
            if "workflow" in ledger.plugins.versions and ledger.path not in TAMPERED:
                require_sound_records(ledger)
        finally:
            close(ledger)

    monkeypatch.setattr(Ledger, "close", checked)
