"""What every test stands on: a trust home of its own, and a ledger in it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.ledger import Ledger

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs deaf to Ctrl-C, and what they start inherits that:
    # tests that interrupt a program would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a trust home of its own, and take away what the shell set."""
    place = tmp_path / "home"
    monkeypatch.setenv("MUNIMENT_HOME", str(place))
    for name in ("MUNIMENT_LEDGER", "MUNIMENT_KEY", "MUNIMENT_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a fresh ledger, and close it."""
    with Ledger.create(tmp_path / "work" / ".muniment" / "ledger.db") as made:
        yield made
