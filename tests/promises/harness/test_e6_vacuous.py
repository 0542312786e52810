"""A property that could not have failed passes nowhere: it is refused, or vacuous."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from editions import first_edition
from in_process import InProcess, harness_ledger
from muniment.ledger import Ledger
from muniment_plugins.harness import (
    Claim,
    Experiment,
    HarnessRefused,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.metamorphic_tests.built_in_transforms import (
    BUILT_IN,
    built_in,
)
from muniment_plugins.harness.metamorphic_tests.relations import Relation
from muniment_plugins.harness.metamorphic_tests.step import TestProperties
from muniment_plugins.harness.metamorphic_tests.vacuity import (
    could_fail,
    largest_change,
)
from muniment_plugins.harness.metamorphic_tests.variants import different
from muniment_plugins.harness.property import Property

DATA = [4.0, 1.0, 3.0, 2.0, 9.0]
PAIRS = [[4.0, 1.0], [3.0, 2.0], [9.0, 5.0], [7.0, 6.0]]
LABELS = ["a", "b", "c", "a"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Open a ledger whose capsule is in process."""
    with harness_ledger(tmp_path / "ledger.db", InProcess()) as opened:
        yield opened


def experiment(code: str, **prop: Any) -> Experiment:
    """Return an experiment with one property of the metric ``m``."""
    asked = {"name": "p", "transform": "permute_rows", "metric": "m", **prop}
    return (
        Experiment.builder("e6")
        .datasource(lambda _: DATA)
        .add_step(specify_claim(claim=Claim("c", "A claim")))
        .add_step(generate_spec(spec=Spec(properties=[asked])))
        .add_step(
            bounded_synthesis(code=f"def fit_and_eval(data): return {{'m': {code}}}")
        )
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2))
        .hypothesis("h", verifier=metamorphic)
        .build()
    )


@pytest.mark.parametrize("rtol", [1, 1.0, 1.5, 2, 1e9])
def test_a_relative_tolerance_of_all_is_refused_early(rtol: float) -> None:
    """It is refused where it is written, before anything runs or is asked."""
    with pytest.raises(HarnessRefused, match="any two numbers of one sign agree"):
        run_metamorphic_tests(rtol=rtol)
    with pytest.raises(HarnessRefused, match="any two numbers of one sign agree"):
        experiment("sum(data)", rtol=rtol)
    run_metamorphic_tests(rtol=0.99)


@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 0.5, 18.9, 19.0, 19.1, 40.0, 1e9])
@pytest.mark.parametrize("code", ["sum(data)", "-sum(data)", "sum(data) - 19"])
def test_a_tolerance_above_the_metric_passes_nothing(
    ledger: Ledger, tolerance: float, code: str
) -> None:
    """Where no outcome would have failed, the replicate says so and no property passes."""
    result = experiment(code, tolerance=tolerance).run(ledger=ledger)
    # The metric is 19 large, or is 0 where data moves by 8 at most.
    most = 8.0 if code.endswith("- 19") else 19.0
    if tolerance < most and tolerance < 5:
        assert result.metrics.baseline.metrics["p_pass"] == [True]
    if tolerance >= most:
        assert [one.rule for one in result.errors] == ["harness/vacuous"]
        assert "could not have failed" in result.errors[0].message
        assert not result.metrics.hypotheses
        assert not list(ledger.events(run=result.run_id, type="property.tested"))


def test_a_property_that_fails_is_refuted_and_not_vacuous(ledger: Ledger) -> None:
    """What did fail could."""
    result = experiment("data[0]", tolerance=1e-6).run(ledger=ledger)
    assert result.metrics.baseline.metrics["p_pass"] == [False]


def test_metrics_of_small_numbers_need_their_own_tolerance(ledger: Ledger) -> None:
    """The usual tolerance says nothing of metrics that are smaller than it."""
    result = experiment("data[0] * 1e-9").run(ledger=ledger)
    assert [one.rule for one in result.errors] == ["harness/vacuous"]
    told = experiment("data[0] * 1e-9", tolerance=1e-12).run(ledger=ledger)
    assert told.metrics.baseline.metrics["p_pass"] == [False]


def test_rounding_around_zero_is_no_size(ledger: Ledger) -> None:
    """A metric that is 0 but for rounding keeps the usual tolerance."""
    code = "sum(x - sum(data) / len(data) for x in data)"
    result = experiment(code).run(ledger=ledger)
    assert result.metrics.baseline.metrics["p_pass"] == [True]


AMOUNTS = st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.99, 5.0, 20.0, 1e3, 1e9])
METRICS = st.sampled_from(
    ["positive", "negative", "signed", "zero", "small", "whole", "listed"]
)


def metric(kind: str, values: list[float]) -> object:
    """Return a metric of *kind* that ignores the order of *values*."""
    total = sum(sorted(values))
    return {
        "positive": abs(total),
        "negative": -abs(total),
        "signed": total - 10.0,
        "zero": 0.0,
        "small": total * 1e-8,
        "whole": len(values),
        "listed": [total, -total],
    }[kind]


def flat(data: Any) -> list[float]:
    """Return every number of *data*."""
    if isinstance(data, list):
        return [y for x in data for y in flat(x)]
    return [data] if isinstance(data, float) else [1.0]


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(sorted(BUILT_IN)),
    METRICS,
    AMOUNTS,
    st.sampled_from([0.0, 0.1, 0.99]),
)
def test_what_passes_could_have_failed(
    name: str, kind: str, tolerance: float, rtol: float
) -> None:
    """Tolerance, sign of the metric, transform: a pass that could fail does somewhere.

    Of each test that is not vacuous there is an outcome that it tells from this one;
    of each that is, 0 and every number up to the metric would have passed, too.
    """
    data: Any = {"column_permute": PAIRS, "relabel": LABELS}.get(name, DATA)
    transform = built_in(name, {}, "here")
    made = different(transform, data, iter(range(100)).__next__, 1)
    variant = made[0]
    prop = Property("p", name, "m", tolerance, rtol, relation="invariant")
    if "invariant" not in transform.relations:
        prop = replace(prop, relation="monotone", direction="increasing")
    relation = Relation.of(prop, transform, 0.0, 0.0)
    value = metric(kind, flat(data))

    def look(after: object) -> Any:
        def change() -> float:
            return largest_change(data, variant.data)

        return relation.look({"m": value}, {"m": after}, variant, change)

    seen = look(value)
    numbers = value if isinstance(value, list) else [value]
    size = max(map(abs, numbers))
    least = max(size, largest_change(data, variant.data), 1)
    far = [[one - times * least for one in numbers] for times in (10, 1e4)]
    zeros = [0.0 for _ in numbers]

    def as_was(some: Any) -> Any:
        return some if isinstance(value, list) else some[0]

    assert seen.passed
    if seen.could_fail:
        assert not all(look(as_was(one)).passed for one in far)
    else:
        assert look(as_was(zeros)).passed


@settings(deadline=None)
@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(0, 1e12))
def test_no_tolerance_is_never_vacuous(size: float, change: float, more: float) -> None:
    """An exact test can always fail; one that allows more can never do so sooner."""
    assert could_fail(0.0, size, lambda: change)
    if could_fail(size + more, size, lambda: change):
        assert size <= 1e-9 * change or not size


def test_plans_of_the_first_edition_stay_as_they_were(tmp_path: Path) -> None:
    """What a first edition recorded with a loose tolerance is made again, and passes."""
    loose = TestProperties({}, 1e9, 2, 1.0, strict=False)
    described = loose.describe()
    assert "strict" not in described
    assert TestProperties.from_json(described) == loose
    assert TestProperties.from_json(TestProperties().describe()).strict
    assert first_edition("experiment", tmp_path).path.exists()
