"""A user without home and passwd entry reads and verifies; writing names the variable.

As in a container that runs under some number: a real process under a uid that nobody
has, with an empty environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment
import muniment_cli
from machines import paths, reachable_python

UID = 12345
CLI = str(Path(muniment_cli.__path__[0]).parent)
CODE = "import sys; from muniment_cli import main; sys.exit(main())"

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to be another"
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a ledger with a run, where everybody may read and write."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        monkeypatch.chdir(place)
        with muniment.open(create=True) as ledger:
            ledger.execute(program)
        for one in (place, *place.rglob("*")):
            one.chmod(0o777 if one.is_dir() else 0o666)
        yield place


def program(_: muniment.Run) -> int:
    """Compute nothing much."""
    return 1


def typed(folder: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Return code, stdout and stderr of ``muniment`` for the user without a name."""
    done = subprocess.run(
        [reachable_python(), "-c", CODE, *arguments],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join([CLI, paths()]),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        user=UID,
        group=UID,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "cli/bug" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        *("verify", "status", "events", "runs", "keys list", "plugins", "prove 0"),
        *("query 'SELECT 1'", "runs explain RUN", "runs show RUN", "events show 1"),
        *("backup copy.db", "checkpoint --json", "doctor"),
    ],
)
def test_reading_needs_no_home(folder: Path, command: str) -> None:
    """What only reads answers; nothing is known of the ledger, and that is said."""
    run = json.loads(typed(folder, "runs", "--json")[1])[0]["id"]
    words = command.replace("RUN", run).replace("'SELECT 1'", "SELECT+1").split()
    code, out, err = typed(folder, *(one.replace("+", " ") for one in words))

    assert "trust/no-home" not in err
    if command.startswith("checkpoint"):
        assert (code, "ledger/unpinned" in err) == (4, True)
    elif command == "doctor":
        assert out
    else:
        # Nobody vouched for its keys, in a home that is not there.
        assert (code, bool(out)) == (3 if command == "verify" else 0, True), err


@pytest.mark.parametrize(
    "command",
    ["init new", "keys trust FINGERPRINT", "verify --pin FINGERPRINT"],
)
def test_writing_names_the_variable(folder: Path, command: str) -> None:
    """One line says what is missing, and which variable names it; then it works."""
    keys = json.loads(typed(folder, "keys", "list", "--json")[1])
    listed = keys["keys"] if isinstance(keys, dict) else keys
    root = next(one["keyid"] for one in listed if "root" in str(one))
    words = command.replace("FINGERPRINT", root).split()
    code, _, err = typed(folder, *words)

    # What was verified is told; that it cannot be remembered is a warning.
    expected = 0 if words[0] == "verify" else 3
    assert (code, "[trust/no-home]" in err) == (expected, True), err
    assert "set MUNIMENT_HOME to a directory of yours" in err
    code, _, err = typed(folder, *words, MUNIMENT_HOME=str(folder / "home"))
    assert code == 0, err
