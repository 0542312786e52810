"""A graph that asks people waits for them, through the command line alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from approvers import enrolled
from first_hour import Newcomer
from graph_desk import write_graph

DOCUMENT = {
    "entry": "begin",
    "nodes": {
        "begin": {"handler": "stages:act"},
        "ask": {
            "kind": "escalation",
            "escalation_policy": {"reason": "it changes the schema"},
        },
        "end": {"handler": "stages:act"},
    },
    "edges": [{"from": "begin", "to": "ask"}, {"from": "ask", "to": "end"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_people_decide(newcomer: Newcomer, tmp_path: Path, answer: str) -> None:
    """It pauses, is in the inbox with its question, and goes on as an approver says."""
    (anna,) = enrolled(newcomer, tmp_path, "anna")
    write_graph(newcomer.folder, DOCUMENT)
    waits = newcomer.muniment("run", "graph.json", "--json")
    assert waits.code == 5
    run = json.loads(waits.out)["run"]
    (asked,) = json.loads(newcomer.muniment("inbox", "--json").out)
    assert (asked["run"], asked["prompt"]) == (run, "it changes the schema")
    shown = newcomer.muniment("runs", "show", run, "--limit", "0").out
    assert "goes on at ask" in shown

    assert anna.muniment(answer, run, "-o", "answer.json").code == 0
    added = newcomer.muniment("inbox", "add", anna.folder / "answer.json")
    assert added.code == 0
    done = newcomer.muniment("resume", run, "--json")
    record = json.loads(newcomer.muniment("runs", "show", run, "--json").out)["record"]
    (question,) = record["hitl_questions"]
    approved = answer == "approve"
    assert done.code == (0 if approved else 1)
    assert question["outcome"] == ("approved" if approved else "denied")
    assert question["stage_id"] == "ask.1"
    nodes = [one["node_id"] for one in record["stages"]]
    assert nodes == ["begin", "ask", *(["end"] if approved else [])]
    assert (newcomer.folder / "acted").read_text().count("begin") == 1
