"""Loops that are cancelled, that failed, or lost their model: what their record says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agent_tools import calls, performed, tools
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    agent_aloop,
    agent_loop,
    agent_records,
    run_record,
    tool_define,
    workflow_execute,
)
from workflow_stages import chain, stage

Scripts = Callable[..., Ledger]
READ = calls(("read", {"path": "a"}))


async def naps(s: float) -> str:
    """Take a while."""
    await asyncio.sleep(s)
    return "awake"


def sleepy() -> Any:
    """Return tools, and one that takes a while."""
    said = {
        "parameters": {"s": {"type": "number"}},
        "handler": naps,
        "policy": {"side_effect_level": "read_only"},
    }
    return tool_define(tools(), "nap", "Take a while", said)


SLEEPY = {
    1: calls(("nap", {"s": 30}), ("read", {"path": "a"}), ("nap", {"s": 30})),
    2: "Awake.",
}


async def sleeps(run: Run, seconds: float | None, at_once: int) -> str:
    """Loop with a tool that takes a while, so many *seconds*."""
    async with asyncio.timeout(seconds):
        options = {"max_concurrent_tools": at_once}
        done = await agent_aloop(
            run, "x", model="test:a", tools=sleepy(), options=options
        )
    return done.text


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_loop_that_is_cancelled(scripted: Scripts, at_once: int) -> None:
    """It states that, with what came of its calls, if its run goes on; a replay, too."""
    ledger = scripted(SLEEPY)

    async def program(run: Run) -> str:
        try:
            return await sleeps(run, 2, at_once)
        except TimeoutError:
            run.record("note.added", {"text": "after"})
            return "late"

    done = asyncio.run(ledger.aexecute(program))
    assert (done.status, done.result) == ("completed", "late"), done.error
    (record,) = agent_records(ledger, done.run_id)
    assert record["reason"] == "cancelled"
    statuses = [one["status"] for one in record["turns"][0]["calls"]]
    cut_short = ["failed", "denied", "denied"]
    assert statuses == (cut_short if at_once == 1 else ["failed", "done", "failed"])
    report = replay(ledger, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())


def test_a_run_that_is_cancelled(scripted: Scripts) -> None:
    """It is interrupted, its loop is open, and a resume goes on with it."""
    ledger = scripted(
        {**SLEEPY, 1: calls(("nap", {"s": 1.5}), ("read", {"path": "a"}))}
    )

    async def program(run: Run) -> str:
        return await sleeps(run, None, 8)

    async def cancelled() -> None:
        async with asyncio.timeout(0.75):
            await ledger.aexecute(program)

    with pytest.raises(TimeoutError):
        asyncio.run(cancelled())
    (run,) = ledger.runs()
    assert run.status == "interrupted"
    assert not list(ledger.events(type="agent.ended"))
    (record,) = agent_records(ledger, run.id)
    assert record["reason"] == "open"
    done = asyncio.run(ledger.aresume(run.id, program=program))
    assert (done.status, done.result) == ("completed", "Awake."), done.error
    (record,) = agent_records(ledger, run.id)
    assert record["reason"] == "answered"
    assert replay(ledger, run.id, program=program).verdict == "acceptable"


def act(**more: Any) -> dict[str, Any]:
    """Return a node that loops."""
    return {
        "mode": "agent",
        "tools": tools(),
        "model_policy": {"model": "test:a", **more.pop("policy", {})},
        **more,
    }


@pytest.mark.parametrize("answers", [{1: OSError("overloaded")}, {1: {}}, {1: READ}])
def test_a_loop_that_failed_is_the_branch_failed(
    scripted: Scripts, answers: Any
) -> None:
    """The branch of each reason is the one that the reference names, ``failed`` too."""
    ledger = scripted(answers)
    graph: Any = chain(act=act(policy={"max_iterations": 1}), end=stage("says"))
    graph["edges"] = [{"from": "act", "to": "end", "branch": "failed"}]
    done = workflow_execute(ledger, "a task", graph)
    assert done.status == "completed", done.error
    (fact, _) = ledger.events(run=done.run_id, type="node.completed")
    (end,) = ledger.events(run=done.run_id, type="agent.ended")
    assert (fact.data["branch"], fact.data["outcome"]) == ("failed", end.data["reason"])
    assert fact.data["rule"] == "workflow/agent-stopped"
    assert replay(ledger, done.run_id).verdict == "acceptable"


def test_a_loop_that_failed_is_asked_again_by_a_resume(scripted: Scripts) -> None:
    """Where no edge takes the branch, the run failed by the model, and a resume asks it."""
    ledger = scripted({1: READ, 2: [OSError("overloaded"), "Mended."]})
    done = workflow_execute(ledger, "a task", chain(act=act()))
    assert done.status == "failed"
    assert "overloaded" in str(done.error)
    again = ledger.resume(done.run_id)
    assert again.status == "completed", again.error
    assert [one for one in performed() if one.startswith("read")] == ["read a"]


def test_each_call_of_the_model_has_its_attempts(scripted: Scripts) -> None:
    """A turn that was tried twice leaves the next one its own attempts."""
    ledger = scripted({1: [OSError("503"), READ], 2: [OSError("503"), "Mended."]})
    done = workflow_execute(
        ledger, "a task", chain(act=act(retry_policy={"max_attempts": 2}))
    )
    assert done.status == "completed", done.error
    tried = [one.data["attempt"] for one in ledger.events(type="node.attempted")]
    assert sorted(map(str, tried)) == ["1", "2"]
    (row,) = run_record(ledger, done.run_id)["stages"]
    assert row["agent"]["reason"] == "answered"
    assert replay(ledger, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("model", ["", 5, {"a": 1}, None])
def test_a_fork_without_a_model(scripted: Scripts, model: Any) -> None:
    """The turn has no model in its record: not that of the origin, which was not asked."""
    ledger = scripted({1: READ, 2: "Done."})

    def program(run: Run) -> str:
        return agent_loop(run, "x", model="test:a", tools=tools()).text

    done = ledger.execute(program)
    (_, second) = ledger.events(
        run=done.run_id, type="agent.turn.completed", order="asc"
    )
    fork = ledger.fork(
        done.run_id, at=second.seq, changes={second.seq: model}, program=program
    )
    assert fork.status == "failed"
    (record,) = agent_records(ledger, fork.run_id)
    assert [one["model"] for one in record["turns"]] == ["test:a", ""]
