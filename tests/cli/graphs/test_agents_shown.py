"""Loops of models on the command line: heard while they run, shown by their turns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

Shell = Any
STAGES = (
    "from pathlib import Path\n\n\ndef read(path):\n    return Path(path).read_text()\n"
)
ANSWERS = [
    {
        "turn": 1,
        "text": "I \x1b[31mlook.\n",
        "tool_calls": [
            {"id": "a", "name": "read", "arguments": {"path": "ask.json"}},
            {"id": "b", "name": "raed", "arguments": {}},
        ],
    },
    {"turn": 2, "text": "Hm."},
    {"turn": 3, "text": "Found. DONE"},
]
TOOL = {
    "name": "read",
    "parameters": {"path": {"type": "string"}},
    "handler": "agent_stages:read",
    "policy": {"side_effect_level": "read_only", "path_params": ["path"]},
}
POLICY = {"provider": "scripted", "model": "answers.json"}
ACT = {
    "mode": "agent",
    "tools": [TOOL],
    "model_policy": POLICY,
    "done_sentinel": "DONE",
}


@pytest.fixture
def desk(work: Path, shell: Shell) -> Iterator[Path]:
    """Stand beside a graph of one loop, at a ledger."""
    (work / "agent_stages.py").write_text(STAGES)
    (work / "answers.json").write_text(json.dumps(ANSWERS))
    (work / "ask.json").write_text(json.dumps({"nodes": {"act": ACT}}))
    assert shell("init").code == 0
    yield work
    sys.modules.pop("agent_stages", None)


def test_listening(desk: Path, shell: Shell) -> None:
    """What a model says is printed with its scope, harmless to a terminal."""
    assert desk.is_dir()
    ran = shell("run", "ask.json", "--task", "T", "--listen")
    assert ran.code == 0
    assert "\x1b" not in ran.err
    heard = [one for one in ran.err.splitlines() if one.startswith("act.1/")]
    assert heard == [
        "act.1/turn.1: I \\x1b[31mlook.",
        "act.1/turn.2: Hm.",
        "act.1/turn.3: Found. DONE",
    ]
    silent = shell("run", "ask.json", "--task", "T")
    assert "Found" not in silent.err
    digest = [one for one in ran.out.splitlines() if one.startswith("result digest")]
    assert digest[0] in silent.out
    as_json = shell("run", "ask.json", "--task", "T", "--listen", "--json")
    assert as_json.json["status"] == "completed"


def test_turns_are_shown(desk: Path, shell: Shell) -> None:
    """The record has a line for each turn: who was asked, what it called, why it went on."""
    assert desk.is_dir()
    shell("run", "ask.json", "--task", "T")
    lines = shell("runs", "show", "last").out.splitlines()
    at = next(n for n, one in enumerate(lines) if one.startswith("loop"))
    first, second, third = (one.split() for one in lines[at + 1 : at + 4])
    assert first[:3] == ["act.1", "1", "scripted:answers.json"]
    assert " ".join(first[3:-1]) == "read, raed denied (unknown_tool)"
    assert second[3:5] == ["told:", "not_done"]
    assert third[3] == "done"
    record = shell("runs", "show", "last", "--json").json
    assert "turns" in json.dumps(record)
    assert shell("replay", "last").code == 0
    (desk / "agent_stages.py").unlink()
    assert shell("replay", "last").code == 0


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_a_call_that_waits_is_shown(desk: Path, shell: Shell, visibility: str) -> None:
    """The table says which tool waits for people; of a private call only that it waits."""
    policy = {"approval_policy": {"require_approval": ["read"]}}
    shut = {} if visibility == "public" else {"output_visibility": visibility}
    act = {**ACT, **policy, **shut}
    (desk / "ask.json").write_text(json.dumps({"nodes": {"act": act}}))
    assert shell("run", "ask.json", "--task", "T").code == 5
    shown = shell("runs", "show", "last")
    assert (shown.code, "cli/bug" in shown.err) == (0, False)
    name = "read" if visibility == "public" else "(private)"
    assert f"{name} waiting" in shown.out
