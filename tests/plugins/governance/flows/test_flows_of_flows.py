"""What is refused of a flow is refused of each flow that is a part of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment_plugins.governance import (
    GovernancePolicy,
    load_flow,
    load_policy,
    plan_flow,
    start_flow,
)
from muniment_plugins.governance.flows.start import ready_flow

Document = dict[str, Any]

LEAF: Document = {
    "flow_id": "leaf",
    "agents": ["reader"],
    "dependencies": [],
    "parts": {"reader": "agents:read"},
}
DATA: Document = {
    "dataset_id": "numbers",
    "tenant_id": "tenant-a",
    "dataset_version": "1",
    "dataset_hash": "0" * 64,
    "dataset_state": "frozen",
    "storage_uri": "file://agents.py",
}
WRONG: dict[str, tuple[Document, Document, str]] = {
    "draft": ({"flow_state": "draft"}, {}, "flow/state"),
    "deprecated": ({"flow_state": "deprecated"}, {}, "flow/state"),
    "level": (
        {"determinism_level": "unconstrained"},
        {"determinism_level": "bounded"},
        "policy/flow",
    ),
    "intent": (
        {},
        {"nondeterminism": {"allowed_intent_sources": ["llm"]}},
        "policy/flow",
    ),
    "variance": (
        {"allowed_variance_class": "high"},
        {"nondeterminism": {"allowed_variance_class": "low"}},
        "policy/flow",
    ),
    "data": ({"dataset": DATA}, {}, "dataset/changed"),
    "tenant": ({"tenant_id": "tenant-b"}, {}, "flow/tenant"),
    "cycle": ({"parts": {"reader": {"flow": "leaf.json"}}}, {}, "flow/cycle"),
    "gate": ({"verification_gates": ["nobody"]}, {}, "flow/gate"),
    "function": ({"parts": {"reader": "agents:nobody"}}, {}, "flow/part"),
}
"""What is wrong → members of the innermost manifest, of the policy, and the rule."""


def nested(place: Path, depth: int, **members: object) -> Path:
    """Write a flow that is a part of a flow, and so on; return the outermost."""
    write_flow(place)
    inner = sum_document(**{**LEAF, **members})
    (place / "leaf.json").write_text(json.dumps(inner))
    name = "leaf.json"
    for number in range(depth):
        outer = sum_document(
            **LEAF | {"flow_id": f"outer-{number}", "parts": {"reader": {"flow": name}}}
        )
        outer.pop("nondeterminism_intent")
        name = f"outer-{number}.json"
        (place / name).write_text(json.dumps(outer))
    return place / name


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_part_is_refused_like_a_flow(
    book: Ledger, place: Path, what: str, depth: int
) -> None:
    """Whatever is wrong with the innermost flow, nothing of the outer ones is run."""
    members, terms, rule = WRONG[what]
    flow = load_flow(nested(place, depth, **members))
    policy = load_policy(write_policy(place, **terms))
    if what == "tenant" and depth == 0:
        return
    before = book.head.size
    with pytest.raises(MunimentError) as caught:
        start_flow(book, flow, policy)
    assert caught.value.rule == rule
    assert book.head.size == before


@pytest.mark.parametrize("state", ["draft", "deprecated"])
def test_parts_that_do_not_run_can_be_planned(
    book: Ledger, place: Path, state: str
) -> None:
    """A draft within a flow can be planned and run dry, as by itself."""
    flow = load_flow(nested(place, 2, flow_state=state))
    assert plan_flow(flow, GovernancePolicy.DEFAULT, book.plugins).children
    assert start_flow(book, flow, dry=True).ok


def test_nothing_is_imported_of_what_is_refused(book: Ledger, place: Path) -> None:
    """A module of the outer flow is not loaded for the sake of a draft within it."""
    flow = load_flow(nested(place, 1, flow_state="draft"))
    (place / "agents.py").write_text("raise SystemExit('loaded')")
    with pytest.raises(MunimentError, match="draft"):
        ready_flow(book, flow, GovernancePolicy.DEFAULT)
