"""The programs that the ledgers with import paths recorded; a replay needs them.

Rule: this file stands as it stood then, since a plan keeps the digests of its functions.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

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

MEAN = "def fit_and_eval(data): return {'estimate': sum(data) // len(data)}"
MEDIAN = "def fit_and_eval(data): return {'estimate': sorted(data)[len(data) // 2]}"


def measurements(ctx: Mapping[str, Any]) -> list[int]:
    """Draw measurements, some of them wild."""
    if "patience" in BROKEN and ctx["replicate"]:
        raise KeyboardInterrupt
    dice = random.Random(ctx["seed"])  # noqa: S311 - a simulation
    return [dice.randrange(90, 110) for _ in range(40)] + [500 + dice.randrange(90)]


@pipeline_step
def score(data: list[int], ctx: Mapping[str, Any]) -> object:
    """Measure how far from the truth the estimate lies."""
    return data, {"error": abs(ctx["outputs"]["estimate"] - 100)}


def reverse(data: list[int]) -> list[int]:
    """Turn the rows around."""
    return data[::-1]


def robust(name: str | None = "robust") -> Any:
    """Build the experiment: code in the capsule, a metamorphic relation, a claim."""
    claim = Claim(
        id="robust",
        text="The error is at least 30% below that of the mean.",
        acceptance={"metric": "error", "min_improvement_pct": 30.0},
    )
    order = {"name": "order", "transform": "reverse", "metric": "estimate"}
    return (
        Experiment.builder(name)
        .datasource(measurements)
        .add_step(specify_claim(claim=claim))
        .add_step(generate_spec(spec=Spec(properties=[order])))
        .add_step(bounded_synthesis(code=MEAN))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(transforms={"reverse": reverse}))
        .add_step(score())
        .treatment("median", {"code": MEDIAN})
        .hypothesis("metamorphic", verifier=metamorphic)
        .hypothesis("better", verifier=meets_claim)
        .build()
    )
