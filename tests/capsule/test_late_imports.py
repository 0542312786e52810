"""What the standard library imports late is loaded early, where no file opens later."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from muniment_plugins.capsule.isolation.lockdown import _LATE
from ordinary_programs import ORDINARY

UNUSED = {
    *("argparse", "getopt"),  # of modules that are commands, too
    *("doctest", "tracemalloc"),  # of tests of their own, and of debugging
    *("io", "os", "shutil", "socket", "subprocess"),  # uuid looks for a network card
    *("builtins", "sys"),  # always there
}
"""What no program gets to."""
OWN = {"uuid": {"random", "time"}}
"""What a module imports late that its programs may not reach: node and clock."""


def late(module: str) -> set[str]:
    """Return what functions of *module* import when they are called."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return set()
    found: set[str] = set()
    for function in ast.walk(ast.parse(Path(spec.origin).read_text())):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    found |= {one.name for one in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    found.add(str(node.module))
    return found - {module}


@pytest.mark.parametrize("module", ORDINARY)
def test_every_late_import_is_known(module: str) -> None:
    """Read off the sources of this Python, whichever that is."""
    unknown = late(module) - UNUSED - OWN.get(module, set())
    assert unknown <= set(_LATE.get(module, ())), module


def test_late_imports_are_seen() -> None:
    """A module that imports within a function is one that this finds."""
    assert "heapq" in late("collections")
    assert "hashlib" in late("uuid")
