"""A ledger whose model answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.ledger import Ledger
from muniment.plugins import Plugins
from seen_stages import SEEN, Answers


@pytest.fixture
def answers() -> Answers:
    """Give a provider."""
    return Answers()


@pytest.fixture
def desk(tmp_path: Path, place: Path, answers: Answers) -> Iterator[Ledger]:
    """Give a ledger with that provider."""
    del place
    SEEN.clear()
    plugins = Plugins(("workflow",), extra={"answers": answers})
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "home", plugins=plugins
    ) as made:
        yield made
