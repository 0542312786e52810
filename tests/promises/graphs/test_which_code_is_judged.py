"""A replay judges the code that ran, or says that it is another, and judges nothing.

Wherever the code of a graph or a flow is called from, whatever the document makes of a
failure of it, and whoever asks: the command line, Python, or a replay of all runs below.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muniment.ledger import Ledger

COMMAND = str(Path(sys.executable).with_name("muniment"))
HELPER = "def text():\n    return 'one'\n"
HANDLERS = """
import helper

def two(run, stage):
    return helper.text()

async def later(run, stage):
    return helper.text()

def careful(run, stage):
    try:
        return helper.text()
    except Exception:
        return 'nothing'

def flowing(run, task):
    return {'text': helper.text()}
"""
TWO: dict[str, Any] = {"handler": "h:two"}
GRAPHS: dict[str, dict[str, Any]] = {
    "a stage": {"nodes": {"act": TWO}},
    "an awaited stage": {"nodes": {"act": {"handler": "h:later"}}},
    "a careful stage": {"nodes": {"act": {"handler": "h:careful"}}},
    "a stage that may fail": {
        "entry": "act",
        "nodes": {"act": TWO, "other": TWO, "end": TWO},
        "edges": [
            {"from": "act", "to": "other", "branch": "failed"},
            {"from": "act", "to": "end", "branch": "success"},
        ],
    },
    "a stage that is tried again": {
        "nodes": {"act": {**TWO, "retry_policy": {"max_attempts": 3}}}
    },
    "a map": {
        "nodes": {"act": {"kind": "map", "map_policy": {"items": [1, 2]}, "body": TWO}}
    },
    "branches": {
        "entry": "fork",
        "nodes": {
            "fork": {"kind": "fork"},
            "a": TWO,
            "b": TWO,
            "join": {"kind": "join"},
        },
        "edges": [
            {"from": "fork", "to": "a"},
            {"from": "fork", "to": "b"},
            {"from": "a", "to": "join"},
            {"from": "b", "to": "join"},
        ],
    },
    "a child": {
        "nodes": {"act": {"kind": "subagent", "graph": {"nodes": {"act": TWO}}}}
    },
}
FLOW = {
    "flow_id": "tickets",
    "tenant_id": "support",
    "flow_state": "validated",
    "determinism_level": "strict",
    "replay_acceptability": "exact_match",
    "replay_envelope": {"min_claim_overlap": 1.0, "max_contradiction_delta": 0},
    "agents": ["read"],
    "dependencies": [],
    "parts": {"read": "h:flowing"},
    "inputs": {},
    "entropy_budget": {"allowed_sources": ["data"], "max_magnitude": "low"},
}
PYTHON = """
import sys, muniment
sys.path.insert(0, ".")
with muniment.open() as ledger:
    report = muniment.replay(ledger, sys.argv[1], record=True, children=True)
    print(report.verdict)
"""


def ran(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in the working directory."""
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand beside handlers, and what they import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "home"))
    Path("h.py").write_text(HANDLERS)
    Path("helper.py").write_text(HELPER)
    assert ran(COMMAND, "init").returncode == 0
    return tmp_path


def begun(document: dict[str, Any], *more: str) -> str:
    """Run *document*, and return its run: the first, if that called others."""
    Path("d.json").write_text(json.dumps(document))
    done = ran(COMMAND, "run", "d.json", *more)
    assert done.returncode == 0, done.stderr
    with Ledger.open(".muniment/ledger.db") as ledger:
        return min(one.id for one in ledger.runs())


def judged() -> int:
    """Return how many verdicts the ledger has."""
    with Ledger.open(".muniment/ledger.db") as ledger:
        return len([*ledger.events(type="replay.judged")])


def commented(name: str) -> None:
    """Add a comment to a file."""
    with Path(name).open("a") as file:
        file.write("# another day\n")


def refused(run: str, name: str, *words: str) -> None:
    """Ask for a replay of *run* by *words*, now that the file *name* is another."""
    before = judged()
    asked = (
        (COMMAND, "replay", run, *words) if words else (sys.executable, "-c", PYTHON)
    )
    done = ran(*asked) if words else ran(*asked, run)
    assert done.returncode == (4 if words else 1), done.stdout
    assert "program/changed" in done.stderr, done
    assert name in done.stderr
    assert "verdict" not in done.stdout
    assert judged() == before


WAYS: dict[str, tuple[str, ...]] = {"h.py": ("--deep",), "helper.py": ()}
"""The file that is edited → the options of the command, or none for Python."""
AT_ONCE = ("a stage that may fail", "a child")


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(one, marks=() if one in AT_ONCE else pytest.mark.slow)
        for one in GRAPHS
    ],
)
def test_graphs(place: Path, shape: str) -> None:
    """One comment more, and nothing is judged; put back, or named, it is."""
    del place
    run = begun(GRAPHS[shape], "--task", "t")
    for name, words in WAYS.items():
        text = Path(name).read_text()
        commented(name)
        refused(run, name, *words)
        Path(name).write_text(text)
    assert ran(COMMAND, "replay", run, "--deep").returncode == 0


def test_flows(place: Path) -> None:
    """The steps of a flow are held to the same rule."""
    del place
    run = begun(FLOW)
    for name, words in WAYS.items():
        text = Path(name).read_text()
        commented(name)
        refused(run, name, *words)
        Path(name).write_text(text)
    assert ran(COMMAND, "replay", run, "--deep").returncode == 0


def test_a_run_that_failed(place: Path) -> None:
    """The failure of a handler is not the failure of a handler that is another one."""
    del place
    Path("helper.py").write_text("def text():\n    raise ValueError('one')\n")
    Path("d.json").write_text(json.dumps(GRAPHS["a stage"]))
    assert ran(COMMAND, "run", "d.json", "--task", "t").returncode == 1
    with Ledger.open(".muniment/ledger.db") as ledger:
        (run,) = (one.id for one in ledger.runs())
    assert ran(COMMAND, "replay", run).returncode == 0
    commented("helper.py")
    refused(run, "helper.py", "--mode", "observational")


def test_a_graph_that_is_named_is_judged_as_it_is(place: Path) -> None:
    """Whoever names a graph says which one to judge: another function is a difference."""
    del place
    run = begun(GRAPHS["a stage"], "--task", "t")
    Path("helper.py").write_text(HELPER.replace("one", "two"))
    named = ran(COMMAND, "replay", run, "--program", "d.json")
    assert named.returncode == 1, named.stderr
    assert "unacceptable" in named.stdout
    Path("helper.py").write_text(HELPER)
    commented("helper.py")
    assert ran(COMMAND, "replay", run, "--program", "d.json").returncode == 0
