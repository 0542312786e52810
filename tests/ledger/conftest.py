"""What the ledger's tests share: helpers beside them import by their plain names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger without plugins."""
    place = tmp_path / "work" / ".muniment" / "ledger.db"
    with Ledger.create(place, plugins=()) as made:
        yield made
