"""What happens outside of the runs of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mailing import OUTSIDE, Outside
from muniment.ledger import Ledger


@pytest.fixture
def outer(book: Ledger) -> Iterator[Outside]:
    """Give the outside, with nothing planned."""
    OUTSIDE.ledger = book
    OUTSIDE.acts.clear()
    yield OUTSIDE
    OUTSIDE.ledger = None
