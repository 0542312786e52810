"""Calls that wait for people are calls: a run that waits for others went another way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agent_tools import calls, tools
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.workflow import workflow_execute
from workflow_stages import Document, chain

SCRIPT: dict[int, Any] = {}
EDIT = ("edit", {"path": "a", "text": "t"})
CHANGES: Mapping[str, Any] = {
    "other arguments": [("edit", {"path": "b", "text": "t"})],
    "another tool": [("burst", {"why": "a"})],
    "one more": [EDIT, EDIT],
    "denied": [("edit", {"path": "a"})],
}
WHERE = ("public", "private", "below")


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says."""
    return SCRIPT


def graph(where: str) -> Document:
    """Return a graph of a loop of which each call waits."""
    act: dict[str, Any] = {
        "mode": "agent",
        "tools": tools(),
        "model_policy": {"model": "test:a"},
        "approval_policy": {"default": "ask"},
    }
    if where == "private":
        act["output_visibility"] = "private"
    inside = chain(act=act)
    below = chain(sub={"kind": "subagent", "graph": inside})
    return below if where == "below" else inside


def run_of(book: Ledger, where: str, called: Any) -> str:
    """Run it until it waits; return the run."""
    SCRIPT.clear()
    SCRIPT.update({1: calls(*called), 2: "Ok."})
    done = workflow_execute(book, "T", graph(where))
    assert done.status == "paused", done.error
    return done.run_id


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_named(library: Ledger, where: str, change: str) -> None:
    """By a fixture and by a difference; a run that waits for the same is the same."""
    rows = [EDIT, ("edit", {"path": "z", "text": "t"})]
    other = [*CHANGES[change], rows[1]]
    one, same, bad = (run_of(library, where, it) for it in (rows, rows, other))
    fixture = run_record_fixture(library, one)
    found = run_record_eval(library, same, fixture)
    assert (found["verdict"], found["failures"]) == ("passed", []), found
    assert run_record_diff(library, one, same)["identical"]
    place = "sub.1/act.1" if where == "below" else "act.1"
    told = run_record_eval(library, bad, fixture)
    assert (told["verdict"], told["changed_stages"]) == ("failed", [place]), told
    diff = run_record_diff(library, one, bad)
    assert place in [row["stage_id"] for row in diff["stage_diffs"]]
    assert not diff["identical"]


def test_a_call_that_may_come_yet_is_none_that_lacks(library: Ledger) -> None:
    """Of a run without an end that called less so far nobody can tell."""
    two = run_of(library, "public", [EDIT, EDIT])
    fixture = run_record_fixture(library, two)
    found = run_record_eval(library, run_of(library, "public", [EDIT]), fixture)
    assert (found["verdict"], found["changed_stages"]) == ("cannot_tell", []), found
