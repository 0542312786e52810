"""A desk on which something private is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet import opened_desk
from muniment.ledger import Ledger


@pytest.fixture
def desk(work: Path, shell: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """Give a ledger beside which one stands, with a session that has a private message."""
    yield from opened_desk(work, shell, monkeypatch)
