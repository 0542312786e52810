"""A ledger with the evidence plugin alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bundled import evidence_plugins
from muniment.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give an empty ledger, and a trust home beside it."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as one:
        yield one
