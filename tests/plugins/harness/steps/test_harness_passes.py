"""Twelve ways to pass a test that shows nothing, each of them closed; by number."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from muniment.ledger import Ledger
from muniment_plugins.harness import (
    BoundedExecutionError,
    Case,
    Experiment,
    HarnessRefused,
    Spec,
    bounded_synthesis,
    execute_capsule,
    pipeline_step,
    run_metamorphic_tests,
)
from muniment_plugins.harness.metamorphic_tests.relations import Observed, Relation
from muniment_plugins.harness.metamorphic_tests.transforms import Permute, Variant
from muniment_plugins.harness.property import Property

Begun = Callable[..., Case]
Make = Callable[..., Experiment]
Pair = namedtuple("Pair", ["x", "y"])  # noqa: PYI024 - the untyped kind that users have


def passes(
    begun: Begun,
    body: str,
    data: object = (1, 2, 3),
    head: str = "",
    imports: tuple[str, ...] = (),
    **prop: object,
) -> object:
    """Return whether the property ``p`` passes for a program that returns *body*."""
    members = {"name": "p", "transform": "permute_rows", **prop}
    limits = {"time_s": 10, "mem_mb": 1024}
    case = begun(data, properties=[members], allowed_imports=imports, resources=limits)
    code = f"{head}\ndef fit_and_eval(data):\n    return {body}\n"
    ran = execute_capsule()(bounded_synthesis(code=code)(case))
    return run_metamorphic_tests()(ran).metrics["p_pass"]


def seen(before: object, after: object, **prop: object) -> Observed:
    """Return how two metrics ``m`` stand to each other."""
    asked = Property.of({"name": "p", "transform": "permute_rows", **prop}, "here")
    relation = Relation.of(asked, Permute(), 1e-6, 0.0)
    return relation.look({"m": before}, {"m": after}, Variant(None))


def test_6_1_a_metric_that_is_not_there(begun: Begun) -> None:
    """A misspelt metric is refused with the names that there are."""
    with pytest.raises(HarnessRefused, match="the code returns no totl, but total"):
        passes(begun, "{'total': 1}", metric="totl")


def test_6_2_a_metric_that_becomes_nan(begun: Begun) -> None:
    """NaN leaves no capsule, and agrees with no number where it comes from elsewhere."""
    body = "{'m': float('nan') if data[0] == 3 else 1.0}"
    with pytest.raises(BoundedExecutionError, match="m is nan, which is not a number"):
        passes(begun, body)
    for prop in ({}, {"metric": "m"}, {"equal_nan": True}):
        assert seen(1.0, math.nan, **prop) == Observed(passed=False, difference=None)


def test_6_3_infinities(begun: Begun) -> None:
    """Equal infinities are equal, with and without a name; others never agree."""
    assert seen(math.inf, math.inf, metric="m").passed
    assert seen(math.inf, math.inf).passed
    assert not seen(math.inf, -math.inf).passed
    assert not seen(math.inf, 1e308, tolerance=1e308).passed
    with pytest.raises(BoundedExecutionError, match="m is inf, which is not a number"):
        passes(begun, "{'m': float('inf')}")


def test_6_4_a_metric_that_is_dropped(begun: Begun) -> None:
    """A transformed execution that returns less is refused."""
    with pytest.raises(HarnessRefused, match="m is missing from an execution"):
        passes(begun, "{'n': 1, 'm': 1} if data[0] == 1 else {'n': 1}")
    with pytest.raises(HarnessRefused, match="m is missing from an execution"):
        passes(begun, "{'m': 1} if data[0] == 1 else {}")


def test_6_5_outputs_without_a_number(begun: Begun) -> None:
    """Where nothing can be compared, nothing passes."""
    with pytest.raises(HarnessRefused, match="every number is missing"):
        passes(begun, "{'kind': 'a', 'rows': data}")


def test_6_6_data_of_every_shape(begun: Begun) -> None:
    """Mappings and tuples of scalars are permuted, sets refused: none stays as it was."""
    assert passes(begun, "{'m': data['x'][0]}", {"x": [1, 2], "y": [3, 4]}) is False
    assert passes(begun, "{'m': data[0]}", (1, 2, 3)) is False
    with pytest.raises(HarnessRefused, match="a value of type set has no rows"):
        passes(begun, "{'m': 1}", {1, 2})
    with pytest.raises(HarnessRefused, match="a value of type int has no rows"):
        passes(begun, "{'m': 1}", {"x": 1})


def test_6_7_what_survives_a_reversal(begun: Begun) -> None:
    """The middle of three rows is found out by other orders than the reversal."""
    assert passes(begun, "{'m': data[1]}") is False


def test_6_8_parts_that_cannot_be_aligned(begun: Begun) -> None:
    """Texts, unequal lengths and named tuples are refused and never mangled."""
    aligned: Any = {"transform": "permute_rows_aligned"}
    with pytest.raises(
        HarnessRefused, match="a value of type str stands beside tables"
    ):
        passes(begun, "{'m': 1}", ([1, 2], "ab"), **aligned)
    with pytest.raises(HarnessRefused, match="2, 3 rows cannot stay aligned"):
        passes(begun, "{'m': 1}", ([1, 2], [1, 2, 3]), **aligned)
    with pytest.raises(Exception, match="Pair, a kind of tuple, has no exact form"):
        passes(begun, "{'m': 1}", Pair([1, 2], [3, 4]), **aligned)


def test_6_9_code_that_says_it_passed(begun: Begun) -> None:
    """A metric that ends in ``_pass`` is the harness's alone."""
    with pytest.raises(HarnessRefused, match="fake_pass, which only a test may say"):
        passes(begun, "{'m': 1, 'fake_pass': True}")


def test_6_9_a_step_that_says_it_passed() -> None:
    """Steps of one's own do not pass tests either."""
    step = pipeline_step(lambda data: (data, {"fake_pass": True}))()
    with pytest.raises(HarnessRefused, match="fake_pass, which only a test may say"):
        step(Case([1]))


def test_6_10_properties_that_are_none(ledger: Ledger, experiment: Make) -> None:
    """No name, no transform, no mapping, no property at all: each is said."""
    for one in ({"transform": "identity"}, {"name": "p"}, "p", {}):
        with pytest.raises(HarnessRefused, match=r"is not (text|a mapping)"):
            Spec(properties=[one])  # type: ignore[list-item]
    with pytest.raises(HarnessRefused, match="no property will be tested"):
        experiment(properties=[])
    result = experiment(model=True, properties=[]).run(ledger=ledger)
    assert "no property was tested" in result.errors[0].message
    assert (result.metrics.hypotheses, result.exit_code) == ((), 1)


def test_6_11_numbers_of_numpy_and_lists(begun: Begun) -> None:
    """NumPy's numbers and lists are compared within the tolerance, place by place."""
    data = np.array([1.0, 2.0, 4.0])
    numpy: Any = {"head": "import numpy", "imports": ("numpy",), "metric": "m"}
    assert passes(begun, "{'m': numpy.int64(data[0] > 0)}", data, **numpy) is True
    near = "{'m': numpy.float32(1 + data[0] * 1e-9)}"
    assert passes(begun, near, data, **numpy) is True
    assert passes(begun, "{'m': numpy.sort(data)}", data, **numpy) is True
    assert passes(begun, "{'m': data}", data, **numpy) is False
    listed = "{'m': [x * 1e-9 for x in data]}"
    assert passes(begun, listed, metric="m") is True
    assert passes(begun, listed, metric="m", tolerance=1e-12) is False


def test_6_12_large_numbers(begun: Begun) -> None:
    """A relative tolerance is there for numbers that an absolute one does not suit."""
    body = "{'m': 1e12 + data[0] * 0.001}"
    assert passes(begun, body) is False
    assert passes(begun, body, rtol=1e-9) is True
