"""Under ``--json`` an error is one JSON document on stderr, with the same exit code.

Every command that takes the option, in each situation where it cannot answer.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_lines import commands, typed
from muniment_cli import main

MEMBERS = {"message", "rule", "place", "remedy", "exit_code"}
SITUATIONS = {
    "missing": ("--ledger", "nowhere.db"),
    "corrupt": ("--ledger", "corrupt.db"),
    "bad option": ("--no-such-option",),
    "none here": (),
}
JUDGES = {"demo", "doctor", "init", "plugins", "verify"}
"""What answers without a ledger, or says in its answer what is wrong with it."""


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", commands())
def test_every_command_in_every_situation(
    name: str,
    situation: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What fails says so as a document, and prints no answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corrupt.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    words = [*typed(name, commands()[name]), *SITUATIONS[situation]]
    capfd.readouterr()

    code = main(words)

    out, err = capfd.readouterr()
    if name.split(maxsplit=1)[0] in JUDGES and out:
        assert json.loads(out)
        return
    lines = [line for line in err.splitlines() if line.startswith("{")]
    assert len(lines) == 1, (words, out, err)
    said = json.loads(lines[0])["error"]
    assert (set(said), said["exit_code"], out) == (MEMBERS, code, "")
    assert said["rule"] != "cli/bug", said
