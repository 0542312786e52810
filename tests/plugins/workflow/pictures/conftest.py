"""A browser for the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from browser import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Lend one browser to the tests of a file."""
    from browser import chromium  # noqa: PLC0415 - most tests open no page

    with chromium() as one:
        yield one
