"""Ledgers whose model follows a script; after each test, what they count is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_tools import Model, check_numbers
from muniment.ledger import Ledger
from muniment.plugins import Plugins

Scripts = Callable[..., Ledger]


@pytest.fixture
def scripted(tmp_path: Path, place: Path) -> Iterator[Scripts]:
    """Give what makes a ledger whose model answers turn by turn."""
    del place
    with ExitStack() as stack:
        opened = list[Ledger]()

        def made(script: Any, usage: Any = None) -> Ledger:
            model = Model(script, usage) if isinstance(script, Mapping) else script
            plugins = Plugins(("workflow",), extra={"model": model})
            number = len([*tmp_path.glob("*.db")])
            ledger = Ledger.create(
                tmp_path / f"l{number}.db", home=tmp_path / "home", plugins=plugins
            )
            opened.append(stack.enter_context(ledger))
            return ledger

        yield made
        for ledger in opened:
            check_numbers(ledger)
