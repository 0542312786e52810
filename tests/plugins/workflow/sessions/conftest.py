"""A ledger whose model counts what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conversing import Counting
from muniment.ledger import Ledger
from muniment.plugins import Plugins


@pytest.fixture
def model() -> Counting:
    """Give the model."""
    return Counting()


@pytest.fixture
def desk(tmp_path: Path, place: Path, model: Counting) -> Iterator[Ledger]:
    """Give a ledger with it."""
    del place
    plugins = Plugins(("workflow",), extra={"model": model})
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "home", plugins=plugins
    ) as made:
        yield made
