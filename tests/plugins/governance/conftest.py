"""A folder with a flow, in which tests stand, and a ledger that governs its runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_files import write_flow
from muniment.ledger import Ledger


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a folder with a flow; forget the modules of its functions at the end."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_flow(folder)
    sys.modules.pop("agents", None)
    yield folder
    for name in ("agents", "checks"):
        sys.modules.pop(name, None)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with this plugin."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=("governance",)
    ) as made:
        yield made
