"""Nodes of the mode ``agent``: stages, verifiers, items and subagents that loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tools import ALLOWED, calls, performed, tools
from deciding import answer, approver
from muniment import replay
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    WorkflowDone,
    load_run_tree,
    run_record,
    workflow_execute,
    workflow_validate,
)
from workflow_stages import Document, chain, stage

Scripts = Callable[..., Ledger]
READ = calls(("read", {"path": "a"}))


def agent(kind: str = "stage", **more: object) -> Document:
    """Return a node that loops."""
    policy = {"model": "test:a", **more.pop("policy", {})}  # type: ignore[dict-item]
    return {
        "kind": kind,
        "mode": "agent",
        "tools": tools(),
        "model_policy": policy,
        "approval_policy": ALLOWED,
        **more,
    }


def ran(ledger: Ledger, graph: Document, **options: object) -> WorkflowDone:
    """Run *graph*, and replay it with nothing performed."""
    done = workflow_execute(ledger, "a task", graph, (), options)
    before = performed()
    assert replay(ledger, done.run_id).verdict == "acceptable"
    assert performed() == before
    return done


def test_a_stage(scripted: Scripts) -> None:
    """The last answer is the artifact; the record has turns, calls and what they took."""
    usage = {"usage": {"input_tokens": 7, "output_tokens": 4}}
    ledger = scripted({1: READ, 2: "Mended."}, usage)
    done = ran(ledger, chain(act=agent(prompt="Mend it."), end=stage("says")))

    assert done.status == "completed", done.error
    assert [one.text for one in done.artifacts] == ["Mended.", "end: 1"]
    record = run_record(ledger, done.run_id)
    (first, _) = record["stages"]
    assert first["agent"]["reason"] == "answered"
    assert first["agent"]["tokens"] == 22
    assert [len(one["calls"]) for one in first["agent"]["turns"]] == [1, 0]
    assert first["usage"]["call_count"] == 2
    (asked, _) = ledger.events(run=done.run_id, type="llm.requested")
    request: Any = ledger.resolve(asked)["request"]
    assert "<workflow_task>\na task" in request["messages"][0]["content"]
    assert [one["name"] for one in request["tools"]] == ["burst", "edit", "read"]


def test_handlers_that_are_awaited(scripted: Scripts) -> None:
    """In a graph some of whose functions must be awaited, loops are tasks."""
    ledger = scripted({1: READ, 2: "Mended."})
    node = agent(tools=tools(later=True))
    done = ran(ledger, chain(act=node, end=stage("says_later")))
    assert done.status == "completed", done.error
    assert [one for one in performed() if one.startswith("read")] == ["read a"]


def test_a_value(scripted: Scripts) -> None:
    """With a schema in the output contract the artifact has the value, and fits."""
    schema = {"type": "object", "required": ["n"]}
    ledger = scripted({1: "four", 2: '{"n": 4}'})
    done = ran(ledger, chain(act=agent(output_contract={"schema": schema})))
    assert done.status == "completed", done.error
    assert done.artifacts[0].data == {"n": 4}


def test_a_bad_end_is_a_branch(scripted: Scripts) -> None:
    """A loop that comes to no end is a failure, with its reason; an edge may take it."""
    ledger = scripted({1: READ})
    graph: Any = chain(act=agent(policy={"max_iterations": 2}))
    done = ran(ledger, graph)
    assert done.status == "failed"
    assert "max_iterations" in str(done.error)
    (ended,) = ledger.events(run=done.run_id, type="node.completed")
    assert (ended.data["branch"], ended.data["outcome"]) == ("failed", "max_iterations")
    assert ended.data["rule"] == "workflow/agent-stopped"

    graph["nodes"]["end"] = stage("says")
    graph["edges"] = [{"from": "act", "to": "end", "branch": "failed"}]
    assert ran(ledger, graph).status == "completed"


@pytest.mark.parametrize(
    ("last", "status"), [("PASS: it works", "completed"), ("FAIL: no", "failed")]
)
def test_a_verifier(scripted: Scripts, last: str, status: str) -> None:
    """A verifier that loops finds out with tools, and its last answer is the verdict."""
    ledger = scripted({1: READ, 2: last})
    graph = chain(
        act=stage("says"), judge=agent("verify", verify={"rubric": "It works?"})
    )
    done = ran(ledger, graph)
    assert done.status == status
    (fact,) = ledger.events(run=done.run_id, type="verification.concluded")
    checks: Any = fact.data["checks"]
    assert checks[0]["actual"] == last


def test_a_verifier_without_a_verdict(scripted: Scripts) -> None:
    """A verifier whose loop comes to no end verifies nothing."""
    node = agent("verify", policy={"max_iterations": 1}, verify={"rubric": "It works?"})
    done = ran(scripted({1: READ}), chain(act=stage("says"), judge=node))
    assert done.status == "failed"


def test_items_and_subagents(scripted: Scripts) -> None:
    """Items of a map loop at once, each in its scope; so does the child of a subagent."""
    ledger = scripted({1: READ, 2: "Mended."})
    graph = chain(
        each=agent("map", map_policy={"items": ["a", "b", "c"]}), sub=agent("subagent")
    )
    done = ran(ledger, graph)
    assert done.status == "completed", done.error
    scopes = {str(one.scope) for one in ledger.events(type="agent.ended")}
    assert scopes == {*(f"each.1/{n}/body.1" for n in range(3)), "sub.1"}


def test_a_worker_keeps_its_request(scripted: Scripts) -> None:
    """However often a worker waits for people, its request is the one of its start."""
    script = {
        1: calls(("edit", {"path": "b", "text": "x"}), ("raed", {})),
        2: calls(("edit", {"path": "c", "text": "y"})),
        3: "Mended.",
    }
    ledger = scripted(script)
    ann = approver(ledger, "ann")
    graph = chain(sub=agent("subagent", approval_policy={"require_approval": ["edit"]}))
    done = workflow_execute(ledger, "a task", graph).done
    while done.status == "paused":
        answer(ledger, ann)
        done = ledger.resume(done.run_id)
    assert done.status == "completed", done.error

    (child,) = load_run_tree(ledger, done.run_id)["children"]
    assert child["run"]["task"] == "a task"
    (began,) = ledger.events(run=child["run"]["id"], type="run.started")
    requests: list[Any] = [
        ledger.resolve(one)["request"]
        for one in ledger.events(run=done.run_id, type="child.requested")
    ]
    assert requests == [requests[0]] * 3
    assert requests[0]["params"] == ledger.resolve(began)["params"]
    (denial,) = child["run"]["stages"][0]["denials"]
    assert (denial["tool"], denial["code"]) == ("raed", "unknown_tool")
    assert replay(ledger, done.run_id, children=True).verdict == "acceptable"


def test_a_ceiling_holds(scripted: Scripts) -> None:
    """What the ceiling does not allow is refused before the run, or denied at the call."""
    ledger = scripted({1: calls(("edit", {"path": "../b", "text": "x"})), 2: "Ok."})
    node = agent(capability_policy={"workspace_roots": ["."]})
    done = ran(ledger, chain(act=node))
    assert done.status == "completed", done.error
    (stage_row,) = run_record(ledger, done.run_id)["stages"]
    (denial,) = stage_row["denials"]
    assert (denial["tool"], denial["code"]) == ("edit", "path_outside_roots")
    assert not [one for one in performed() if one.startswith("edit")]

    with pytest.raises(RefusedError, match="SIDE_EFFECT_CEILING_EXCEEDED"):
        ran(ledger, chain(act=agent()), ceiling={"side_effect_level": "read_only"})


def test_links_lead_nowhere(scripted: Scripts, place: Path) -> None:
    """A link out of the roots is refused when the call is performed, and told."""
    (place.parent / "secret").write_text("s3cret")
    (place / "link").symlink_to(place.parent / "secret")
    ledger = scripted({1: calls(("read", {"path": "link"})), 2: "Ok."})
    done = ran(ledger, chain(act=agent(capability_policy={"workspace_roots": ["."]})))
    assert done.status == "completed", done.error
    (row,) = run_record(ledger, done.run_id)["stages"]
    (call,) = row["agent"]["turns"][0]["calls"]
    assert (call["status"], call["code"]) == ("denied", "path_outside_roots")
    (_, asked) = ledger.events(run=done.run_id, type="llm.requested")
    assert "s3cret" not in str(ledger.resolve(asked))


def test_one_call_is_tried_again(scripted: Scripts) -> None:
    """A retry policy tries the call of the model that failed, not what was before it."""
    ledger = scripted({1: READ, 2: [OSError("overloaded"), "Mended."]})
    node = agent(retry_policy={"max_attempts": 2})
    done = ran(ledger, chain(act=node))
    assert done.status == "completed", done.error
    assert performed() == ["asked test:a 1", "read a", *["asked test:a 2"] * 2]
    (attempt,) = ledger.events(run=done.run_id, type="node.attempted")
    assert attempt.data["error"] == "OSError"


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (agent(policy={"require_successful_tools": ["raed"]}), "AGENT_OPTION"),
        (agent(policy={"nudge": "x", "max_nudges": 0}), "AGENT_OPTION"),
        (agent(policy={"max_turns": 4}), "FORM_UNKNOWN_KEY"),
        (agent(tools=[{"name": "x", "defer_loading": True}]), "TOOL_DEFERRED"),
        ({**agent(policy={"max_iterations": 4}), "mode": "llm"}, "KEY_INERT"),
        ({**agent(done_sentinel="DONE"), "mode": "llm"}, "KEY_INERT"),
        ({"handler": "workflow_stages:says", "done_sentinel": "D"}, "KEY_INERT"),
    ],
)
def test_validation(node: Document, code: str) -> None:
    """What cannot hold is an error of validation, with a code and a place."""
    report = workflow_validate(chain(act=node))
    assert code in [one.code for one in report.errors], report.findings


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (agent(tools=[{"name": "x", "parameters": {}}]), "TOOL_UNPERFORMED"),
        ({"mode": "agent"}, "MODEL_MISSING"),
    ],
)
def test_incomplete(scripted: Scripts, node: Document, code: str) -> None:
    """A graph without models or handlers is valid, and is refused when it is run."""
    assert workflow_validate(chain(act=node)).valid
    ledger = scripted({1: "x"})
    with pytest.raises(RefusedError, match=code):
        workflow_execute(ledger, "", chain(act=node))
    (fact,) = ledger.events(type="workflow.refused")
    assert code in str(ledger.resolve(fact)["findings"])
