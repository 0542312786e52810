"""The command line as users meet it: in this process for speed, or installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment_cli import main

INSTALLED = Path(sys.executable).with_name("muniment")


@dataclass(frozen=True)
class Outcome:
    """What one command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


Shell = Callable[..., Outcome]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty directory."""
    place = tmp_path / "desk"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return place


@pytest.fixture
def shell(work: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    """Run a command line in this process."""

    def run(*arguments: object) -> Outcome:
        assert work.is_dir()
        capfd.readouterr()
        code = main([str(one) for one in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Outcome(code, out, err)

    return run


@pytest.fixture
def installed(work: Path) -> Shell:
    """Run the installed ``muniment`` in a process of its own."""

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [str(INSTALLED), *map(str, arguments)],
            cwd=work,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def made(shell: Shell, work: Path) -> Path:
    """Make a ledger here, with one event more than its genesis."""
    assert shell("init").code == 0
    with muniment.open() as ledger:
        ledger.append("note.added", {"text": "one", "details": {"secret": "s3cret"}})
    return work / ".muniment" / "ledger.db"


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """Move the recovery files away, as `init` says; return the root's."""
    safe = tmp_path / "safe"
    safe.mkdir()
    home = Path(os.environ["MUNIMENT_HOME"])
    for path in home.glob("ledgers/*/recovery/*.pem"):
        path.rename(safe / path.name)
    assert made.exists()
    return safe / "root.pem"
