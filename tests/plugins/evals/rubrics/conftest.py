"""A ledger whose models say what the scripts in the folder have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.ledger import Ledger


@pytest.fixture
def library(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with scripted models."""
    del place
    plugins = ("workflow", "evals", "providers")
    with Ledger.create(tmp_path / "l.db", home=tmp_path / "h", plugins=plugins) as made:
        yield made
