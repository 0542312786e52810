"""What the holder of a key writes as a run of a graph is shown, or refused; no command breaks."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

import muniment
from forged_runs import altered, facts_of, write_run
from graph_desk import write_graph

COMMANDS = (("runs", "show"), ("runs", "tree"), ("inspect", "run"), ("runs", "explain"))


@pytest.fixture
def graph_run(shell: Any, work: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the graph on the desk; return its run."""
    monkeypatch.syspath_prepend(str(work))
    sys.modules.pop("stages", None)  # that of another test
    write_graph(work)
    assert shell("init").code == 0
    return str(shell("run", "graph.json", "--json").json["run"])


@pytest.mark.parametrize("seed", range(4))
def test_forged_runs(shell: Any, graph_run: str, seed: int) -> None:
    """Whatever was altered, each reader answers or refuses, and says why."""
    dice = Random(seed)  # noqa: S311 - a seed that is known
    with muniment.open() as ledger:
        facts = facts_of(ledger, graph_run)
        runs = [write_run(ledger, altered(facts, dice)) for _ in range(2)]
    for run in runs:
        for command in COMMANDS:
            told = shell(*command, run)
            assert "cli/bug" not in told.err, told.err
            assert told.code in (0, 1, 2, 3, 4)
            assert told.out or "error" in told.err


def test_a_key_on_the_command_line(shell: Any, work: Path, graph_run: str) -> None:
    """A graph that is run twice with a key is walked once; with another task it is refused."""
    del graph_run
    keyed = (
        "run",
        "graph.json",
        "--artifact",
        "notes.txt",
        "-p",
        "key=nightly",
        "--json",
    )
    first, acted = shell(*keyed), (work / "acted").read_text()
    second, other = shell(*keyed), shell(*keyed, "--task", "another")
    assert (first.code, second.code) == (0, 0), first.err
    assert first.json["run"] == second.json["run"]
    assert other.code == 4
    assert "differs in: task" in other.err
    assert "workflow/other-start" in other.err
    assert (work / "acted").read_text() == acted
