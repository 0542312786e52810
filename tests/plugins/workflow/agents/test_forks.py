"""A loop is forked at any of its turns, with another model from there on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent_tools import calls, performed, tools
from muniment import Run, replay, verify
from muniment.ledger import Ledger
from muniment_plugins.workflow import agent_loop, agent_records, workflow_execute

Scripts = Callable[..., Ledger]
SCRIPT = {
    1: calls(("read", {"path": "a"})),
    2: calls(("read", {"path": "b"}), ("read", {"path": "c"})),
    3: "Done.",
}


def program(run: Run) -> str:
    """Loop."""
    return agent_loop(run, "Do it.", model="test:a", tools=tools()).text


@pytest.mark.parametrize("given", ["test:b", {"model": "test:b"}])
@pytest.mark.parametrize("turn", [1, 2, 3])
@pytest.mark.parametrize("graph", [False, True])
def test_another_model(scripted: Scripts, turn: int, given: Any, graph: bool) -> None:
    """What is before the turn is answered by the origin; the rest asks the other model."""
    ledger = scripted(SCRIPT)
    if graph:
        node = {"mode": "agent", "tools": tools(), "model_policy": {"model": "test:a"}}
        done = workflow_execute(ledger, "x", {"nodes": {"act": node}}).done
    else:
        done = ledger.execute(program)
    chosen = list(ledger.events(run=done.run_id, type="agent.turn.completed"))[turn - 1]
    before = performed()
    known: Any = {} if graph else {"program": program}
    fork = ledger.fork(done.run_id, at=chosen.seq, changes={chosen.seq: given}, **known)

    assert fork.status == "completed", fork.error
    asked = [one for one in performed()[len(before) :] if one.startswith("asked")]
    assert asked == [f"asked test:b {number}" for number in range(turn, 4)]
    (record,) = agent_records(ledger, fork.run_id)
    models = [one["model"] for one in record["turns"]]
    assert models == ["test:a"] * (turn - 1) + ["test:b"] * (4 - turn)
    assert replay(ledger, fork.run_id, **known).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


@pytest.mark.parametrize("given", ["", {"model": 4}, 7, {}])
def test_no_model(scripted: Scripts, given: Any) -> None:
    """A value that names no model is refused, with what to give instead."""
    ledger = scripted(SCRIPT)
    done = ledger.execute(program)
    first = next(ledger.events(run=done.run_id, type="agent.turn.completed"))
    fork = ledger.fork(
        done.run_id, at=first.seq, changes={first.seq: given}, program=program
    )
    assert fork.status == "failed"
    assert "has no model" in str(fork.error)
