"""The three verifiers, for bundles of forged ledgers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forge import keyid
from three_verifiers import Verifiers, verifiers
from worlds import World


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verifiers]:
    """Lend the three verifiers, told the root of every forged ledger."""
    root = keyid(World(tmp_path_factory.mktemp("world")).forge.key("root"))
    with verifiers(root, tmp_path_factory.mktemp("nobody")) as found:
        yield found
