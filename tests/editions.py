"""Ledgers as earlier editions wrote them, each in a copy that a test may spoil.

    kernel = first_edition("kernel", tmp_path)      # a ledger that this user keeps
    kernel.path, kernel.root, kernel.facts["failed"]

Rule: the files under ``tests/assets`` are never opened where they stand; SQLite would
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

from muniment.trust import TrustHome

__all__ = ["FIRST", "Kept", "first_edition", "first_programs", "first_refusals"]

_PLACE = Path(__file__).parent / "assets" / "first-edition"

FIRST: dict[str, dict[str, str]] = json.loads((_PLACE / "facts.json").read_text())
"""Name → what is known of the ledger: id, root, size, and its runs by how they ended."""


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
    kept = place / f"first-{name}" / ".muniment"
    shutil.copytree(_PLACE / name, kept, ignore=shutil.ignore_patterns("keys"))
    facts = FIRST[name]
    if owned:
        home = TrustHome()
        home.pin(facts["id"], facts["root"])
        keys = home.keys_directory(facts["id"], create=True)
        for key in (_PLACE / name / "keys").iterdir():
            shutil.copy(key, keys)
            (keys / key.name).chmod(0o600)
    shutil.copy(_PLACE / "agent.py", kept.parent)
    return Kept(kept / "ledger.db", facts)


def first_programs() -> ModuleType:
    """Return the module with the programs that were recorded."""
    return _module("first_programs")


def first_refusals() -> ModuleType:
    """Return the module with the experiments whose code was refused."""
    return _module("first_refusals")


def _module(name: str) -> ModuleType:
    if str(_PLACE) not in sys.path:
        sys.path.append(str(_PLACE))
    return import_module(name)
