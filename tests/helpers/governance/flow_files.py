"""Flows as files: manifests, policies, and the module whose functions they name."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

__all__ = [
    "AGENTS",
    "BORING_FLOW",
    "BORING_POLICY",
    "SUM",
    "flow_document",
    "sum_document",
    "write_flow",
    "write_policy",
]

Document = dict[str, Any]

BORING_FLOW: Document = {
    "flow_id": "flow-boring",
    "tenant_id": "tenant-a",
    "flow_state": "validated",
    "determinism_level": "strict",
    "replay_mode": "strict",
    "replay_acceptability": "exact_match",
    "entropy_budget": {
        "allowed_sources": ["seeded_rng", "data"],
        "min_magnitude": "low",
        "max_magnitude": "low",
        "exhaustion_action": "halt",
        "per_source": [
            {
                "source": "data",
                "min_magnitude": "low",
                "max_magnitude": "low",
                "exhaustion_action": None,
            }
        ],
    },
    "allowed_variance_class": "low",
    "nondeterminism_intent": [
        {
            "source": "retrieval",
            "min_entropy_magnitude": "low",
            "max_entropy_magnitude": "low",
            "justification": "ranking variance",
        }
    ],
    "replay_envelope": {"min_claim_overlap": 1.0, "max_contradiction_delta": 0},
    "dataset": {
        "dataset_id": "retrieval_corpus",
        "tenant_id": "tenant-a",
        "dataset_version": "1.0.0",
        "dataset_hash": "136275faf776ff9aae3823d7d6f928e9",
        "dataset_state": "frozen",
        "storage_uri": "file://datasets/retrieval_corpus.jsonl",
    },
    "allow_deprecated_datasets": False,
    "agents": ["agent-a", "agent-b"],
    "dependencies": ["agent-b:agent-a"],
    "retrieval_contracts": [],
    "verification_gates": [],
}
"""The full example of the vocabulary's reference, as it stands there."""

BORING_POLICY: Document = {
    "spec_version": "v1",
    "verification_level": "baseline",
    "failure_mode": "halt",
    "randomness_tolerance": "deterministic",
    "arbitration_policy": {
        "spec_version": "v1",
        "rule": "unanimous",
        "quorum_threshold": None,
    },
    "required_evidence": [],
    "max_rule_cost": 100,
    "rules": [
        {
            "spec_version": "v1",
            "rule_id": "confidence_in_range",
            "description": "…",
            "severity": "error",
            "target": "reasoning_bundle",
            "randomness_requirement": "deterministic",
            "cost": 1,
        }
    ],
    "fail_on": [],
    "escalate_on": [],
}
"""The same of a policy."""

AGENTS = '''
"""Reads numbers, looks something up, and says what they come to."""

from pathlib import Path

CALLS = Path(__file__).with_name("calls")


def read(run, task):
    return {"rows": [1, 2, 3], "seed": task.seed}


def search(request):
    with CALLS.open("a") as file:
        file.write("search\\n")
    return [{"evidence_id": "e1", "source_uri": "file://corpus#1",
             "content": {"text": "three rows"}, "score": 0.9}]


def write(run, task):
    return {"sum": sum(task.inputs["reader"]["rows"])}


def reason(run, task):
    [evidence], [made] = task.evidence, task.artifacts
    text = f"as e1 says ({evidence.digest}), the sum in {made.digest} is six"
    claim = {"claim_id": "k-1", "statement": text, "confidence": 0.9,
             "supported_by": ["e1"]}
    step = {"step_id": "s-1", "input_claims": [], "output_claims": ["k-1"],
            "method": "addition"}
    return {"claims": [claim], "steps": [step]}


def guess(run, task):
    return {"claims": [{"claim_id": "k-1", "statement": "it is seven",
                        "confidence": 2, "supported_by": []}]}


def fail(run, task):
    raise ValueError("out of ink")


async def read_later(run, task):
    import asyncio
    await asyncio.sleep(0)
    value = await run.aeffect("data", "rows", look)
    return {"rows": value, "seed": task.seed}


async def look(request):
    return [1, 2, 3]


def ask(run, task):
    return {"answer": run.effect("data", task.step, lambda number: number)}


number = 7
'''
"""A module of agents."""

SUM: Document = {
    "flow_id": "sum",
    "tenant_id": "tenant-a",
    "flow_state": "validated",
    "determinism_level": "strict",
    "replay_acceptability": "exact_match",
    "entropy_budget": {
        "allowed_sources": ["seeded_rng", "data"],
        "max_magnitude": "medium",
    },
    "nondeterminism_intent": [
        {
            "source": "retrieval",
            "min_entropy_magnitude": "low",
            "max_entropy_magnitude": "medium",
            "justification": "the corpus is ranked",
        }
    ],
    "replay_envelope": {"min_claim_overlap": 1.0, "max_contradiction_delta": 0},
    "agents": ["writer", "reader"],
    "dependencies": ["writer:reader"],
    "parts": {
        "reader": "agents:read",
        "writer": {
            "agent": "agents:write",
            "retriever": "agents:search",
            "reasoner": "agents:reason",
        },
    },
}
"""A flow of two steps, the second of which retrieves and reasons."""


def flow_document() -> Document:
    """Return a copy of the reference's manifest."""
    return copy.deepcopy(BORING_FLOW)


def sum_document(**members: object) -> Document:
    """Return the flow of two steps, with these members."""
    return {**copy.deepcopy(SUM), **members}


def write_flow(folder: Path, document: Document | None = None) -> Path:
    """Write a flow and its agents into *folder*; return the manifest's path."""
    (folder / "agents.py").write_text(AGENTS)
    file = folder / "flow.json"
    file.write_text(json.dumps(SUM if document is None else document))
    return file


def write_policy(folder: Path, **members: object) -> Path:
    """Write a policy with these members into *folder*; return its path."""
    file = folder / "policy.json"
    file.write_text(
        json.dumps({"spec_version": "v1", "policy_id": "tested", **members})
    )
    return file
