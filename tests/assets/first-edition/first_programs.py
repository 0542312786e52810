"""The programs that the ledgers of the first edition recorded; a replay needs them.

Rule: this file stands as it stood then, since a run keeps the digest of its program.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from typing import Any

import muniment
from muniment_plugins.harness import (
    Claim,
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    metamorphic,
    pipeline_step,
    run_metamorphic_tests,
    specify_claim,
)

BROKEN: list[str] = []
"""What is out of order at present, in the making of the ledgers."""

MEAN = "def fit_and_eval(data): return {'estimate': sum(data) / len(data)}"
MEDIAN = "def fit_and_eval(data): return {'estimate': sorted(data)[len(data) // 2]}"


def search(request: Any) -> list[str]:
    """Stand for a tool."""
    if "search" in BROKEN:
        raise ConnectionError("the index is away")
    if "power" in BROKEN:
        os._exit(9)
    if "patience" in BROKEN:
        raise KeyboardInterrupt
    return [f"{request['query']} in chapter {number}" for number in (3, 7)]


def triage(run: muniment.Run, ticket: str) -> object:
    """State, ask, draw and ask again in a scope."""
    run.record("claim.stated", {"id": "c1", "text": f"{ticket} is a known issue"})
    first = run.effect("tool", {"name": "search", "query": ticket}, perform=search)
    with run.scope("map/3") as lane:
        lane.record("note.added", {"text": "inside", "details": {"ticket": ticket}})
        asked = {"name": "search", "query": f"{ticket}, again"}
        second = lane.effect("tool", asked, perform=search)
    return [first, second, run.random(), run.uuid(), run.now(), (1.0, b"raw")]


def lengthy(run: muniment.Run) -> object:
    """Come to a result that stands in a file beside the ledger."""
    run.record("note.added", {"text": "long"})
    return "a" * (1 << 20)


def measurements(ctx: Mapping[str, Any]) -> list[float]:
    """Draw measurements, some of them wild."""
    dice = random.Random(ctx["seed"])  # noqa: S311 - a simulation
    return [dice.gauss(10, 0.5) for _ in range(40)] + [100 * dice.random() + 20]


@pipeline_step
def score(data: list[float], ctx: Mapping[str, Any]) -> object:
    """Measure how far from the truth the estimate lies."""
    return data, {"error": abs(ctx["outputs"]["estimate"] - 10)}


def robust() -> Any:
    """Build the experiment: code in the capsule, a metamorphic relation, a claim."""
    claim = Claim(
        id="robust",
        text="The error is at least 30% below that of the mean.",
        acceptance={"metric": "error", "min_improvement_pct": 30.0},
    )
    order = {"name": "order", "transform": "permute_rows", "metric": "estimate"}
    return (
        Experiment.builder("robust")
        .datasource(measurements)
        .add_step(specify_claim(claim=claim))
        .add_step(generate_spec(spec=Spec(properties=[order])))
        .add_step(bounded_synthesis(code=MEAN))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=3))
        .add_step(score())
        .treatment("median", {"code": MEDIAN})
        .hypothesis("metamorphic", verifier=metamorphic)
        .hypothesis("better", verifier=meets_claim)
        .build()
    )
