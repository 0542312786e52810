"""A ledger whose model says what a test's own script has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools import Model
from muniment.ledger import Ledger
from muniment.plugins import Plugins


@pytest.fixture
def library(tmp_path: Path, place: Path, script: dict[int, Any]) -> Iterator[Ledger]:
    """Give a ledger with a model that says what *script* has."""
    del place
    plugins = Plugins(("workflow", "evals"), extra={"model": Model(script)})
    where = tmp_path / "ledger.db"
    with Ledger.create(where, home=tmp_path / "home", plugins=plugins) as made:
        yield made
