"""Runs that name other runs, made once for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relatives import Relatives
from three_verifiers import NODE, Verifiers, verifiers


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relatives]:
    """Give a ledger with a run of each kind."""
    with Relatives.made(tmp_path_factory.mktemp("relatives")) as one:
        yield one


@pytest.fixture(scope="module")
def three(made: Relatives) -> Iterator[Verifiers]:
    """Give the three verifiers."""
    if NODE is None:
        pytest.skip("node 20 or newer")
    with verifiers(made.root, made.home) as one:
        yield one
