"""The record of a governed run: a fold over its events, whatever it was folded from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from governed_programs import Provider, asking, opened
from muniment.ledger import Ledger
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.views.inspection import inspected
from muniment_plugins.governance.views.record import GovernedRecords


@pytest.fixture
def run(book: Ledger, place: Path) -> str:
    """Run a flow of two steps, which goes beyond a limit, and is marked."""
    budget = {"evidence_limit": 0, "exhaustion_action": "mark_non_certifiable"}
    policy = load_policy(write_policy(place, execution_budget=budget))
    return start_flow(book, load_flow(place / "flow.json"), policy).run_id


def test_it_is_the_same_from_event_0(book: Ledger, run: str) -> None:
    """Folded whole, folded on from every place in between, remembered and rebuilt."""
    fold, events = GovernedRecords(), list(book.events(run=run))
    whole = fold.initial()
    states = [json.dumps(whole)]
    for event in events:
        whole = fold.apply(whole, event)
        states.append(json.dumps(whole))
    for at, remembered in enumerate(states):
        state = json.loads(remembered)
        for event in events[at:]:
            state = fold.apply(state, event)
        assert fold.view(state) == fold.view(whole)
    assert book.project(GovernedRecords, run=run) == fold.view(whole)
    before = inspected(book, run)
    book.cache.clear()
    assert inspected(book, run) == before


def test_it_has_what_the_flow_did(book: Ledger, run: str) -> None:
    """Plan, steps, findings, verdicts and marks, by the words that people know."""
    said: Any = inspected(book, run)
    assert said["flow_id"] == sum_document()["flow_id"]
    assert (said["flow_state"], said["run_mode"]) == ("validated", "live")
    assert (said["status"], said["finalized"]) == ("completed", True)
    assert [one["agent_id"] for one in said["steps"]] == ["reader", "writer"]
    assert {one["status"] for one in said["steps"]} == {"completed"}
    assert [one["artifact_id"] for one in said["artifacts"]] == ["reader", "writer"]
    assert said["evidence"][0]["step_index"] == 1
    assert said["claims"][0]["producer_agent_id"] == "writer"
    assert {one["engine_id"] for one in said["verification_results"]} >= {"content"}
    assert said["arbitration_decisions"][-1]["target"] == "flow"
    assert said["non_certifiable"]
    assert said["non_certifiable_reasons"]
    assert said["exhausted_budgets"][0]["limit"] == "evidence_limit"
    assert said["entropy_usage"] == [
        {
            "event": said["entropy_usage"][0]["event"],
            "step_index": 1,
            "effect": "retrieval",
            "source": "data",
            "magnitude": "medium",
        }
    ]
    assert said["determinism_profile"]["source_profiles"][0]["budget_slice"]
    assert said["verification_policy"]["fingerprint"] == said["budget"]["digest"]


def test_every_event_has_its_cause(book: Ledger, run: str) -> None:
    """Each event of the run is there, in order, with a tag and the hash of its leaf."""
    said: Any = inspected(book, run)
    events = list(book.events(run=run))
    assert [one["seq"] for one in said["events"]] == [one.seq for one in events]
    assert [one["hash"] for one in said["events"]] == [one.hash for one in events]
    assert [one["event_index"] for one in said["events"]] == [*range(len(events))]
    tags = {one["event_type"]: one["causality_tag"] for one in said["events"]}
    assert tags["retrieval.requested"] == "dataset"
    assert tags["artifact.produced"] == "agent"
    assert tags["run.started"] == "environment"


def test_runs_that_belong_together(book: Ledger, place: Path) -> None:
    """A flow that another one runs names that one, and the other way round."""
    (place / "inner.json").write_text(json.dumps(sum_document(flow_id="inner")))
    outer = sum_document(
        flow_id="outer",
        agents=["all"],
        dependencies=[],
        parts={"all": {"flow": "inner.json"}},
    )
    done = start_flow(book, load_flow(write_flow(place, outer)))
    above: Any = inspected(book, done.run_id)
    (inner,) = above["correlation"]["children"]
    below: Any = inspected(book, inner)
    assert above["correlation"]["parent"] is None
    assert below["correlation"]["parent"] == done.run_id
    assert below["correlation"]["root"] == done.run_id
    assert below["flow_id"] == "inner"


def test_any_run_has_a_record(tmp_path: Path) -> None:
    """A run that no policy governs is unconstrained, and has no flow and no budget."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider(), 2))
        said: Any = inspected(ledger, done.run_id)
    assert said["flow_id"] is None
    assert said["budget"] is None
    assert said["determinism_level"] == "unconstrained"
    assert said["replay_mode"] is None
    assert len(said["entropy_usage"]) == 2
    assert said["non_certifiable"] is False
