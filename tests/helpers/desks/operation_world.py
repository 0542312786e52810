"""What operations act on, and where they are kept: name, need and deed."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = [
    "BEFORE",
    "LIBC",
    "OPERATIONS",
    "World",
    "c",
    "nothing",
    "op",
    "simple",
    "written",
]

LIBC = ctypes.CDLL(None, use_errno=True)


class World:
    """What the operations act on, outside of the program."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.number = 0
        self.key = place / "home" / "writer.pem"
        self.base = place / "ledger.db"

    def prepare(self) -> None:
        """Make what is there before the program."""
        self.key.parent.mkdir(parents=True, exist_ok=True)
        self.key.write_text("secret")
        with closing(sqlite3.connect(self.base)) as made:
            made.execute("CREATE TABLE IF NOT EXISTS t (a)")

    def kept(self) -> Path:
        """Return a file that is there."""
        path = self.fresh()
        if not path.exists():
            raise FileNotFoundError(path)
        return path

    def fresh(self) -> Path:
        """Return the path of this operation."""
        return self.place / "desk" / str(self.number)

    @property
    def port(self) -> int:
        """Where somebody listens."""
        return int((self.place / "port").read_text())


def c(result: int) -> None:
    """Raise what a function of the C library answered, if it failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def written(path: Path) -> None:
    """Raise where nothing was made."""
    if not path.exists():
        raise FileNotFoundError(path)


OPERATIONS: dict[str, tuple[str, Callable[[World], object]]] = {}
"""Name → what has to be there before (``file``, ``folder`` or nothing), and the deed."""
BEFORE: dict[str, Any] = {}


def op(name: str, needs: str = "") -> Callable[[Callable[[World], object]], None]:
    """Register the deed that follows."""

    def keep(deed: Callable[[World], object]) -> None:
        OPERATIONS[name] = (needs, deed)

    return keep


def simple(name: str, needs: str, deed: Callable[[World], object]) -> None:
    """Register a deed in one expression."""
    OPERATIONS[name] = (needs, deed)


def nothing() -> None:
    """Be run elsewhere."""
