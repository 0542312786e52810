"""A model that answers what models write every day: one kind of syntax for each condition.

muniment run everyday_models.py:experiment
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment_plugins.harness import (
    Claim,
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)

__all__ = ["ANSWERS", "TREATED", "experiment", "model", "rows"]

ANSWERS = {
    "try": """
def fit_and_eval(data):
    try:
        mean = sum(data) / len(data)
    except ZeroDivisionError:
        mean = 0.0
    return {"total": sum(data), "mean": mean}
""",
    "with": """
import numpy as np

def fit_and_eval(data):
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.asarray(data, dtype=float) / np.sum(data)
    return {"total": int(sum(data)), "largest": float(shares.max())}
""",
    "global": """
seen = 0

def count(value):
    global seen
    seen += 1
    return value

def fit_and_eval(data):
    return {"total": sum(count(one) for one in data), "seen": seen}
""",
}
"""Kind of syntax → a program that uses it."""

TREATED = ("with", "global")


def rows(_: object) -> list[int]:
    """Return the data."""
    return [3, 1, 2]


def model(_claim: object, _spec: object, ctx: Mapping[str, Any]) -> str:
    """Answer as a model does, fenced."""
    asked = ctx["condition"]
    return f"```python{ANSWERS[asked if asked in TREATED else 'try']}```"


_ORDER = {"name": "order", "transform": "permute_rows", "metric": "total"}

experiment = (
    Experiment.builder("everyday")
    .datasource(rows)
    .add_step(specify_claim(claim=Claim("c", "A sum ignores the order")))
    .add_step(generate_spec(spec=Spec(allowed_imports=["numpy"], properties=[_ORDER])))
    .add_step(bounded_synthesis(llm=model))
    .add_step(execute_capsule())
    .add_step(run_metamorphic_tests(permutations=2))
    .treatments({name: {"asked": name} for name in TREATED})
    .hypothesis("metamorphic", verifier=metamorphic)
    .build()
)
