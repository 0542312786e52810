"""Ledgers as earlier editions wrote them, each in a copy that a test may spoil.

    kernel = first_edition("kernel", tmp_path)      # a ledger that this user keeps
    kernel.path, kernel.root, kernel.facts["failed"]

Rule: the files under ``tests/assets`` are never opened where they are; SQLite would
leave its own beside them.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from muniment.trust.home import TrustHome

__all__ = [
    "FIRST",
    "PATHS",
    "Kept",
    "first_edition",
    "first_programs",
    "first_refusals",
    "path_programs",
    "with_paths",
]

_PLACE = Path(__file__).parents[2] / "assets" / "first-edition"
_PATHS = Path(__file__).parents[2] / "assets" / "import-paths"

FIRST: dict[str, dict[str, str]] = json.loads((_PLACE / "facts.json").read_text())
"""Name → what is known of the ledger: id, root, size, and its runs by how they ended."""

PATHS: dict[str, dict[str, str]] = json.loads((_PATHS / "facts.json").read_text())
"""The same of the ledgers that say import paths of what has stable names now."""


@dataclass(frozen=True)
class Kept:
    """A copy of a ledger, and what is known of it."""

    path: Path
    facts: dict[str, str]

    @property
    def root(self) -> str:
        """The fingerprint of its root."""
        return self.facts["root"]


def first_edition(name: str, place: Path, *, owned: bool = True) -> Kept:
    """Copy the ledger *name* beneath *place*; where *owned*, with its keys and pin."""
    return _copied(_PLACE, FIRST[name], name, place / f"first-{name}", owned)


def with_paths(name: str, place: Path) -> Kept:
    """Copy the ledger *name* that says import paths beneath *place*, with its keys."""
    return _copied(_PATHS, PATHS[name], name, place / f"paths-{name}", owned=True)


def _copied(
    origin: Path, facts: dict[str, str], name: str, place: Path, owned: bool
) -> Kept:
    kept = place / ".muniment"
    shutil.copytree(origin / name, kept, ignore=shutil.ignore_patterns("keys"))
    if owned:
        home = TrustHome()
        home.pin(facts["id"], facts["root"])
        keys = home.keys_directory(facts["id"], create=True)
        for key in (origin / name / "keys").iterdir():
            shutil.copy(key, keys)
            (keys / key.name).chmod(0o600)
    shutil.copy(origin / "agent.py", kept.parent)
    return Kept(kept / "ledger.db", facts)


def first_programs() -> ModuleType:
    """Return the module with the programs that were recorded."""
    return _module("first_programs")


def first_refusals() -> ModuleType:
    """Return the module with the experiments whose code was refused."""
    return _module("first_refusals")


def path_programs() -> ModuleType:
    """Return the module with the experiments of the ledgers with import paths."""
    return _module("path_programs", _PATHS)


def _module(name: str, place: Path = _PLACE) -> ModuleType:
    if str(place) not in sys.path:
        sys.path.append(str(place))
    return import_module(name)
