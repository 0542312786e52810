"""What a policy names and does not exist is a mistake of its file, told in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy

Shell = Any

DEGRADES = {"effect_limit": 2, "exhaustion_action": "degrade"}
SPENT = {"allowed_sources": ["data"], "max_magnitude": "high"}
ENTROPY: dict[str, Any] = {**SPENT, "max_count": 1, "exhaustion_action": "degrade"}
SLICE = {"source": "data", "max_magnitude": "low", "exhaustion_action": "degrade"}
LMM = {"effect_limits": {"lmm": 2}, "exhaustion_action": "halt"}
FUNCTIONS: dict[str, tuple[str, Any, str]] = {
    "a module": (
        "execution_budget.fallback",
        {"execution_budget": {**DEGRADES, "fallback": "nosuch:fn"}},
        "there is no module nosuch",
    ),
    "an attribute": (
        "execution_budget.fallback",
        {"execution_budget": {**DEGRADES, "fallback": "os:nosuch"}},
        "there is no nosuch in os",
    ),
    "no function": (
        "execution_budget.fallback",
        {"execution_budget": {**DEGRADES, "fallback": "os:name"}},
        "os:name is a str, and no function",
    ),
    "among many": (
        "entropy_budget.fallback",
        {"entropy_budget": {**ENTROPY, "fallback": "os:popn"}},
        "there is no popn in os [policy/part]; did you mean popen",
    ),
    "of a source": (
        "entropy_budget.per_source[0].fallback",
        {
            "entropy_budget": {
                **ENTROPY,
                "fallback": "skip",
                "per_source": [{**SLICE, "fallback": "os:nosuch"}],
            }
        },
        "there is no nosuch in os",
    ),
    "of no step": (
        "execution_budget.fallback",
        {"execution_budget": {**DEGRADES, "step_limit": 1, "fallback": "cached"}},
        "step_limit falls back to cached, and no step has a cached answer",
    ),
}
KIND: tuple[str, Any, str] = (
    "execution_budget.effect_limits.lmm",
    {"execution_budget": LMM},
    "nothing declares the effect kind 'lmm' [policy/kind]; did you mean llm",
)
MISTAKES = {**FUNCTIONS, "a kind": KIND}


def write(work: Path, members: dict[str, Any]) -> None:
    """Write the policy, and a program that would be held to it."""
    sys.modules.pop("asks", None)  # that of another test
    document = {"spec_version": "v1", "policy_id": "p", **members}
    (work / "p.json").write_text(json.dumps(document))
    (work / "asks.py").write_text("def main(run):\n    run.effect('tool', 1, str)\n")


def told(outcome: Any, key: str, message: str) -> None:
    """Check that the outcome is this one line."""
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.strip().splitlines()
    what, _, remedy = message.partition("; ")
    assert line.startswith(f"error: p.json: {key}: {what}")
    assert remedy in line
    assert len(line) < 300


@pytest.mark.parametrize("name", MISTAKES)
def test_a_check_finds_what_is_missing(work: Path, shell: Shell, name: str) -> None:
    """File, key and what is wrong, exit code 2; a few near names at most."""
    key, members, message = MISTAKES[name]
    write(work, members)
    told(shell("policy", "check", "p.json"), key, message)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "command",
    [
        ("run", "asks.py", "--policy", "p.json"),
        ("record", "--policy", "p.json", "--", sys.executable, "-c", "1"),
    ],
)
def test_no_run_starts_without_its_fallback(
    work: Path, shell: Shell, name: str, command: tuple[str, ...]
) -> None:
    """Said before anything is opened: there is no ledger here, and nobody asks for one."""
    key, members, message = FUNCTIONS[name]
    write(work, members)
    told(shell(*command), key, message)


@pytest.mark.parametrize(
    "command",
    [
        ("run", "asks.py", "--policy", "p.json"),
        ("record", "--policy", "p.json", "--", sys.executable, "-c", "1"),
    ],
)
def test_no_run_starts_under_a_limit_of_an_unknown_kind(
    work: Path, shell: Shell, command: tuple[str, ...]
) -> None:
    """It is known once the ledger is open; nothing is written."""
    key, members, message = KIND
    write(work, members)
    assert shell("init").code == 0
    before = shell("events", "--json").out
    told(shell(*command), key, message)
    assert shell("events", "--json").out == before


def test_a_kind_that_the_program_registers_is_limited(work: Path, shell: Shell) -> None:
    """What a file declares on the ledger that it opens is there as its run starts."""
    write(work, {"execution_budget": {"effect_limits": {"sensor": 1}}})
    (work / "asks.py").write_text(
        "import muniment\n"
        "from muniment import EffectKind\n"
        "def main(run):\n"
        "    return [run.effect('sensor', n, str) for n in range(2)]\n"
        "with muniment.open() as ledger:\n"
        "    ledger.register(EffectKind('sensor', source='data'))\n"
        "    ledger.execute(main)\n"
    )
    assert shell("init").code == 0
    ran = shell("run", "asks.py", "--policy", "p.json")
    assert (ran.code, "effect_limits.sensor: 1 of 1 is spent" in ran.out) == (1, True)


def _flow(work: Path, part: str) -> str:
    """Write a flow whose own budgets name what is missing; return the key."""
    sys.modules.pop("agents", None)
    if part == "kind":
        write_flow(work, sum_document(execution_budget=LMM))
        return "flow.json: execution_budget.effect_limits.lmm"
    budget = {**ENTROPY, "fallback": "os:nosuch"}
    write_flow(work, sum_document(entropy_budget=budget))
    return "flow.json: entropy_budget.fallback"


@pytest.mark.parametrize("command", ["plan", "run"])
@pytest.mark.parametrize("part", ["kind", "fallback"])
def test_a_flow_is_refused_alike(
    work: Path, shell: Shell, command: str, part: str
) -> None:
    """The manifest, too, is told with file and key, before anything is written."""
    key = _flow(work, part)
    terms = write_policy(work)
    assert shell("init").code == 0
    before = shell("events", "--json").out
    refused = shell(command, "flow.json", "--policy", terms)
    assert (refused.code, refused.out) == (2, "")
    (line,) = refused.err.strip().splitlines()
    assert key in line
    assert shell("events", "--json").out == before
