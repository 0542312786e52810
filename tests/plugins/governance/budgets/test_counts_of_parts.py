"""What the parts of a flow make counts in the flows above them, and in the policy."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from deciding import answer, approver
from flow_files import sum_document, write_flow, write_policy
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.budgets.adopted import governing_of
from muniment_plugins.governance.budgets.amendments import amend, amendment_of
from muniment_plugins.governance.budgets.table import budget_table
from muniment_plugins.governance.flows import assembly
from muniment_plugins.governance.governed import governed

Document = dict[str, Any]

PARTS: Document = {
    name: {"agent": "made:make", "retriever": "made:search"} for name in ("x", "y")
}
MADE = """
import os
from pathlib import Path


def make(run, task):
    stop = Path("stop")
    if stop.exists() and task.agent == "y" and "again" not in os.environ:
        raise RuntimeError("stopped")
    return 1


def search(request):
    name = request["vector_contract_id"]
    return [{"evidence_id": name, "content": name}]
"""
WRONG = """

def say(run, task):
    return {"claims": []}


def wrong(subject):
    return "no"
"""
MARKED = {"agent": "made:make", "reasoner": "made:say"}
FACTS = {
    "step_limit": "flow.step.started",
    "artifact_limit": "artifact.produced",
    "evidence_limit": "evidence.collected",
}
DEGRADE: Document = {"exhaustion_action": "degrade", "fallback": "skip"}
ACTIONS: dict[str, Document] = {
    "halt": {"exhaustion_action": "halt"},
    "degrade": DEGRADE,
    "mark_non_certifiable": {"exhaustion_action": "mark_non_certifiable"},
}


@pytest.fixture
def flows(place: Path) -> Path:
    """Write a flow of two flows, each of one agent that is a flow of two steps."""
    write_flow(place)
    (place / "made.py").write_text(MADE)
    sys.modules.pop("made", None)
    inner = sum_document(flow_id="inner", agents=["x", "y"], dependencies=[])
    inner["parts"] = PARTS
    write(place, inner)
    write(place, of_parts("middle", {"in": "inner"}))
    write(place, of_parts("top", {"a": "middle", "b": "inner"}))
    return place


def of_parts(name: str, parts: dict[str, str], **members: object) -> Document:
    """Return a flow whose agents are flows."""
    return sum_document(
        flow_id=name,
        agents=[*parts],
        dependencies=[],
        parts={agent: {"flow": f"{file}.json"} for agent, file in parts.items()},
        **members,
    )


def write(place: Path, document: Document) -> Path:
    """Write a manifest under the name of its flow."""
    file = place / f"{document['flow_id']}.json"
    file.write_text(json.dumps(document))
    return file


def start(book: Ledger, place: Path, owner: str, budget: Document, mode: str) -> Done:
    """Run the flow at the top with a budget of the policy, of the top, or between."""
    of: dict[str, Document] = {owner: {"execution_budget": budget}}
    write(place, of_parts("middle", {"in": "inner"}, **of.get("middle", {})))
    top = write(
        place, of_parts("top", {"a": "middle", "b": "inner"}, **of.get("top", {}))
    )
    terms = load_policy(write_policy(place, mode=mode, **of.get("policy", {})))
    return start_flow(book, load_flow(top), terms)


def runs_of(book: Ledger, run: str) -> list[str]:
    """Return a run and all that it called."""
    return [run, *(one for child in book.children(run) for one in runs_of(book, child))]


def made(book: Ledger, run: str) -> dict[str, int]:
    """Return limit → how much of it the run and its parts made."""
    return {
        limit: sum(
            1 for one in runs_of(book, run) for _ in book.events(run=one, type=kind)
        )
        for limit, kind in FACTS.items()
    }


def shown(book: Ledger, run: str) -> dict[tuple[str, str], float]:
    """Return what the budget table says was spent."""
    table = budget_table(book, run)
    assert table is not None
    return {(one.budget, one.limit): one.spent for one in table.rows}


def test_without_a_limit_all_is_counted(book: Ledger, flows: Path) -> None:
    """The table of a run has the sums of each flow and its parts."""
    high = dict.fromkeys(FACTS, 99)
    done = start(book, flows, "policy", high, "live")
    assert done.ok, done.error
    whole = made(book, done.run_id)
    assert whole == {"step_limit": 7, "artifact_limit": 7, "evidence_limit": 4}
    spent = shown(book, done.run_id)
    assert {name: spent["policy", name] for name in FACTS} == whole
    result: Any = done.result
    assert "counted" not in result["outputs"]["a"]


@pytest.mark.parametrize("limit", FACTS)
@pytest.mark.parametrize("action", [*ACTIONS, "unsafe"])
@pytest.mark.parametrize("owner", ["policy", "top", "middle"])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 5])
def test_a_limit_is_that_of_the_tree(
    book: Ledger, flows: Path, limit: str, action: str, owner: str, most: int
) -> None:
    """Within the limit nothing is said; beyond it each action does what it says."""
    if most not in (1, 3) and (limit, owner) != ("step_limit", "policy"):
        pytest.skip("the numbers are tried for one limit")
    budget = {limit: most, **ACTIONS.get(action, {})}
    mode = "unsafe" if action == "unsafe" else "live"
    done = start(book, flows, owner, budget, mode)
    counted = made(book, done.run_id)[limit]
    named = {"policy": "policy", "top": "flow top", "middle": "flow middle"}[owner]
    spent = shown(book, done.run_id).get((named, limit))
    if owner == "middle":
        whole = {"step_limit": 3, "artifact_limit": 3, "evidence_limit": 2}[limit]
    else:
        whole = {"step_limit": 7, "artifact_limit": 7, "evidence_limit": 4}[limit]
        if done.ok:
            assert spent == counted
    told = [
        one
        for run in runs_of(book, done.run_id)
        for kind in ("budget.exhausted", "violation.noted")
        for one in book.events(run=run, type=kind)
    ]
    assert bool(told) == (most < whole)
    marks = {one.raw["mark"] for one in book.events(run=done.run_id, type="run.marked")}
    if most >= whole:
        assert done.ok
    elif action == "halt":
        assert done.status == "failed"
        assert owner == "middle" or counted == most
    elif action == "degrade":
        assert done.ok, done.error
        assert owner == "middle" or counted <= most
    else:
        assert done.ok, done.error
    beyond = most < whole and action in ("mark_non_certifiable", "unsafe")
    assert ("non_certifiable" in marks) == (beyond or action == "unsafe")
    for run in runs_of(book, done.run_id):
        verdict = replay(book, run).verdict
        own = [*book.events(run=run, type="run.marked")]
        assert verdict == ("non_certifiable" if own else "acceptable"), run


@pytest.mark.parametrize("owner", ["policy", "top"])
def test_a_resume_comes_to_the_same_counts(
    book: Ledger, flows: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was cut off in a part goes on with what all of them had made."""
    (flows / "stop").touch()
    budget = {"step_limit": 5, "exhaustion_action": "mark_non_certifiable"}
    done = start(book, flows, owner, budget, "live")
    assert done.status == "failed"
    monkeypatch.setenv("again", "1")
    ended = book.resume(done.run_id)
    assert ended.ok, ended.error
    assert made(book, done.run_id)["artifact_limit"] == 7
    told = [
        one
        for run in runs_of(book, done.run_id)
        for one in book.events(run=run, type="budget.exhausted")
    ]
    assert len(told) == 2  # in the part that passed it, and in the flow at the top
    assert replay(book, done.run_id).verdict == "non_certifiable"


def test_people_raise_a_limit_that_a_part_reached(book: Ledger, flows: Path) -> None:
    """A flow that was halted within a part goes on with what people amended."""
    ann = approver(book, "ann")
    done = start(book, flows, "policy", {"step_limit": 2}, "live")
    assert done.status == "failed"
    raised = load_policy(
        write_policy(flows, mode="live", execution_budget={"step_limit": 7})
    )
    asked = book.execute(
        amend, params=amendment_of(*governing_of(book, done.run_id), raised, None)
    )
    answer(book, ann)
    assert book.resume(asked.run_id).ok
    ended = book.resume(done.run_id)
    assert ended.ok, ended.error
    assert replay(book, done.run_id).verdict == "acceptable"


def test_a_mark_of_a_part_is_one_of_the_flows_above(book: Ledger, flows: Path) -> None:
    """What an unsafe policy let pass in the innermost flow marks each flow above it."""
    (flows / "made.py").write_text(MADE + WRONG)
    inner = sum_document(flow_id="inner", agents=["x"], dependencies=[])
    inner |= {"parts": {"x": MARKED}, "verification_gates": ["made:wrong"]}
    write(flows, inner)
    done = start(book, flows, "policy", {}, "unsafe")
    assert done.ok, done.error
    for run in runs_of(book, done.run_id):
        assert [*book.events(run=run, type="run.marked")], run
        assert replay(book, run).verdict == "non_certifiable"


def test_an_earlier_record_keeps_its_counts(
    book: Ledger, flows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of the first edition, which counted each flow by itself, replays so."""
    monkeypatch.setattr(assembly, "EDITION", 1)
    done = start(book, flows, "policy", {"step_limit": 3}, "live")
    monkeypatch.undo()
    monkeypatch.chdir(flows)
    assert done.ok, done.error
    for run in runs_of(book, done.run_id):
        assert replay(book, run).verdict == "acceptable"


@pytest.mark.parametrize("depth", [1, 2])
def test_a_fork_has_what_the_parts_of_its_origin_made(
    book: Ledger, flows: Path, depth: int
) -> None:
    """A part that a record answered is not called again, and counts as it did."""
    inner = sum_document(flow_id="inner", agents=["x", "y"], dependencies=[])
    write(flows, inner | {"parts": PARTS, "determinism_level": "bounded"})
    level = {"determinism_level": "bounded"}
    write(flows, of_parts("middle", {"in": "inner"}, **level))
    top = write(flows, of_parts("top", {"a": "middle", "b": "inner"}, **level))
    high = write_policy(flows, mode="live", execution_budget=dict.fromkeys(FACTS, 99))
    run = start_flow(book, load_flow(top), load_policy(high)).run_id
    spent = shown(book, run)
    for _ in range(depth):
        called = [one.seq for one in book.events(run=run, type="child.completed")]
        forked = book.fork(run, at=called[0])
        assert forked.ok, forked.error
        run = forked.run_id
        assert len(book.children(run)) == 1
        again = shown(book, run)
        assert {name: again["policy", name] for name in FACTS} == {
            name: spent["policy", name] for name in FACTS
        }


GREEDY = """

def many(request):
    return 1


def greedy(run, task):
    return [run.effect("data", one, many) for one in range(run.effect("data", "n", many))]
"""


@pytest.mark.parametrize("is_grouped", [False, True])
def test_a_fork_spends_no_budget_of_a_flow_again(
    book: Ledger, flows: Path, is_grouped: bool
) -> None:
    """What its origin spent up to there, its flow has spent, whoever forks it."""
    (flows / "made.py").write_text(MADE + GREEDY)
    members: Document = {"flow_id": "alone", "agents": ["x"], "dependencies": []}
    members |= {"parts": {"x": "made:greedy"}, "determinism_level": "bounded"}
    flow = load_flow(
        write(flows, sum_document(**members, execution_budget={"effect_limit": 3}))
    )
    high = write_policy(flows, mode="live", execution_budget={"effect_limit": 5})
    terms = load_policy(high)
    with ExitStack() as stack:
        if is_grouped:
            stack.enter_context(governed(book, terms))
        done = start_flow(book, flow, terms)
        assert done.ok, done.error
        first = next(book.events(run=done.run_id, type="data.completed")).seq
        forked = book.fork(done.run_id, at=first, changes={first: 9})
    assert forked.status == "failed"
    spent = shown(book, forked.run_id)
    assert spent["flow alone", "effect_limit"] == 3
    assert spent["policy", "effect_limit"] == (4 if is_grouped else 3)
