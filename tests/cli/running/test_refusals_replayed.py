"""``muniment replay`` of programs that were refused what is not theirs.

The process that judges is told nothing of what was refused: it left nothing in the record.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("made")

DESK = """
SAID = {"node": "a", "verdict": "verified", "checks": []}


def state(run):
    run.record("verification.concluded", SAID)


def wait(run):
    run.effect("timer", {"seconds": 0}, lambda request: "mine")


def caught(run, act):
    try:
        act(run)
    except Exception as error:
        return error.rule


def catches(run):
    found = [caught(run, state), caught(run, wait)]
    run.sleep(0)
    return found


def fails(run):
    state(run)


def handler(run, stage):
    return str([caught(run, state), caught(run, wait)])


def failing(run, stage):
    wait(run)
"""


@pytest.mark.parametrize(("name", "code"), [("catches", 0), ("fails", 1)])
def test_a_refused_program(installed: Any, work: Path, name: str, code: int) -> None:
    """Whether it goes on or fails, its replay is acceptable."""
    (work / "desk.py").write_text(DESK)
    done = installed("run", f"desk.py:{name}", "--json")
    assert done.code == code
    if not code:
        assert done.json["result"] == ["event/own", "effect/own"]
    again = installed("replay", done.json["run"], "--no-record", "--json")
    assert (again.code, again.json["verdict"]) == (0, "acceptable"), again.err
    assert again.json["findings"] == []


@pytest.mark.parametrize(("name", "code"), [("handler", 0), ("failing", 1)])
def test_a_refused_handler(installed: Any, work: Path, name: str, code: int) -> None:
    """So is that of a graph whose handler was refused."""
    (work / "desk.py").write_text(DESK)
    graph = {"nodes": {"a": {"handler": f"desk:{name}"}}}
    (work / "g.json").write_text(json.dumps(graph))
    assert installed("run", "g.json").code == code
    again = installed("replay", "last", "--no-record", "--json")
    assert (again.code, again.json["verdict"]) == (0, "acceptable"), again.err
    assert again.json["findings"] == []
