"""An empty directory, a fresh trust home, and whoever starts there with a shell.

Rules: a command that is started gets nothing from this process but the path to the
packages. Events are read from the file of the ledger, which costs no process.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from forked_commands import ForkedCommands
from muniment.ledger import Ledger
from muniment.places import DEFAULT_PLACE

__all__ = ["Newcomer", "Said", "begin"]

BIN = Path(sys.executable).parent


def begin(folder: Path, home: Path | None = None) -> None:
    """Make what ``muniment init`` makes in *folder*, without a process of its own."""
    with Ledger.create(folder / DEFAULT_PLACE, home=home) as made:
        made.checkpoint()


@dataclass(frozen=True)
class Said:
    """What one command line left behind."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Newcomer:
    """A directory to work in, and the environment of a new user."""

    folder: Path
    home: Path
    also: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a new user, and no others, as with `env -i`."""
        return {
            "PATH": f"{BIN}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(self.home),
            "MUNIMENT_HOME": str(self.home / "trust"),
            **self.also,
        }

    def begin(self) -> None:
        """Make a ledger, for tests of what comes after ``muniment init``."""
        begin(self.folder, self.home / "trust")

    def start(self, command: Sequence[str], cwd: Path | None = None) -> Said:
        """Start *command* and wait for its end."""
        done = subprocess.run(
            list(command),
            cwd=cwd or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def muniment(self, *arguments: object, cwd: Path | None = None) -> Said:
        """Type a command line; no traceback ever comes of it."""
        said = self.start(["muniment", *map(str, arguments)], cwd)
        assert "Traceback" not in said.err + said.out, said.err
        return said

    def forked(self, commands: ForkedCommands, *arguments: object) -> Said:
        """Type a command line in a child of *commands*, for tests that type many."""
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            words, known = list(map(str, arguments)), self.environment
            code = commands.start(words, self.folder, known, out, err)
            said = Said(code, out.read_text("utf-8"), err.read_text("utf-8"))
        assert "Traceback" not in said.err + said.out, said.err
        return said

    def python(self, *arguments: str) -> Said:
        """Run a script."""
        return self.start(["python", *arguments])

    def events(self) -> list[str]:
        """Return the types of all events of the ledger here, as its file has them."""
        return [kind for kind, _ in self._rows()]

    def runs(self) -> list[tuple[str, str]]:
        """Return id and name of each run, as the ledger's file has them."""
        stated = [
            json.loads(text) for kind, text in self._rows() if kind == "run.started"
        ]
        predicates = [one["predicate"] for one in stated]
        return [(one["muniment"]["run"], one["data"]["name"]) for one in predicates]

    def _rows(self) -> list[tuple[str, bytes]]:
        place = self.folder / ".muniment" / "ledger.db"
        with closing(sqlite3.connect(place)) as connection:
            sql = "SELECT type, payload FROM event ORDER BY seq"
            return connection.execute(sql).fetchall()

    @property
    def paid(self) -> int:
        """How often the effect was performed that must not be performed twice."""
        return len((self.folder / "paid").read_text())
