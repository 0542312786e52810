"""Tests that cannot fail, because no value changes, or by no more than is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounded_capsule import Bounded
from in_process import harness_ledger
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Claim,
    Experiment,
    HarnessRefused,
    Result,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.editions import of_edition
from muniment_plugins.harness.metamorphic_tests.variants import alike

NAN = float("nan")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a fresh ledger whose capsule is in process."""
    with harness_ledger(tmp_path / "ledger.db", Bounded()) as made:
        yield made


def experiment(data: Any, code: str, **prop: Any) -> Experiment:
    """Return an experiment that tests one property of the metric ``m`` on *data*."""
    asked = {"name": "p", "metric": "m", **prop}
    body = f"def fit_and_eval(data): return {{'m': {code}}}"
    own: dict[str, Any] = {"floats": floats, "tuples": tuple}
    return (
        Experiment.builder("vacuity")
        .datasource(lambda _: data)
        .add_step(specify_claim(claim=Claim("c", "A claim")))
        .add_step(generate_spec(spec=Spec(properties=[asked])))
        .add_step(bounded_synthesis(code=body))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2, transforms=own))
        .hypothesis("h", verifier=metamorphic)
        .build()
    )


def verdict(ledger: Ledger, data: Any, code: str, **prop: Any) -> bool | None:
    """Return whether the property holds; None if its test is refused as vacuous."""
    try:
        made = experiment(data, code, **prop)
    except HarnessRefused as refusal:
        _require_vacuous(refusal.rule)
        return None
    result: Result = made.run(ledger=ledger)
    if result.errors:
        (error,) = result.errors
        _require_vacuous(error.rule)
        return None
    return result.metrics.baseline.metrics["p_pass"] == [True]


def _require_vacuous(rule: str | None) -> None:
    assert rule == "harness/vacuous"


def floats(data: Any) -> Any:
    """Return *data* with every integer as a float."""
    if isinstance(data, dict):
        return {name: floats(one) for name, one in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(map(floats, data))
    return float(data) if type(data) is int else data


def another(data: Any) -> Any:
    """Return *data* with one value changed."""
    if isinstance(data, dict):
        first = next(iter(data))
        return {**data, first: another(data[first])}
    if isinstance(data, list | tuple):
        return type(data)([another(data[0]), *data[1:]])
    if isinstance(data, str):
        return f"{data}x"
    return not data if isinstance(data, bool) else 1 if data != data else data + 1  # noqa: PLR0124 - NaN


LEAVES = (
    st.integers(-(2**52), 2**52)
    | st.booleans()
    | st.text(max_size=2)
    | st.sampled_from([0.5, -0.0, NAN, float("inf")])
)
VALUES = st.recursive(
    LEAVES,
    lambda one: (
        st.lists(one, min_size=1, max_size=3)
        | st.tuples(one, one)
        | st.dictionaries(st.sampled_from("ab"), one, min_size=1)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(VALUES)
def test_data_is_alike_by_value(data: Any) -> None:
    """The type of a number is no value: 1 is 1.0. Every other change is one."""
    assert alike(data, floats(data))
    assert alike(floats(data), data)
    assert data != data or not alike(data, [data])  # noqa: PLR0124 - holds NaN
    if "inf" not in str(data):
        assert not alike(data, another(data))


NUMBERS = st.lists(st.integers(-100, 100), min_size=1, max_size=5)
FORMS: list[Any] = [
    np.array,
    lambda x: np.array([x, x]),
    lambda x: pd.DataFrame({"a": x, "b": x}),
    pd.Series,
    lambda x: pa.table({"a": x}),
    lambda x: (np.array(x), x),
    lambda x: {"a": np.array(x)},
]


@settings(deadline=None)
@given(NUMBERS, st.sampled_from(range(len(FORMS))))
def test_arrays_and_tables_are_alike_by_value(numbers: list[int], form: int) -> None:
    """An array of floats that were integers is the same data; one value changes it."""
    made = FORMS[form]
    assert alike(made(numbers), made(floats(numbers)))
    assert not alike(made(numbers), made([numbers[0] + 1, *numbers[1:]]))
    assert not alike(made(numbers), made([*numbers, 1]))


def test_columns_and_types_of_tables_are_values_too() -> None:
    """What a column is called, and a truth value, is no number's type."""
    assert not alike(pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}))
    assert not alike(pa.table({"a": [1]}), pa.table({"b": [1]}))
    assert not alike(np.array([1, 0]), np.array([True, False]))
    assert not alike([1], (1,))
    assert not alike("1", 1)


IDLE: list[dict[str, Any]] = [
    *({"transform": "shift", "arguments": {"by": one}} for one in (0, 0.0, -0.0)),
    *({"transform": "scale", "arguments": {"factor": one}} for one in (1, 1.0)),
    *({"transform": "add_noise", "arguments": {"sd": one}} for one in (1e-300, 1e-20)),
    {"transform": "floats"},
]
TABLES: list[Any] = [
    [3, 1, 2],
    [3.0, 1.0, 2.0],
    [[3, 1], [2, 5]],
    {"x": [3, 1, 2]},
    ([3, 1], [2, 2]),
    [2**53 + 1, 5],
]


@pytest.mark.parametrize("data", TABLES, ids=str)
@pytest.mark.parametrize("prop", IDLE, ids=str)
def test_what_changes_no_value_tests_nothing(
    prop: dict[str, Any], data: Any, ledger: Ledger
) -> None:
    """Whatever the transform, and whatever the types of numbers become, it is refused."""
    rounds = 2**53 + 1 in data and prop["transform"] in ("floats", "add_noise")
    found = verdict(ledger, data, "len(data)", **prop)
    assert found is (True if rounds else None)  # such an integer is no float


def test_what_changes_a_value_or_a_container_is_tested(ledger: Ledger) -> None:
    """A change of values is one, and so is a tuple in place of a list."""
    shift = {"transform": "shift", "relation": "monotone"}
    assert verdict(ledger, [3, 1, 2], "sum(data)", **shift) is True
    assert verdict(ledger, [3, 1, 2], "sum(data)", transform="tuples") is True


@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 0.5])
@pytest.mark.parametrize("change", [1e-9, 1e-7, 1e-6, 1e-5, 0.4, 0.5, 0.6, 3.0])
@pytest.mark.parametrize("transform", ["shift", "scale"])
def test_a_constant_never_changes_as_the_data_does(
    transform: str, change: float, tolerance: float, ledger: Ledger
) -> None:
    """Code that ignores the data is refuted, or its test refused; it never passes.

    Code that follows the data passes, unless the change is within the tolerance.
    """
    how = {"by": change} if transform == "shift" else {"factor": 1 + change}
    prop: dict[str, Any] = {"transform": transform, "arguments": how}
    prop |= {"tolerance": tolerance, "relation": "equivariant"}
    demand = change if transform == "shift" else abs(7 * (1 + change) - 7)
    data = [7.0, 2.0]
    ignores = verdict(ledger, data, "7.0", **prop)
    follows = verdict(ledger, data, "data[0]", **prop)
    assert (ignores, follows) == ((None, None), (False, True))[demand > tolerance]


@pytest.mark.parametrize("code", ["data", "[7.0 for _ in data]", "[7.0, 7.0, 1.0]"])
def test_a_list_has_to_follow_the_rows(code: str, ledger: Ledger) -> None:
    """A metric for each row, one of which has to change, is tested as it was."""
    prop = {"transform": "permute_rows", "relation": "equivariant"}
    found = verdict(ledger, [3.0, 1.0, 2.0], code, **prop)
    assert found is (code != "[7.0, 7.0, 1.0]")


def test_a_run_from_before_replays_as_it_ran(ledger: Ledger) -> None:
    """Types were values once, and such tests passed: their records still hold."""
    noise = {"transform": "add_noise", "arguments": {"sd": 1e-300}}
    made = experiment([3, 1, 2], "sum(data)", **noise)
    before = replace(made, program=of_edition(made.program, 2))
    result = before.run(ledger=ledger)
    assert result.metrics.baseline.metrics["p_pass"] == [True]
    assert replay(ledger, result.run_id).verdict == "acceptable"
    assert replay(ledger, result.run_id, made.program).verdict == "acceptable"
    assert made.run(ledger=ledger, strategy="resume").run_id == result.run_id
