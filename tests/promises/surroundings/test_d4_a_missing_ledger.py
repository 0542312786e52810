"""A ledger that is not there is *could not check*, exit code 3, in every command.

Named or looked for, with and without ``--json``; no command makes a file of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from command_lines import commands, typed
from muniment_cli import main

OTHERWISE = {"demo", "doctor", "forget", "init", "plan", "plugins", "policy check"} | {
    f"workflow {one}"
    for one in ("diff", "edit", "graph", "inspect", "policy-report", "validate")
}
"""What makes a ledger, or wants none."""


def wanting() -> list[str]:
    """Return the commands that read a ledger."""
    return [one for one in commands() if not {one, one.split()[0]} & OTHERWISE]


@pytest.mark.parametrize("situation", [(), ("--ledger", "nowhere.db")])
@pytest.mark.parametrize("name", wanting())
def test_it_could_not_be_checked(
    name: str,
    situation: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """One exit code, and the folder stays as it was."""
    monkeypatch.chdir(tmp_path)
    words = [*typed(name, commands()[name]), *situation]
    if name == "events show":
        words = ["1" if one == "x" else one for one in words]
    people = [one for one in words if one not in {"--json", "--jsonl"}]
    assert (main(words), main(people)) == (3, 3), capfd.readouterr()
    assert list(tmp_path.iterdir()) == []
