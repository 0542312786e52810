"""What is wrong in a plan is refused when it is built, before a model is paid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped] # no stubs are installed
import pyarrow as pa
import pytest

from muniment_plugins.harness import (
    Claim,
    Experiment,
    HarnessRefused,
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
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder

CODE = "def fit_and_eval(data): return {'total': 1, 'n': 2}"
TURN = {"name": "turn", "transform": "permute_rows", "metric": "total"}


def unasked(*_: object) -> object:
    """Stand for a model that costs money."""
    raise AssertionError("nothing is asked before the plan holds")


@pipeline_step
def needy(data: object, wanted: object) -> object:
    """Need a parameter."""
    return data, {"own": wanted}


def plan(
    acceptance: dict[str, object] | None = None,
    prop: dict[str, object] | None = None,
    **code: Any,
) -> ExperimentBuilder:
    """Return a plan that holds, but for what is given."""
    claim = Claim("c", "t", acceptance or {"metric": "total", "max_value": 3})
    spec = Spec(properties=[{**TURN, **(prop or {})}])
    return (
        Experiment.builder("plan")
        .datasource(unasked)
        .add_step(specify_claim(claim=claim))
        .add_step(generate_spec(spec=spec))
        .add_step(bounded_synthesis(**(code or {"code": CODE})))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests())
        .hypothesis("claimed", verifier=meets_claim)
        .hypothesis("tested", verifier=metamorphic)
    )


def steps(*some: Any) -> ExperimentBuilder:
    """Return a plan of *some* steps."""
    builder = Experiment.builder("steps").datasource(unasked)
    for one in some:
        builder = builder.add_step(one)
    return builder


CLAIM = specify_claim(claim=Claim("c", "t", {"metric": "total", "max_value": 3}))
BOUNDS = generate_spec(spec=Spec(properties=[TURN]))
BROUGHT = bounded_synthesis(code=CODE)
ASKED = bounded_synthesis(llm=unasked)
RUN, TESTED = execute_capsule(), run_metamorphic_tests()

FAULTS: dict[str, tuple[Callable[[], ExperimentBuilder], str, str]] = {
    "a misspelt key of the acceptance": (
        lambda: plan({"max_valu": 1, "metric": "total"}),
        "harness/claim",
        "max_valu means nothing",
    ),
    "an acceptance that accepts nothing": (
        lambda: plan({"metric": "total"}),
        "harness/claim",
        "accepts nothing",
    ),
    "a bound that is not a number": (
        lambda: plan({"metric": "total", "max_value": "3"}),
        "harness/claim",
        "not a number",
    ),
    "a claim that the verifier contradicts": (
        lambda: plan().hypothesis("other", verifier=meets_claim(metric="n")),
        "harness/claim",
        "the claim says metric",
    ),
    "a metric that the code does not return": (
        lambda: plan({"metric": "totl", "max_value": 3}),
        "harness/claim",
        "no totl will be measured",
    ),
    "an improvement over nothing": (
        lambda: plan({"metric": "total", "min_improvement_pct": 3}),
        "harness/vacuous",
        "cannot improve over itself",
    ),
    "a property that has to pass and is none": (
        lambda: plan({"must_pass": ["trun"]}),
        "harness/vacuous",
        "trun_pass: not tested",
    ),
    "a property that names no property": (
        lambda: plan({"must_pass": "turn"}),
        "harness/claim",
        "names no property",
    ),
    "an unknown transform, though a model writes the code": (
        lambda: plan(prop={"transform": "permute_row"}, llm=unasked),
        "harness/transform",
        "Unknown metamorphic transform: permute_row",
    ),
    "an argument that a transform does not take": (
        lambda: plan(prop={"transform": "scale", "arguments": {"by": 2}}),
        "harness/spec",
        "by means nothing here",
    ),
    "a relation that a transform has not": (
        lambda: plan(prop={"relation": "monotone", "direction": "increasing"}),
        "harness/metric",
        "permute_rows is",
    ),
    "a property of a metric that the code does not return": (
        lambda: plan(prop={"metric": "totals"}),
        "harness/metric",
        "the code returns no totals",
    ),
    "an output that the code does not return": (
        lambda: plan().outputs(["rmse"]),
        "harness/output",
        "the code returns no rmse",
    ),
    "a treatment whose code returns other names": (
        lambda: plan().treatment("t", {"code": CODE.replace("total", "sum")}),
        "harness/metric",
        "the code returns no total",
    ),
    "a treatment whose claim is misspelt": (
        lambda: plan().treatment(
            "t", {"claim": {"id": "d", "text": "t", "acceptance": {"min": 1}}}
        ),
        "harness/claim",
        "min means nothing",
    ),
    "a treatment whose spec tests nothing": (
        lambda: plan().treatment("t", {"spec": Spec()}),
        "harness/vacuous",
        "no property will be tested",
    ),
    "a parameter that nobody gives": (
        lambda: steps(CLAIM, needy(), BOUNDS, ASKED, RUN),
        "harness/step",
        "needy needs wanted",
    ),
    "no claim": (lambda: steps(BOUNDS, ASKED, RUN), "harness/order", "no claim yet"),
    "no spec": (lambda: steps(CLAIM, ASKED, RUN), "harness/order", "no spec yet"),
    "no code": (lambda: steps(CLAIM, BOUNDS, RUN), "harness/order", "no code yet"),
    "a test before the execution": (
        lambda: steps(CLAIM, BOUNDS, ASKED, TESTED),
        "harness/order",
        "no output of the code yet",
    ),
    "a hypothesis about tests, and no test": (
        lambda: steps(CLAIM, BOUNDS, ASKED, RUN).hypothesis("h", verifier=metamorphic),
        "harness/vacuous",
        "no property will be tested",
    ),
    **{
        f"data of {package}": (
            lambda data=data: plan().treatment("t", {"data": data}),  # type: ignore[misc]
            "harness/data-package",
            f"add {package} to allowed_imports",
        )
        for package, data in {
            "numpy": [np.arange(3.0)],
            "pandas": {"x": pd.DataFrame({"a": [1]})},
            "pyarrow": pa.table({"a": [1]}),
        }.items()
    },
}


def test_the_plan_holds() -> None:
    """Without a fault, all of it is built."""
    assert plan().build().name == "plan"
    plan(llm=unasked).treatment("t", {"data": [1]}).build()
    arrays = Spec(allowed_imports=["numpy"], properties=[TURN])
    plan().treatment("t", {"data": np.ones(2), "spec": arrays}).build()
    steps(CLAIM, needy(wanted=1), BOUNDS, BROUGHT, RUN, TESTED).build()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused(fault: str) -> None:
    """It is named, with the rule and the remedy, and nothing was asked."""
    make, rule, said = FAULTS[fault]
    builder = make()
    with pytest.raises(HarnessRefused) as refused:
        builder.build()
    assert refused.value.rule == rule
    assert said in str(refused.value)
    assert refused.value.remedy


@pytest.mark.parametrize(
    "code",
    [
        "def fit_and_eval(data): return dict(other=1)",
        "def fit_and_eval(data):\n    found = {'other': 1}\n    return found",
        "def fit_and_eval(data):\n    if data: return {'total': 1}\n    return data",
        "def fit_and_eval(data): return {**data}",
        "import os\ndef other(data): return {}",
        "def fit_and_eval(data) return {}",
    ],
)
def test_what_the_text_does_not_say_is_left_open(code: str) -> None:
    """A plan is refused for what it says, and not for what it might be."""
    built = plan(code=code).outputs(["total"]).build()
    assert built.program.outputs == ("total",)
