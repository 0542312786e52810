"""Calls that somebody must approve wait for people, and go on with their decision."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agent_tools import calls, performed, tools
from deciding import answer, approver, signed
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    agent_aloop,
    agent_loop,
    agent_records,
    run_record,
    workflow_execute,
)

Scripts = Callable[..., Ledger]
ASKS = {"require_approval": ["edit"], "auto_approve": ["burst"]}
SCRIPT = {
    1: calls(
        ("read", {"path": "a"}),
        ("edit", {"path": "b", "text": "x"}),
        ("edit", {"path": "c", "text": "y"}),
    ),
    2: "Done.",
}


def work(what: str) -> list[str]:
    """Return how often that was performed."""
    return [one for one in performed() if one.startswith(what)]


@pytest.mark.parametrize("outcome", ["approved", "denied"])
def test_people_are_asked(scripted: Scripts, outcome: str) -> None:
    """Nothing of the answer is under way while people are asked; then all of it is done."""
    ledger = scripted(SCRIPT)
    ann = approver(ledger, "ann")
    node = {
        "mode": "agent",
        "tools": tools(),
        "model_policy": {"model": "test:a"},
        "approval_policy": ASKS,
    }
    done = workflow_execute(ledger, "x", {"nodes": {"act": node}}).done
    assert (done.status, work("read"), work("edit")) == ("paused", [], [])
    both = ledger.pending()
    assert [one.prompt.split(":")[0] for one in both] == [
        "act.1/turn.1/call.1",
        "act.1/turn.1/call.2",
    ]
    assert all("act calls edit" in one.prompt for one in both)

    ledger.answer(signed(both[1], ann))
    done = ledger.resume(done.run_id)
    assert (done.status, work("edit")) == ("paused", [])
    answer(ledger, ann, outcome)
    done = ledger.resume(done.run_id)
    assert done.status == "completed", done.error
    good = outcome == "approved"
    assert sorted(work("edit")) == (["edit b"] if good else []) + ["edit c"]
    assert len(work("asked")) == 2
    (row,) = run_record(ledger, done.run_id)["stages"]
    call = row["agent"]["turns"][0]["calls"][1]
    assert (call["tool"], call["status"]) == ("edit", "done" if good else "denied")
    assert ("denials" in row) is not good
    assert replay(ledger, done.run_id).verdict == "acceptable"


def test_in_programs(scripted: Scripts) -> None:
    """A program's loop waits in the same way, awaited or not."""
    ledger = scripted(SCRIPT)
    ann = approver(ledger, "ann")
    given: Any = {"tools": tools(), "approval_policy": ASKS}

    def program(run: Run) -> str:
        return agent_loop(run, "x", model="test:a", **given).text

    async def later(run: Run) -> str:
        return (await agent_aloop(run, "x", model="test:a", **given)).text

    def decided() -> None:
        for pending in ledger.pending():
            ledger.answer(signed(pending, ann))

    done = ledger.execute(program)
    while done.status == "paused":
        decided()
        done = ledger.resume(done.run_id, program=program)
    assert done.result == "Done."
    done = asyncio.run(ledger.aexecute(later))
    while done.status == "paused":
        decided()
        done = asyncio.run(ledger.aresume(done.run_id, program=later))
    assert done.result == "Done."
    assert len(work("edit")) == 4
    (record,) = agent_records(ledger, done.run_id)
    assert record["denied"] == 0


def edits(run: Run, stage: Any) -> str:
    """Call a tool for an item."""
    del run
    return str(stage.tool("edit", {"path": "c", "text": stage.item}))


def test_who_is_asked_in_a_map_knows_for_what(scripted: Scripts) -> None:
    """Each question names its item and its scope; a call that waits is seen to wait."""
    ledger = scripted({1: calls(("edit", {"path": "b", "text": "x"})), 2: "Done."})
    ann = approver(ledger, "ann")

    policy = {"items": ["i0", "i1"], "max_concurrent": 1}
    asking: Any = {"tools": tools(), "approval_policy": ASKS}
    for node, turn in (
        ({"mode": "agent", "model_policy": {"model": "test:a"}}, "/turn.1/call.0"),
        ({"handler": edits}, ""),
    ):
        graph = {
            "nodes": {"m": {"kind": "map", "map_policy": policy, **node, **asking}}
        }
        done = workflow_execute(ledger, "x", graph).done
        told: list[Any] = []
        while done.status == "paused":
            (pending,) = ledger.pending()
            told.append(pending.subject)
            assert pending.prompt.startswith(f"{told[-1]['scope']}: ")
            if turn:
                found = agent_records(ledger, done.run_id)[-1]["turns"][0]["calls"]
                assert [one["status"] for one in found] == ["waiting"]
                assert (found[0]["tool"], found[0]["event"]) == ("edit", pending.seq)
                assert found[0]["question"] == pending.seq
            answer(ledger, ann)
            done = ledger.resume(done.run_id)
        assert done.status == "completed", done.error
        assert [one["item"] for one in told] == ["i0", "i1"]
        scopes = [one["scope"] for one in told]
        assert len({*scopes}) == 2
        assert all(one.endswith(turn) for one in scopes)
        if turn:
            rows = agent_records(ledger, done.run_id)
            found = [one["turns"][0]["calls"][0]["status"] for one in rows]
            assert found == ["done", "done"]
        assert replay(ledger, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("how", ["public", "private", "erased"])
def test_what_a_waiting_call_is(scripted: Scripts, how: str) -> None:
    """Its tool and the question are told; the tool not if it is private, or was erased."""
    ledger = scripted(SCRIPT)
    node = {
        "mode": "agent",
        "tools": tools(),
        "model_policy": {"model": "test:a"},
        "approval_policy": ASKS,
        **({"output_visibility": "private"} if how == "private" else {}),
    }
    done = workflow_execute(ledger, "x", {"nodes": {"act": node}}).done
    asked = [one.seq for one in ledger.pending()]
    if how == "erased":
        event: Any = ledger.event(asked[0])
        ledger.erase(event.data["subject"].digest, reason="asked for")
    (loop,) = agent_records(ledger, done.run_id)
    waits = loop["turns"][0]["calls"]
    assert [(one["status"], one["question"]) for one in waits] == [
        ("waiting", one) for one in asked
    ]
    named = [one.get("tool") for one in waits]
    assert named[1] == (None if how == "private" else "edit")
    assert "$erased" in named[0] if how == "erased" else named[0] == named[1]
    (opened,) = agent_records(ledger, done.run_id, private=True)
    assert opened["turns"][0]["calls"][1]["tool"] == "edit"
    (row,) = run_record(ledger, done.run_id)["stages"]
    assert {"scope": row["id"], **row["agent"]} == loop
