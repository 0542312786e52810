"""The experiments whose code the first edition refused; a replay needs them.

Rule: this file stands as it stood then, since a run keeps the digest of its program.
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

GUARDED = """
def fit_and_eval(data):
    try:
        return {"total": max(data)}
    except ValueError:
        return {"total": 0}
"""
ORDER = {"name": "order", "transform": "permute_rows", "metric": "total"}
PLAIN = "def fit_and_eval(data): return {'total': max(data)}"


def rows(ctx: Mapping[str, Any]) -> list[int]:
    """Return the data."""
    return [3, 1, 2]


def model(claim: object, spec: object, ctx: Mapping[str, Any]) -> str:
    """Write what models write, and without ``try`` once that was refused."""
    return PLAIN if ctx["feedback"] else GUARDED


def _experiment(name: str, attempts: int, **changed: Any) -> Any:
    builder = (
        Experiment.builder(name)
        .datasource(rows)
        .add_step(specify_claim(claim=Claim("most", "The largest ignores the order")))
        .add_step(generate_spec(spec=Spec(properties=[ORDER])))
        .add_step(bounded_synthesis(llm=model, attempts=attempts))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2))
        .hypothesis("metamorphic", verifier=metamorphic)
    )
    for treatment, changes in changed.items():
        builder = builder.treatment(treatment, changes)
    return builder.build()


def repaired() -> Any:
    """Build the experiment whose second attempt is accepted, under other bounds too."""
    other = Spec(properties=[ORDER], resources={"time_s": 5})
    return _experiment("repaired", 2, other={"spec": other})


def refused() -> Any:
    """Build the experiment whose only attempt is refused."""
    return _experiment("refused", 1)
