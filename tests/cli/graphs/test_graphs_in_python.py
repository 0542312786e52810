"""Graphs that Python files hold: run, looked at, governed, killed and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment import verify

Shell = Any
DESK = """
import os, time
from pathlib import Path

import muniment
from muniment_plugins.workflow import workflow_graph


def draft(stage):
    with open("performed.txt", "a") as log:
        log.write("draft\\n")
    return f"Dear {stage.task}"


def send(stage):
    with open("performed.txt", "a") as log:
        log.write("send\\n")
    while os.environ.get("HELD"):
        time.sleep(0.05)
    return "sent"


DICT = {
    "name": "letter",
    "nodes": {"draft": {"handler": draft}, "send": {"handler": send}},
    "edges": [{"from": "draft", "to": "send"}],
}
TYPED = workflow_graph(DICT)
OTHER = {"one": 1}


def graph():
    return DICT


def typed(name="letter"):
    return TYPED if name == "letter" else None


def nothing():
    return None


def broken():
    raise ValueError("no wood")


def wrong():
    return {"nodes": {"a": {"nope": 1}}}


def runs():
    with muniment.open() as ledger:
        return ledger.execute(main)


def main(run):
    return run.effect("tool", 1, lambda one: one)
"""
GRAPHS = ("desk.py:DICT", "desk:TYPED", "desk.py:graph", "desk:typed")


@pytest.fixture
def desk(work: Path, shell: Shell) -> Path:
    """Stand beside a file with graphs, and with what is none."""
    assert shell("init").code == 0
    (work / "desk.py").write_text(DESK)
    (work / "half.json").write_text(
        json.dumps(
            {
                "spec_version": "v1",
                "policy_id": "half",
                "execution_budget": {
                    "effect_limits": {"stage": 1},
                    "exhaustion_action": "halt",
                },
            }
        )
    )
    return work


@pytest.mark.parametrize("named", GRAPHS)
def test_a_graph_is_run(desk: Path, installed: Shell, named: str) -> None:
    """An object, and what a function makes, are run as a document is; replays hold."""
    done = installed("run", named, "--task", "Ann", "--json")
    assert done.code == 0, done.err
    said = done.json
    assert (said["status"], said["name"]) == ("completed", "letter")
    assert (desk / "performed.txt").read_text() == "draft\nsend\n"
    replayed = installed("replay", "last", "--trust-program", "--no-record")
    assert replayed.code == 0, replayed.out + replayed.err
    assert (desk / "performed.txt").read_text() == "draft\nsend\n"


@pytest.mark.parametrize(
    "words",
    [
        ("workflow", "validate"),
        ("workflow", "inspect"),
        ("workflow", "graph"),
        ("workflow", "policy-report"),
        ("plan",),
        ("run", "--dry"),
    ],
)
def test_each_command_that_reads_a_graph_takes_one(
    desk: Path, installed: Shell, words: tuple[str, ...]
) -> None:
    """It is looked at as a document is, and nothing of it is performed."""
    done = installed(*words, "desk.py:graph")
    assert done.code == 0, done.out + done.err
    assert not (desk / "performed.txt").exists()


@pytest.mark.parametrize(
    ("name", "rule", "code"),
    [
        ("nothing", "run/graph", 2),
        ("broken", "run/import", 3),
        ("wrong", "workflow/unknown-key", 2),
        ("runs", "program/importing", 4),
        ("OTHER", "run/program", 2),
        ("grahp", "run/name", 2),
    ],
)
def test_what_is_no_graph_is_refused(
    desk: Path, installed: Shell, name: str, rule: str, code: int
) -> None:
    """It says what is wrong, and where, and leaves no run."""
    done = installed("run", f"desk.py:{name}")
    assert desk.exists()
    assert (done.code, f"[{rule}]" in done.err) == (code, True), done.err
    assert "desk.py" in done.err
    assert ("did you mean graph?" in done.err) is (name == "grahp")
    with muniment.open() as ledger:
        assert [*ledger.runs()] == []
    looked = installed("plan", f"desk.py:{name}")
    assert looked.code == (2 if rule == "run/program" else code), looked.err


@pytest.mark.parametrize(
    "words",
    [
        ("desk.py:main", "--task", "x"),
        ("desk.py", "--task", "x"),
        ("desk.py:main", "--artifact", "desk.py"),
    ],
)
def test_a_program_takes_no_task(
    desk: Path, installed: Shell, words: tuple[str, ...]
) -> None:
    """What only graphs take is refused for a program, named or not, before it is run."""
    del desk
    done = installed("run", *words)
    assert done.code == 2
    assert "only a graph does" in done.err
    with muniment.open() as ledger:
        assert [*ledger.runs()] == []


def test_it_is_governed(desk: Path, installed: Shell) -> None:
    """A policy holds it: what its budget does not have is not performed."""
    done = installed("run", "desk.py:graph", "--task", "Ann", "--policy", "half.json")
    assert done.code == 1
    assert "effect_limits.stage: 1 of 1 is spent" in done.out
    assert (desk / "performed.txt").read_text() == "draft\n"
    resumed = installed("resume", "last")
    assert (resumed.code, "nobody has amended its policy" in resumed.err) == (4, True)
    assert (desk / "performed.txt").read_text() == "draft\n"


@pytest.mark.parametrize(
    "named",
    [
        (),
        pytest.param(("--program", "desk.py:graph"), marks=pytest.mark.slow),
    ],
)
def test_it_is_killed_and_gone_on_with(
    desk: Path, installed: Shell, named: tuple[str, ...]
) -> None:
    """Another process finds the functions by the record, or in the graph that is named."""
    command = str(Path(sys.executable).with_name("muniment"))
    with subprocess.Popen(
        [command, "run", "desk.py:graph", "--task", "Ann"],
        cwd=desk,
        env={**os.environ, "HELD": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as child:
        log = desk / "performed.txt"
        until = time.monotonic() + 60
        while not log.exists() or log.read_text() != "draft\nsend\n":
            assert child.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
    done = installed("resume", "last", *named)
    assert done.code == 0, done.err
    assert "completed" in done.out
    assert log.read_text() == "draft\nsend\nsend\n"
    assert verify(desk / ".muniment" / "ledger.db").ok
