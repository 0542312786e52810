"""Evidence less certain than is tolerated has people asked, wherever it is collected."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from deciding import answer, approver
from flow_files import sum_document, write_flow, write_policy
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.flows import assembly

MODULE = """
def make(run, task):
    return [one.content for one in task.evidence]


def search(request):
    return [{{"evidence_id": "e1", "content": 1, "determinism": "{determinism}"}}]


def nothing(run, task):
    return {{"claims": [], "evidence_ids": ["e1"]}}


def something(run, task):
    [found], [made] = task.evidence, task.artifacts
    return {{"claims": [{{"claim_id": "c", "confidence": 0.5, "supported_by": ["e1"],
                        "statement": f"by e1 {{found.digest}} it is {{made.digest}}"}}]}}


def holds(subject):
    return []
"""
CERTAINTY = {"deterministic": 0, "sampled": 1, "external": 2}
TOLERATED = {"deterministic": 0, "sampled": 1, "statistical": 2}
REASONERS = {"none": {}, "empty": {"reasoner": "found:nothing"}}
REASONERS |= {"claims": {"reasoner": "found:something"}}
POLICIES: dict[str, dict[str, Any]] = {
    "bare": {},
    "rule": {"rules": [{"rule_id": "k", "check": "found:holds", "target": "evidence"}]},
    "one engine": {"engines": ["contradiction"]},
    "no engine": {"engines": []},
    "quorum": {"arbitration_policy": {"rule": "quorum"}},
    "first": {"arbitration_policy": {"rule": "strict_first_failure"}},
    "goes on": {"failure_mode": "continue"},
}


def run(
    book: Ledger, place: Path, determinism: str, reasoner: str, policy: dict[str, Any]
) -> Done:
    """Run a flow of one step that collects evidence of this determinism."""
    part = {"agent": "found:make", "retriever": "found:search", **REASONERS[reasoner]}
    flow = sum_document(agents=["a"], dependencies=[], parts={"a": part})
    manifest = write_flow(place, flow)
    (place / "found.py").write_text(MODULE.format(determinism=determinism))
    sys.modules.pop("found", None)
    terms = load_policy(write_policy(place, **policy))
    return start_flow(book, load_flow(manifest), terms)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("reasoner", REASONERS)
@pytest.mark.parametrize(
    ("determinism", "tolerance"),
    [
        ("external", "deterministic"),
        ("external", "sampled"),
        ("external", "statistical"),
        ("sampled", "deterministic"),
        ("deterministic", "deterministic"),
    ],
)
def test_people_are_asked(
    book: Ledger,
    place: Path,
    determinism: str,
    tolerance: str,
    reasoner: str,
    policy: str,
) -> None:
    """They are asked if, and only if, the policy tolerates less; the prompt says why."""
    if policy not in ("bare", "no engine") and tolerance != "deterministic":
        pytest.skip("other tolerances are tried without rules")
    terms = {"randomness_tolerance": tolerance, **POLICIES[policy]}
    done = run(book, place, determinism, reasoner, terms)
    if CERTAINTY[determinism] <= TOLERATED[tolerance]:
        assert done.ok, done.error
        return
    assert done.is_paused, done.error
    (asked,) = book.pending()
    assert f"e1 is {determinism}, and {tolerance} is tolerated" in asked.prompt
    answer(book, approver(book, "ann"))
    ended = book.resume(done.run_id)
    assert ended.ok, ended.error
    assert replay(book, done.run_id).verdict == "acceptable"


def test_of_a_part(book: Ledger, place: Path) -> None:
    """The evidence of a flow within a flow is asked about where it is collected."""
    part = {"agent": "found:make", "retriever": "found:search"}
    inner = sum_document(
        flow_id="inner", agents=["a"], dependencies=[], parts={"a": part}
    )
    outer = sum_document(
        agents=["b"], dependencies=[], parts={"b": {"flow": "inner.json"}}
    )
    manifest = write_flow(place, outer)
    (place / "inner.json").write_text(json.dumps(inner))
    (place / "found.py").write_text(MODULE.format(determinism="external"))
    sys.modules.pop("found", None)
    done = start_flow(book, load_flow(manifest))
    assert done.is_paused, done.error
    answer(book, approver(book, "ann"))
    assert book.resume(done.run_id).ok
    assert replay(book, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("reasoner", ["none", "empty"])
def test_an_earlier_record_keeps_its_meaning(
    book: Ledger, place: Path, reasoner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first edition let pass still replays as it was recorded."""
    monkeypatch.setattr(assembly, "EDITION", 1)
    done = run(book, place, "external", reasoner, {})
    monkeypatch.undo()
    assert done.ok, done.error
    monkeypatch.chdir(place)
    assert replay(book, done.run_id).verdict == "acceptable"
