"""Budgets that a flow counts by itself, lineage, and the data that it is about."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from deciding import answer, approver
from flow_files import sum_document, write_flow, write_policy
from muniment.encoding.registry import ValueTypes
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.budgets.adopted import governing_of
from muniment_plugins.governance.budgets.amendments import amend, amendment_of
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.flows.steps.artifacts import (
    ARTIFACT_TYPES,
    LINEAGE,
    ArtifactStore,
)

Document = dict[str, Any]


def types(book: Ledger, run: str) -> list[str]:
    """Return the types of the run's events."""
    return [one.type for one in book.events(run=run)]


def run(book: Ledger, place: Path, budget: Document, document: Any = None) -> Done:
    """Run a flow with this execution budget."""
    flow = sum_document(**(document or {}), execution_budget=budget)
    return start_flow(book, load_flow(write_flow(place, flow)))


# -- budgets ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "effect"),
    [
        ({"step_limit": 1}, "step"),
        ({"artifact_limit": 1}, "artifact"),
        ({"artifact_step_limit": 0}, "artifact"),
        ({"evidence_limit": 0}, "evidence"),
    ],
)
@pytest.mark.parametrize("owner", ["flow", "policy"])
def test_halt(
    book: Ledger, place: Path, limit: Document, effect: str, owner: str
) -> None:
    """A limit that is used up fails the flow before one more, and it replays so."""
    if owner == "flow":
        done = run(book, place, limit)
    else:
        terms = load_policy(write_policy(place, execution_budget=limit))
        done = start_flow(book, load_flow(place / "flow.json"), terms)
    assert done.status == "failed"
    assert f"{effect}s are used up" in str(done.error)
    (told,) = book.events(run=done.run_id, type="budget.exhausted")
    assert (told.raw["effect"], told.raw["action"]) == (effect, "halt")
    assert str(told.raw["budget"]).startswith(owner)
    assert replay(book, done.run_id).verdict == "acceptable"
    with pytest.raises(RefusedError, match="amend"):
        book.resume(done.run_id)


@pytest.mark.parametrize(
    ("fallback", "made"),
    [
        ("skip", None),
        ({"answer": 7}, 7),
        ("agents:take", "by hand"),
        ("agents:ask", {"answer": 1}),
    ],
)
def test_steps_that_degrade(
    book: Ledger, place: Path, fallback: Any, made: object
) -> None:
    """A step beyond the limit is skipped, answered, or taken by another agent."""
    budget = {"step_limit": 1, "exhaustion_action": "degrade", "fallback": fallback}
    parts = {"reader": "agents:read", "writer": "agents:write"}
    flow = sum_document(parts=parts, execution_budget=budget)
    manifest = write_flow(place, flow)
    with (place / "agents.py").open("a") as file:
        file.write("\n\ndef take(run, task):\n    return 'by hand'\n")
    done = start_flow(book, load_flow(manifest))
    assert done.ok, done.error
    (told,) = book.events(run=done.run_id, type="effect.degraded")
    assert book.resolve(told)["effect"] == "step"
    artifacts = [
        book.resolve(one)["content"]
        for one in book.events(run=done.run_id, type="artifact.produced")
    ]
    assert artifacts[1:] == ([] if made is None else [made])
    assert ("flow.step.skipped" in types(book, done.run_id)) == (made is None)
    assert replay(book, done.run_id).verdict == "acceptable"


def test_evidence_that_degrades(book: Ledger, place: Path) -> None:
    """Evidence beyond the limit is left out, and that is said."""
    budget = {"evidence_limit": 0, "exhaustion_action": "degrade", "fallback": "skip"}
    parts = {
        "reader": "agents:read",
        "writer": {"agent": "agents:write", "retriever": "agents:search"},
    }
    done = run(book, place, budget, {"parts": parts})
    assert done.ok, done.error
    assert "evidence.collected" not in types(book, done.run_id)
    (told,) = book.events(run=done.run_id, type="effect.degraded")
    assert told.raw["effect"] == "evidence"


def test_mark(book: Ledger, place: Path) -> None:
    """A run that went beyond a limit goes on, and carries the mark."""
    budget = {"step_limit": 0, "exhaustion_action": "mark_non_certifiable"}
    done = run(book, place, budget)
    assert done.ok, done.error
    marks = {one.raw["mark"] for one in book.events(run=done.run_id, type="run.marked")}
    assert marks == {"non_certifiable"}
    assert len([*book.events(run=done.run_id, type="budget.exhausted")]) == 1
    assert replay(book, done.run_id).verdict == "non_certifiable"


@pytest.mark.parametrize("owner", ["flow", "policy"])
def test_amended(book: Ledger, place: Path, owner: str) -> None:
    """People may raise a limit; the flow goes on with what it has, and replays clean."""
    ann = approver(book, "ann")
    flow, budgets = sum_document(), {"execution_budget": {"step_limit": 1}}
    raised: Any = {"execution_budget": {"step_limit": 2}}
    if owner == "flow":
        flow = sum_document(**budgets)
    terms = load_policy(write_policy(place, **(budgets if owner == "policy" else {})))
    done = start_flow(book, load_flow(write_flow(place, flow)), terms)
    assert done.status == "failed"
    known = governing_of(book, done.run_id)
    if owner == "policy":
        changed = load_policy(write_policy(place, **raised))
        params = amendment_of(*known, changed, None)
    else:
        manifest = load_flow(write_flow(place, {**flow, **raised}))
        params = amendment_of(*known, None, manifest)
    asked = book.execute(amend, params=params)
    answer(book, ann)
    assert book.resume(asked.run_id).ok
    write_flow(place, flow)
    ended = book.resume(done.run_id)
    assert ended.ok, ended.error
    assert len([*book.events(run=done.run_id, type="retrieval.completed")]) == 1
    assert replay(book, done.run_id).verdict == "acceptable"


def test_unsafe_limits(book: Ledger, place: Path) -> None:
    """Under an unsafe policy going beyond a limit is noted, and the run is marked."""
    budget = {"step_limit": 0}
    terms = load_policy(write_policy(place, mode="unsafe", execution_budget=budget))
    done = start_flow(book, load_flow(place / "flow.json"), terms)
    assert done.ok, done.error
    (noted,) = book.events(run=done.run_id, type="violation.noted")
    assert noted.raw["rule"] == "step_limit"
    assert replay(book, done.run_id).verdict == "non_certifiable"


# -- artifacts -------------------------------------------------------------------


@pytest.mark.parametrize("child", ARTIFACT_TYPES)
@pytest.mark.parametrize("parent", ARTIFACT_TYPES)
def test_the_matrix_of_lineage(child: str, parent: str) -> None:
    """Each pair of types is allowed or refused as the matrix says, and none else."""
    store = ArtifactStore(ValueTypes())
    makers = {
        **dict.fromkeys(("flow_manifest", "execution_plan", "resolved_step"), "flow"),
        **dict.fromkeys(("agent_invocation", "executor_state"), "agent"),
        **dict.fromkeys(("retrieval_request", "retrieved_evidence"), "retrieval"),
        **dict.fromkeys(
            ("reasoning_step", "reasoning_claim", "reasoning_bundle"), "reasoning"
        ),
    }
    store._types["parent"] = parent
    if child not in makers:
        with pytest.raises(FlowFailed, match="does not make artifacts of the type"):
            store.note("child", child, "agent", ("parent",), "here")
    elif parent in LINEAGE[child]:
        store.note("child", child, makers[child], ("parent",), "here")
    else:
        with pytest.raises(FlowFailed, match="cannot come of") as caught:
            store.note("child", child, makers[child], ("parent",), "here")
        assert caught.value.rule == "flow/lineage"


OUTPUTS = """
def make(run, task):
    return {made}


def take(run, task):
    return task.inputs
"""


def made_by(book: Ledger, place: Path, made: str) -> Done:
    """Run a flow whose first agent returns the expression *made*."""
    document = sum_document(
        agents=["one", "two"],
        dependencies=["two:one"],
        parts={"one": "agents:make", "two": "agents:take"},
    )
    manifest = write_flow(place, document)
    (place / "agents.py").write_text(OUTPUTS.format(made=made))
    return start_flow(book, load_flow(manifest))


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        ('[{"artifact_id": "a", "content": 1}] * 2', "flow/artifact-id"),
        ('[{"artifact_id": "plan", "content": 1}]', "flow/artifact-id"),
        ('[{"artifact_id": 7, "content": 1}]', "flow/artifact"),
        ('[{"artifact_id": "a", "content": 1, "parents": "b"}]', "flow/artifact"),
        ('[{"artifact_id": "a", "content": 1, "parents": ["b"]}]', "flow/lineage"),
        ('[{"artifact_id": "a", "content": 1, "parents": ["plan"]}]', "flow/lineage"),
        (
            '[{"artifact_id": "a", "content": 1, "artifact_type": "retrieved_evidence"}]',
            "flow/artifact-type",
        ),
        (
            '[{"artifact_id": "a", "content": 1, "artifact_type": "stuff"}]',
            "flow/artifact-type",
        ),
        (
            '[{"artifact_id": "a", "content": 1, "scope": "secret"}]',
            "flow/artifact-scope",
        ),
    ],
)
def test_artifacts_that_break_their_contract(
    book: Ledger, place: Path, made: str, rule: str
) -> None:
    """An id used twice, a type, scope or parent that is not allowed fails the flow."""
    done = made_by(book, place, made)
    assert done.status == "failed"
    assert getattr(done.error, "rule", "") == rule
    assert "step/0-one" in str(done.error)


def test_scopes(book: Ledger, place: Path) -> None:
    """Of what is ephemeral the digest is kept; audit artifacts are in the result."""
    made = """[
        {"artifact_id": "draft", "content": [2, 1]},
        {"artifact_id": "cache", "content": "x", "scope": "ephemeral",
         "artifact_type": "executor_state", "parents": ["draft"]},
        {"artifact_id": "proof", "content": 3, "scope": "audit"},
    ]"""
    done = made_by(book, place, made)
    assert done.ok, done.error
    told = {
        str(one.raw["artifact_id"]): book.resolve(one)
        for one in book.events(run=done.run_id, type="artifact.produced")
    }
    assert "content" not in told["cache"]
    assert told["cache"]["digest"] == "sha256:" + hashlib.sha256(b'"x"').hexdigest()
    result: Any = done.result
    assert result["outputs"] == {"two": {"one": {"draft": [2, 1], "proof": 3}}}
    assert result["audit"] == {"proof": told["proof"]["digest"]}


def test_steps_do_not_share_what_they_hold(book: Ledger, place: Path) -> None:
    """What a step does to its inputs changes nothing of what another one made."""
    document = sum_document(
        agents=["a", "b", "c"],
        dependencies=["b:a", "c:a", "c:b"],
        parts={"a": "agents:start", "b": "agents:spoil", "c": "echo"},
    )
    manifest = write_flow(place, document)
    (place / "agents.py").write_text(
        "def start(run, task):\n    return {'rows': [1]}\n\n\n"
        "def spoil(run, task):\n    task.inputs['a']['rows'].append(2)\n    return 0\n"
    )
    done = start_flow(book, load_flow(manifest))
    result: Any = done.result
    assert result["outputs"] == {"c": {"a": {"rows": [1]}, "b": 0}}
