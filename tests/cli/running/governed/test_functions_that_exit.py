"""Functions that end the process: no command says 0, or nothing, because of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

Shell = Any

RAISED = {
    "exit 0": "raise SystemExit(0)",
    "exit": "raise SystemExit",
    "exit 7": "raise SystemExit(7)",
    "exit with words": "raise SystemExit('enough')",
    "interrupt": "raise KeyboardInterrupt",
    "generator exit": "raise GeneratorExit",
    "its own": "class Own(BaseException): pass\n    raise Own('enough')",
    "a group": "raise BaseExceptionGroup('g', [SystemExit(0), ValueError()])",
}
FUNCTIONS = """
def _end(place):
    if place != {place!r}:
        return
    {raised}

_end("import")

def one(run, task):
    _end("agent")
    return {{"n": 1}}

async def later(run, task):
    _end("async agent")
    return {{"n": 1}}

def search(asked):
    _end("retriever")
    return []

async def look(asked):
    _end("async retriever")
    return []

def reason(run, task):
    _end("reasoner")
    return {{"claims": []}}

def check(subject):
    _end("check")

def gate(subject):
    _end("gate")

def instead(run, task):
    _end("fallback")
    return 1
"""
PLACES = [
    *("agent", "async agent", "retriever", "async retriever", "reasoner"),
    *("check", "gate", "fallback"),
]
FLOW: dict[str, Any] = {
    "flow_id": "g",
    "tenant_id": "t",
    "flow_state": "validated",
    "determinism_level": "probabilistic",
    "replay_acceptability": "exact_match",
    "replay_envelope": {"min_claim_overlap": 1.0, "max_contradiction_delta": 0},
    "agents": ["one"],
    "dependencies": [],
    "inputs": None,
    "entropy_budget": {"allowed_sources": ["data"], "max_magnitude": "high"},
    "nondeterminism_intent": [
        {
            "source": "retrieval",
            "min_entropy_magnitude": "low",
            "max_entropy_magnitude": "high",
            "justification": "it is looked up",
        }
    ],
}


@pytest.fixture
def written(work: Path, shell: Shell) -> Iterator[Any]:
    """Return what writes a flow that ends somewhere, and its policy."""
    assert shell("init").code == 0
    sys.modules.pop("ends", None)

    def write(place: str, raised: str) -> None:
        text = FUNCTIONS.format(place=place, raised=RAISED[raised])
        (work / "ends.py").write_text(text)
        agent = "ends:later" if place.startswith("async") else "ends:one"
        retriever = "ends:look" if place.startswith("async") else "ends:search"
        part = {"agent": agent, "retriever": retriever, "reasoner": "ends:reason"}
        flow = {**FLOW, "parts": {"one": part}, "verification_gates": ["ends:gate"]}
        rules: dict[str, Any] = {
            "spec_version": "v1",
            "rules": [{"rule_id": "r", "check": "ends:check", "target": "artifact"}],
        }
        if place == "fallback":
            rules["execution_budget"] = {
                "step_limit": 0,
                "exhaustion_action": "degrade",
                "fallback": "ends:instead",
            }
        (work / "flow.json").write_text(json.dumps(flow))
        (work / "policy.json").write_text(json.dumps(rules))

    yield write
    sys.modules.pop("ends", None)


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", PLACES)
def test_a_flow_fails_by_whatever_its_functions_raise(
    shell: Shell, written: Any, place: str, raised: str
) -> None:
    """The run failed, exit code 1, and the record names what was raised."""
    written(place, raised)
    ran = shell("run", "flow.json", "--policy", "policy.json")
    status = shell("runs", "--json").json[0]["status"]
    if raised == "interrupt":
        assert (ran.code, status) == (130, "interrupted")
        assert "interrupted" in ran.err
        return
    if raised == "generator exit" and place.startswith("async"):
        # It cannot be told from the end of a coroutine that is closed from outside.
        assert (ran.code, status) == (3, "interrupted")
        assert "GeneratorExit" in ran.err
        return
    assert (ran.code, status) == (1, "failed")
    assert "FlowFailed" in ran.out
    sys.modules.pop("ends", None)
    assert shell("runs", "explain", "last").code == 0


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_module_that_ends_is_no_success(
    shell: Shell, written: Any, command: str, raised: str
) -> None:
    """It cannot be imported, exit code 3; nothing was begun."""
    written("import", raised)
    done = shell(command, "flow.json", "--policy", "policy.json")
    assert done.code == (130 if raised == "interrupt" else 3)
    assert done.err
    assert shell("runs", "--json").json == []


PROGRAM = """
def main(run):
    run.record("artifact.produced", {
        "artifact_id": "a", "artifact_type": "agent_invocation", "producer": "agent",
        "scope": "working", "parents": [], "digest": "sha256:" + "0" * 64, "content": 1})
    run.record("reasoning.recorded", {
        "bundle_id": "b1", "producer": "one", "claim_ids": [], "evidence_ids": [],
        "digest": "sha256:" + "0" * 64, "claims": [], "steps": []})
    run.pause("for the night")
    import ends
    ends._end("program")
"""


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", ["check", "import", "program"])
def test_no_other_command_says_0(
    shell: Shell, written: Any, work: Path, place: str, raised: str
) -> None:
    """An observation cannot tell; a resume of a program that ends is no success."""
    written(place, raised)
    (work / f"night{len(place)}.py").write_text(PROGRAM)
    sys.modules.pop(f"night{len(place)}", None)
    assert shell("run", f"night{len(place)}.py").code == 5
    if place == "program":
        done = shell("resume", "last")
    else:
        done = shell("observe", "last", "--policy", "policy.json")
    assert done.code == (130 if raised == "interrupt" else 3)
    assert done.err
