"""A graph whose process is killed goes on where it was, and comes to the same result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from first_hour import BIN, Newcomer
from graph_desk import DOCUMENT, write_graph

# What fails once fails no more after a kill: then the runs would differ, and should.
STEADY = {**DOCUMENT, "nodes": {**DOCUMENT["nodes"], "test": {"handler": "stages:act"}}}
GIVEN = ("run", "graph.json", "--task", "T", "--artifact", "notes.txt")


def killed_after(newcomer: Newcomer, line: str) -> None:
    """Run the graph, and kill it without warning as soon as *line* was acted."""
    acted = newcomer.folder / "acted"
    acted.unlink(missing_ok=True)
    running = subprocess.Popen(
        [BIN / "muniment", *GIVEN],
        cwd=newcomer.folder,
        env={**newcomer.environment, "SLOWLY": "0.3"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while not (acted.exists() and line in acted.read_text().split("\n")):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL


def digest_of(newcomer: Newcomer, *arguments: str) -> str:
    """Return the result digest of a command that runs to the end."""
    done = newcomer.muniment(*arguments, "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["result_digest"])


@pytest.mark.slow
@pytest.mark.parametrize("line", ["begin", "lint", "item b"])
def test_killed(newcomer: Newcomer, line: str) -> None:
    """No stage that ended is worked on again, and the digest is that of a whole run."""
    newcomer.begin()
    write_graph(newcomer.folder, STEADY)
    whole = digest_of(newcomer, *GIVEN)
    killed_after(newcomer, line)
    shown = json.loads(newcomer.muniment("runs", "show", "last", "--json").out)[
        "record"
    ]
    assert (shown["status"], bool(shown["queue"]["pending_nodes"])) == ("open", True)
    explained = newcomer.muniment("runs", "explain", "last").out
    assert "continues; completed effects are not repeated" in explained

    assert digest_of(newcomer, "resume", "last") == whole
    acted = (newcomer.folder / "acted").read_text().split()
    once = [name for name in ("begin", "lint") if name != line]
    assert [acted.count(name) for name in once] == [1] * len(once)
    replayed = newcomer.muniment("replay", "last", "--json")
    assert json.loads(replayed.out)["verdict"] == "acceptable"


@pytest.mark.slow
def test_killed_in_a_child(newcomer: Newcomer) -> None:
    """A child that was cut off with its parent goes on with it, under the same id."""
    newcomer.begin()
    nodes = {"outer": {"kind": "subagent", "graph": STEADY}}
    write_graph(newcomer.folder, {"nodes": nodes})
    killed_after(newcomer, "lint")
    tree = json.loads(newcomer.muniment("runs", "tree", "last", "--json").out)["tree"]
    (child,) = tree["children"]
    assert child["run"]["status"] == "open"
    assert tree["run"]["child_runs"][0]["parent_stage_id"] == "outer.1"

    digest_of(newcomer, "resume", "last")
    after = json.loads(newcomer.muniment("runs", "tree", "last", "--json").out)["tree"]
    assert (
        after["run"]["status"] == after["children"][0]["run"]["status"] == "completed"
    )
    assert after["children"][0]["run"]["id"] == child["run"]["id"]
    shown = newcomer.muniment("runs", "tree", "last").out
    assert shown.index("outer") < shown.index(child["run"]["id"]) < shown.index("lint")
    assert Path(newcomer.folder, "acted").read_text().count("begin") == 1
