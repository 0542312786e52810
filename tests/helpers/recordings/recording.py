"""A desk with a ledger, a model server and a program to record, for tests.

desk.write("agent.py", text)
done = desk.record(PYTHON, "agent.py")
desk.server_stops()
again = desk.replay(done.run, PYTHON, "agent.py")
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import muniment
import without_readers
from model_server import ModelServer
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries, RunSummary
from muniment.verification.verify import verify

__all__ = ["MUNIMENT", "PYTHON", "Desk", "Ended", "new_desk"]

PYTHON = sys.executable
MUNIMENT = str(Path(sys.executable).with_name("muniment"))


@dataclass(frozen=True)
class Ended:
    """What one command line left behind."""

    code: int
    out: str
    err: str

    @property
    def run(self) -> str:
        """The id of the run that was recorded, as the last lines name it."""
        named = [line for line in self.err.splitlines() if line.startswith("run 01")]
        return named[-1].split()[1].rstrip(":")


@dataclass
class Desk:
    """Where programs are recorded and replayed, by the installed command line."""

    place: Path
    server: ModelServer
    variables: dict[str, str]
    command: tuple[str, ...] = (MUNIMENT,)
    """The command line that records."""

    def write(self, name: str, text: str) -> None:
        """Write a program."""
        (self.place / name).write_text(text)

    @property
    def environment(self) -> dict[str, str]:
        """What the command line gets to see."""
        return {**os.environ, **self.variables}

    def muniment(self, *arguments: str, stdin: str = "") -> Ended:
        """Run ``muniment`` to its end."""
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.place,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ``muniment`` in a session of its own."""
        return subprocess.Popen(
            [MUNIMENT, *arguments],
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def has_no_readers(self) -> None:
        """Record on a loop as Windows has it."""
        self.command = (PYTHON, without_readers.__file__)

    def server_stops(self) -> None:
        """Let nobody answer any more."""
        self.server.__exit__(None, None, None)

    def record(self, *command: str, stdin: str = "") -> Ended:
        """Record a program."""
        return self.muniment("record", "--", *command, stdin=stdin)

    def replay(self, run: str, *command: str, stdin: str = "") -> Ended:
        """Replay a program; the answer is JSON."""
        behind = ("--", *command) if command else ()
        return self.muniment(
            "replay", run, "--no-record", "--json", *behind, stdin=stdin
        )

    def facts(self, run: str) -> RunSummary:
        """Return what the ledger says of *run*."""
        with muniment.open(self.ledger, readonly=True) as ledger:
            return ledger.project(RunSummaries, run=run)

    def data(self, run: str, kind: str) -> list[dict[str, Any]]:
        """Return the data of the events of one type, whole."""
        with muniment.open(self.ledger, readonly=True) as ledger:
            return [
                ledger.resolve(event) for event in ledger.events(run=run, type=kind)
            ]

    def open(self) -> Ledger:
        """Open the ledger for reading."""
        return muniment.open(self.ledger, readonly=True)

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.place / ".muniment" / "ledger.db"

    @property
    def holds(self) -> bool:
        """Whether the ledger verifies."""
        return verify(self.ledger).ok

    def bytes_of_ledger(self) -> bytes:
        """Return everything that the ledger wrote, wherever it did."""
        files = (self.place / ".muniment").rglob("*")
        return b"".join(file.read_bytes() for file in files if file.is_file())


def new_desk(place: Path, server: ModelServer) -> Desk:
    """Return a desk with a ledger in the new folder *place*, before *server*."""
    place.mkdir()
    with Ledger.create(place / ".muniment" / "ledger.db"):
        pass
    variables = {"BASE": server.url, "PYTHONPATH": "", "NO_COLOR": "1"}
    return Desk(place, server, variables)
