"""The table of facts is whole, and names tests that there are."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent.parent
TABLE: dict[str, Any] = tomllib.loads((HERE / "facts.toml").read_text())
FACTS: list[dict[str, Any]] = TABLE["fact"]
STATES = ("shown", "kernel", "next", "importers")


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((TESTS / file).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(one.name for one in ast.walk(tree) if isinstance(one, kinds))


def test_every_row_is_there() -> None:
    """Rows are numbered from one, without a gap, and there are as many as it says."""
    known = [one["id"] for one in FACTS]
    expected = [
        f"{letter}{number}"
        for letter, count in TABLE["rows"].items()
        for number in range(1, count + 1)
    ]
    assert known == expected
    assert TABLE["rows"] == {"B": 30, "P": 28, "U": 35, "I": 14}


@pytest.mark.parametrize("fact", FACTS, ids=lambda one: one["id"])
def test_every_fact_is_shown(fact: dict[str, Any]) -> None:
    """It names tests that there are, or says where it is shown, and why not here."""
    state = fact.get("state", "shown")
    assert state in STATES
    assert fact["says"]
    if state == "shown":
        assert fact["by"]
    else:
        assert fact["because"]
    for name in fact.get("by", []):
        file, _, test = name.partition("::")
        assert (TESTS / file).is_file(), name
        assert not test or test in names_in(file), name


def test_what_is_left() -> None:
    """No fact is left without a reason; so many are shown here."""
    counted = Counter(one.get("state", "shown") for one in FACTS)

    assert counted["shown"] >= 80
