"""A ledger in which a budget, an unsafe policy and a program marked a run each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from marked_runs import WAYS, Marked, marked_ledger, marked_run, verdict_with_calls
from three_verifiers import Verifiers, verifiers


@pytest.fixture(scope="package")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marked]:
    """Give the ledger."""
    base = tmp_path_factory.mktemp("marked")
    with marked_ledger(base) as ledger:
        runs = {way: marked_run(ledger, way) for way in WAYS}
        runs["none"] = ledger.execute(verdict_with_calls()).run_id
        ledger.checkpoint()
        yield Marked(ledger, runs)


@pytest.fixture
def three(marked: Marked, tmp_path: Path) -> Iterator[Verifiers]:
    """Lend the three verifiers."""
    with verifiers(marked.root, tmp_path / "nobody") as three:
        yield three
