"""A model writes a program, is corrected, and is judged against a baseline.

python code_by_a_model.py                        answers from a script, no network
OPENAI_API_KEY=… python code_by_a_model.py       asks OpenAI, or OPENAI_BASE_URL

The claim: there is an estimate of a quantity that is nearer to the truth than the mean
of the measurements, although some of them are wild. The score is computed here and not
by the program, which cannot know the truth.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
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

TRUTH = 10.0

MEAN = "def fit_and_eval(data):\n    return {'estimate': sum(data) / len(data)}"

# What the script says: a program out of bounds first, a good one once it is corrected.
FORBIDDEN = """```python
import statistics

def fit_and_eval(data):
    return {"estimate": statistics.median(data)}
```"""
MEDIAN = """This needs no module:
```python
def fit_and_eval(data):
    rows, middle = sorted(data), len(data) // 2
    return {"estimate": (rows[middle] + rows[~middle]) / 2}
```"""
SCRIPT = [
    {"when": "That does not do", "text": MEDIAN},
    {"when": "Claim:", "text": FORBIDDEN},
]


def measurements(ctx: Mapping[str, Any]) -> list[float]:
    """Draw sixty measurements, a tenth of them wild; others for every replicate."""
    dice = random.Random(ctx["seed"])  # noqa: S311 - a simulation
    return [
        round(dice.gauss(TRUTH, 0.5) + (30 * dice.random() if row % 10 == 0 else 0), 6)
        for row in range(60)
    ]


@pipeline_step
def score(data: list[float], ctx: Mapping[str, Any]) -> object:
    """Measure how far from the truth the estimate lies."""
    return data, {"error": abs(ctx["outputs"]["estimate"] - TRUTH)}


def model() -> str:
    """Return who is asked."""
    if os.environ.get("OPENAI_API_KEY"):
        return f"openai:{os.environ.get('MODEL', 'gpt-4o-mini')}"
    Path("answers.json").write_text(json.dumps(SCRIPT))
    return "scripted:answers.json"


claim = Claim(
    id="robust-estimate",
    text="An estimate of a location that wild measurements do not move: its error is at "
    "least 30% below that of the mean. `data` is a list of floats; return `estimate`.",
    acceptance={"metric": "error", "min_improvement_pct": 30.0},
)
order = {"name": "order", "transform": "permute_rows", "metric": "estimate"}
spec = Spec(properties=[order], resources={"time_s": 5, "mem_mb": 256})

experiment = (
    Experiment.builder("robust-estimate")
    .datasource(measurements)
    .add_step(specify_claim(claim=claim))
    .add_step(generate_spec(spec=spec))
    .add_step(bounded_synthesis(code=MEAN, attempts=3, repair=model()))
    .add_step(execute_capsule())
    .add_step(run_metamorphic_tests(permutations=3))
    .add_step(score())
    .treatment("model", {"llm": model()})
    .hypothesis("metamorphic", verifier=metamorphic)
    .hypothesis("better", verifier=meets_claim)
    .build()
)

with muniment.open(create=True) as ledger:
    result = experiment.run(replicates=8, executor="threads", ledger=ledger)
    result.raise_for_errors()
    attempts = ledger.events(run=result.run_id, type="synthesis.attempted")
    refused = [event for event in attempts if not event.data["accepted"]]
    print(f"{len(refused)} programs were refused, by {refused[0].data['rule']}")
    verdict: Any = result.hypothesis("better").results["model"]
    print(f"better: {verdict['meets_claim']}, p = {verdict['p_value']:.4f}")
    print(f"integrity: {result.integrity}")
    # The code runs again in the capsule; what the model said is answered by the record.
    report = muniment.replay(ledger, result.run_id, program=experiment.program)
    print(f"replay: {report.verdict}, {report.result_digest == result.result_digest}")
