"""What the tests of promises share: helpers beside them import by their plain names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from first_hour import Newcomer
from forked_commands import ForkedCommands
from model_server import ModelServer
from recording import Desk, new_desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Give the test a ledger, a model server, and the command line beside them."""
    with ModelServer() as server:
        found = new_desk(tmp_path / "desk", server)
        monkeypatch.chdir(found.place)
        yield found


@pytest.fixture(scope="session")
def commands() -> Iterator[ForkedCommands]:
    """Give the tests what runs command lines in children, and ends those that hang."""
    with ForkedCommands() as started:
        yield started


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    """Give a new user an empty directory, and a home where nothing is."""
    folder, home = tmp_path / "desk", tmp_path / "newcomer"
    folder.mkdir()
    home.mkdir()
    return Newcomer(folder, home)
