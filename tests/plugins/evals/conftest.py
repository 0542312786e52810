"""Ledgers that know workflows and evals, and runs that are good, bad and looped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.ledger import Ledger

PLUGINS = ("workflow", "evals", "executors")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of the test's own."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def book(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with both plugins."""
    del place
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=PLUGINS
    ) as made:
        yield made


@pytest.fixture
def other_book(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a second ledger, at another path."""
    del place
    folder = tmp_path / "far" / "away"
    folder.mkdir(parents=True)
    with Ledger.create(
        folder / "other.db", home=tmp_path / "home2", plugins=PLUGINS
    ) as made:
        yield made
