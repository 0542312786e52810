"""The steps of a small experiment: a claim, a spec, code, its execution, its tests."""

from __future__ import annotations

from typing import Any

import executor_functions
from muniment_plugins.harness import (
    Claim,
    Pipeline,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.case import Step

__all__ = ["PERM", "small"]

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}


def small(
    *more: Step, spec: Spec | None = None, permutations: int = 2, **how: Any
) -> Pipeline:
    """Return the steps, *more* of them before the execution; tests if there are any.

    Args:
        more: steps of one's own.
        spec: what stands in the place of the usual bounds.
        permutations: how many variants each test has.
        how: where the code comes from; it is `executor_functions.CODE` if not said.

    """
    chosen = spec or Spec(properties=[PERM])
    tests = [run_metamorphic_tests(permutations=permutations)]
    steps: list[Step] = [
        specify_claim(claim=Claim("c", "A claim")),
        generate_spec(spec=chosen),
        bounded_synthesis(**how or {"code": executor_functions.CODE}),
        *more,
        execute_capsule(),
        *(tests if chosen.properties else []),
    ]
    return Pipeline(steps)
