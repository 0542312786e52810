"""``--policy`` on the command line: which runs it may hold, and that there is one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from muniment_cli.shell.group import command_line

Shell = Any

PROGRAM = """
def main(run):
    got = [run.effect("tool", 0, str)]
    run.pause("for the night")
    return got + [run.effect("tool", number, str) for number in range(1, 20)]
"""
FOUR = {
    "spec_version": "v1",
    "execution_budget": {"effect_limit": 4, "exhaustion_action": "halt"},
}


@pytest.fixture
def paused(work: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a run that began without a policy, and can be resumed."""
    monkeypatch.delitem(sys.modules, "night", raising=False)  # that of another test
    (work / "night.py").write_text(PROGRAM)
    (work / "four.json").write_text(json.dumps(FOUR))
    (work / "unsafe.json").write_text(
        json.dumps({"spec_version": "v1", "mode": "unsafe"})
    )
    assert shell("init").code == 0
    ran = shell("run", "night.py", "--json")
    assert ran.code == 5
    return str(ran.json["run"])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("policy", ["four.json", "unsafe.json"])
def test_a_run_that_began_without_a_policy_is_resumed_under_none(
    shell: Shell, paused: str, policy: str, strict: bool, monkeypatch: Any
) -> None:
    """It is refused, exit code 4, before an effect; without the option it goes on."""
    if strict:
        monkeypatch.setenv("MUNIMENT_STRICT", "1")
    before = shell("events", "--run", paused, "--json").json
    refused = shell("resume", paused, "--policy", policy)
    assert (refused.code, refused.out) == (4, "")
    assert "began without a policy" in refused.err
    assert shell("events", "--run", paused, "--json").json == before
    assert shell("resume", paused).code == 0


def test_two_policies_are_refused(shell: Shell, paused: str) -> None:
    """Of every command that takes one: the last one does not silently win."""
    twice = ["--policy", "four.json", "--policy", "four.json"]
    group = command_line()
    context = click.Context(group)
    taking = [
        name
        for name in group.list_commands(context)
        if any(
            "--policy" in one.opts
            for one in getattr(group.get_command(context, name), "params", [])
        )
    ]
    assert {"observe", "plan", "record", "resume", "run"} <= {*taking}
    for name in taking:
        target = paused if name in ("observe", "resume") else "night.py"
        refused = shell(name, *([] if name == "record" else [target]), *twice)
        assert refused.code == 2
        assert "--policy is given twice" in refused.err


def test_a_difference_says_what_the_runs_were_held_to(
    shell: Shell, work: Path, paused: str
) -> None:
    """Runs that did the same are equal, and one was under a policy, and marked."""
    (work / "same.py").write_text(
        "def main(run):\n    return run.effect('tool', 0, str)\n"
    )
    one = shell("run", "same.py", "--json").json["run"]
    other = shell("run", "same.py", "--policy", "unsafe.json", "--json").json["run"]
    said = shell("runs", "diff", one, other)
    assert (said.code, paused in said.out) == (0, False)
    told = " ".join(said.out.split())
    assert "A was under no policy B was under the policy sha256:" in told
    assert ", marked non_certifiable: " in told
    assert " was " not in shell("runs", "diff", one, one).out
