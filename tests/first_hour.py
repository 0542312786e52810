"""An empty directory, a fresh trust home, and whoever starts there with a shell.

Rule: nothing of this process reaches what is started, but where the packages lie.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Newcomer", "Said"]

BIN = Path(sys.executable).parent


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
        """What is set, and nothing else; as `env -i` gives."""
        return {
            "PATH": f"{BIN}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(self.home),
            "MUNIMENT_HOME": str(self.home / "trust"),
            **self.also,
        }

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

    def python(self, *arguments: str) -> Said:
        """Run a script."""
        return self.start(["python", *arguments])

    def events(self) -> list[str]:
        """Return the types of all events of the ledger here."""
        lines = self.muniment("events", "--jsonl", "--limit", "10000").out.splitlines()
        return [json.loads(line)["type"] for line in lines]

    def runs(self, *names: str) -> int:
        """Return how many runs of these names there are."""
        listed = json.loads(self.muniment("runs", "--json").out)
        return sum(one["name"] in names for one in listed)

    @property
    def paid(self) -> int:
        """How often the effect was performed that must not be performed twice."""
        return len((self.folder / "paid").read_text())
