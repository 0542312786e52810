"""Ledgers as earlier editions wrote them, each in a copy that a test may spoil.

    kernel = first_edition("kernel", tmp_path)      # a ledger that this user keeps
    kernel.path, kernel.root, kernel.facts["failed"]

Rules:

- The files under ``tests/assets`` are never opened where they are; SQLite would leave its
  own beside them.
- `kills` names the places at which a kill can leave a run: after each commit, of which
  each request, each outcome and each end was one.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from attacking import tampering
from muniment.formats.lifecycle import LIFE
from muniment.trust.home import TrustHome

__all__ = [
    "FIRST",
    "PATHS",
    "Kept",
    "cut_off",
    "first_edition",
    "first_programs",
    "first_refusals",
    "kills",
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


def kills(name: str, run: str) -> list[int]:
    """Return the sizes at which a kill of the first edition's *run* leaves a ledger."""
    place = (_PLACE / name / "ledger.db").as_uri()
    asked = "SELECT seq, type FROM event WHERE run = ? ORDER BY seq"
    with closing(sqlite3.connect(f"{place}?immutable=1", uri=True)) as ledger:
        rows = ledger.execute(asked, (FIRST[name][run],)).fetchall()
    own = ("requested", "completed", "failed")
    return [
        seq + 1
        for seq, kind in rows[:-1]
        if kind in LIFE or (kind.endswith(own) and kind != "replicate.failed")
    ]


def cut_off(kept: Kept, size: int) -> None:
    """Leave of a ledger what was there when it had *size* events."""
    with tampering(kept.path) as ledger:
        ledger.execute("PRAGMA secure_delete=ON")
        for table in ("event", "subject", "blob"):
            ledger.execute(f"DELETE FROM {table} WHERE seq >= ?", (size,))
        ledger.execute("DELETE FROM checkpoint WHERE size > ?", (size,))
        whole = "(idx + 1) << (8 * level)"
        ledger.execute(f"DELETE FROM tile WHERE {whole} > ?", (size,))


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
