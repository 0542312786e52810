"""The guide's experiment in pieces, and what tests read of its run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from in_process import harness_ledger
from muniment.ledger import Ledger
from muniment_plugins.harness import (
    Case,
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

CODE = """
import math

def fit_and_eval(data):
    total = sum(data)
    mean = total / len(data) if data else 0
    return {"total": total, "mean": mean}
"""

PROPERTY: dict[str, object] = {
    "name": "perm",
    "transform": "permute_rows",
    "metric": "total",
}


def rows(_: object) -> list[int]:
    """Return the guide's data."""
    return [1, 2, 3, 4, 5]


def spec(**changes: object) -> Spec:
    """Return the guide's spec with *changes*."""
    members: dict[str, object] = {
        "allowed_imports": ["math"],
        "properties": [PROPERTY],
        "resources": {"time_s": 5, "mem_mb": 256},
    }
    return Spec.of({**members, **changes})


@pytest.fixture
def begun() -> Callable[..., Case]:
    """Return what makes a case with data, claim and spec, by hand."""

    def begin(data: object = (1, 2, 3), **changes: object) -> Case:
        case = specify_claim(claim=Claim("c", "A claim"))(Case(data))
        return generate_spec(spec=spec(**changes))(case)

    return begin


@pytest.fixture
def experiment() -> Callable[..., Experiment]:
    """Return what makes the guide's experiment, with other code or properties.

    Where a *model* proposes the spec, nobody knows of its properties beforehand.
    """

    def make(code: str = CODE, *, model: bool = False, **changes: object) -> Experiment:
        bounds = spec(**changes)
        proposed = generate_spec(llm=lambda *_: bounds)
        return (
            Experiment.builder()
            .datasource(rows)
            .add_step(specify_claim(claim=Claim("sum-invariant", "A sum is a sum")))
            .add_step(proposed if model else generate_spec(spec=bounds))
            .add_step(bounded_synthesis(code=code))
            .add_step(execute_capsule())
            .add_step(run_metamorphic_tests())
            .hypothesis("metamorphic", verifier=metamorphic)
            .build()
        )

    return make


@pytest.fixture
def ledger(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """Give the test a fresh ledger; marked `in_process`, one without a real capsule."""
    place = tmp_path / "work" / ".muniment" / "ledger.db"
    light = request.node.get_closest_marker("in_process") is not None
    with harness_ledger(place) if light else Ledger.create(place) as made:
        yield made


def types_of(ledger: Ledger, run: str) -> list[str]:
    """Return the types of a run's events, in their order."""
    return [event.type for event in ledger.events(run=run)]
