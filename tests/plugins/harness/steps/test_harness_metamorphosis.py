"""Metamorphic tests that fail when they should, and never pass emptily."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import pytest

from muniment_plugins.harness import (
    Case,
    HarnessRefused,
    bounded_synthesis,
    execute_capsule,
    metamorphic,
    run_metamorphic_tests,
)
from muniment_plugins.harness.metamorphic_tests.alterations import AddNoise
from muniment_plugins.harness.metamorphic_tests.relations import Relation
from muniment_plugins.harness.metamorphic_tests.transforms import Permute, Variant
from muniment_plugins.harness.property import Property

Begun = Callable[..., Case]


def outcome_of(
    begun: Begun, body: str, data: object, prop: Mapping[str, object]
) -> bool:
    """Return whether the property ``p`` passes for code with this body."""
    case = begun(data, properties=[{"name": "p", **prop}])
    code = f"def fit_and_eval(data):\n    return {body}\n"
    ran = execute_capsule()(bounded_synthesis(code=code)(case))
    passed = run_metamorphic_tests()(ran).metrics["p_pass"]
    assert isinstance(passed, bool)
    return passed


def test_the_middle_element_is_found_out(begun: Begun) -> None:
    """A value that survives the reversal does not survive all permutations."""
    prop = {"transform": "permute_rows", "metric": "m"}
    assert not outcome_of(begun, "{'m': data[1]}", [1, 2, 3], prop)


def test_tolerance_decides(begun: Begun) -> None:
    """A difference within the property's tolerance passes, beyond it fails."""
    body = "{'m': 1 + data[0] * 1e-3}"
    prop: dict[str, object] = {"transform": "permute_rows"}
    assert outcome_of(begun, body, [1, 2], {**prop, "tolerance": 0.01})
    assert not outcome_of(begun, body, [1, 2], {**prop, "tolerance": 0.0001})


def test_alignment_is_kept_where_it_is_asked_for(begun: Begun) -> None:
    """Aligned columns keep a sum of products; columns permuted alone do not."""
    body = "{'m': sum(x * y for x, y in zip(*data))}"
    data = ([1, 2, 3, 4], [10, 20, 30, 40])
    assert outcome_of(begun, body, data, {"transform": "permute_rows_aligned"})
    assert not outcome_of(begun, body, data, {"transform": "permute_rows"})


def test_identity_repeats(begun: Begun) -> None:
    """The identity is a test of repetition and needs no changed data."""
    assert outcome_of(begun, "{'m': 1}", [7], {"transform": "identity"})


@pytest.mark.parametrize(
    ("body", "data", "prop", "message"),
    [
        ("{'m': 1}", [1, 2], {"metric": "n"}, "the code returns no n, but m"),
        ("{'m': 'x'}", [1, 2], {"metric": "m"}, "m is of type str and not a number"),
        ("{'m': 'x'}", [1, 2], {}, "every number is missing"),
        ("{str(data[0]): 1}", [1, 2], {}, "1, 2 is missing from an execution"),
        ("{'m': 1}", [5, 5], {}, "left the data as it was"),
        ("{'m': 1}", [5], {}, "left the data as it was"),
        ("{'m': []}", [1, 2], {"metric": "m"}, "m is of type list and not a number"),
        ("{'m': 1}", [1, 2], {"relation": "monotone"}, "is invariant or equivariant"),
        ("{'m': 1}", [1, 2], {"relation": "equivariant"}, "a list of one value"),
        ("{'m': 1}", [1, 2], {"arguments": {"x": 1}}, "x means nothing here"),
        ("{'m': 1}", [0], {"transform": "scale"}, "left the data as it was"),
        ("{'m': 1}", "text", {}, "a value of type str has no rows"),
        ("{'m': 1}", [1, 2], {"transform": "spin"}, "Unknown metamorphic transform"),
        (
            "{'m': 1}",
            ([1, 2], [1, 2, 3]),
            {"transform": "permute_rows_aligned"},
            "2, 3 rows cannot stay aligned",
        ),
    ],
)
def test_nothing_passes_emptily(
    begun: Begun, body: str, data: object, prop: dict[str, object], message: str
) -> None:
    """A test that could not have failed is refused, with what it lacked."""
    with pytest.raises(HarnessRefused, match=message):
        outcome_of(begun, body, data, {"transform": "permute_rows", **prop})


@pytest.mark.parametrize(
    ("body", "prop", "passes"),
    [
        ("{'m': sum(data)}", {"transform": "scale", "metric": "m"}, True),
        ("{'m': sum(data) ** 2}", {"transform": "scale", "metric": "m"}, False),
        ("{'m': max(data)}", {"transform": "shift"}, True),
        ("{'m': sum(data)}", {"transform": "shift"}, False),
        ("{'m': sum(data)}", {"transform": "duplicate_rows"}, False),
        (
            "{'m': sum(data)}",
            {"transform": "duplicate_rows", "relation": "equivariant"},
            True,
        ),
        ("{'m': sum(data)}", {"transform": "drop_rows"}, True),
        ("{'m': -sum(data)}", {"transform": "drop_rows"}, False),
        (
            "{'m': -sum(data)}",
            {"transform": "drop_rows", "direction": "increasing"},
            True,
        ),
        ("{'m': sum(data)}", {"transform": "add_noise"}, True),
        ("{'m': int(max(data) > 3)}", {"transform": "add_noise"}, False),
        (
            "{'m': [x * 2 for x in data]}",
            {"transform": "permute_rows", "relation": "equivariant", "metric": "m"},
            True,
        ),
        (
            "{'m': sorted(data)}",
            {"transform": "permute_rows", "relation": "equivariant", "metric": "m"},
            False,
        ),
        ("{'m': sorted(data)}", {"transform": "permute_rows", "metric": "m"}, True),
        ("{'m': data}", {"transform": "permute_rows", "metric": "m"}, False),
        (
            "{'m': data[:len(data) // 2]}",
            {"transform": "drop_rows", "metric": "m"},
            False,
        ),
    ],
)
def test_every_relation_tells_right_from_wrong(
    begun: Begun, body: str, prop: dict[str, object], passes: bool
) -> None:
    """Each relation passes for code that has it, and fails for code that has not."""
    assert outcome_of(begun, body, [1, 2, 3], prop) is passes


def test_labels_and_columns_do_not_count(begun: Begun) -> None:
    """What counts groups ignores their names; what reads a column by place does not."""
    data = ([[1, 5], [2, 6], [3, 7]], ["a", "b", "a"])
    groups = "{'m': len(set(data[1]))}"
    assert outcome_of(begun, groups, data, {"transform": "relabel"})
    named = "{'m': data[1].count('a')}"
    assert not outcome_of(begun, named, data, {"transform": "relabel"})
    every = "{'m': sum(sum(row) for row in data[0])}"
    assert outcome_of(begun, every, data, {"transform": "column_permute"})
    first = "{'m': data[0][0][0]}"
    assert not outcome_of(begun, first, data, {"transform": "column_permute"})


@pytest.mark.parametrize(
    ("before", "after", "prop", "seen"),
    [
        (1.0, 1.0 + 1e-7, {}, (True, pytest.approx(1e-7))),
        (1e12, 1e12 + 0.001, {}, (False, pytest.approx(0.001, rel=0.1))),
        (1e12, 1e12 + 0.001, {"rtol": 1e-9}, (True, pytest.approx(0.001, rel=0.1))),
        (10**17, 10**17 + 1, {}, (False, 1.0)),
        (10**400, 10**400 + 1, {}, (False, 1.0)),
        (10**400, -1, {"rtol": 0.5}, (False, None)),
        (math.inf, math.inf, {}, (True, 0.0)),
        (math.inf, -math.inf, {"rtol": 1.0}, (False, None)),
        (math.inf, 1.0, {"tolerance": 1e300}, (False, None)),
        (math.nan, math.nan, {}, (False, None)),
        (math.nan, math.nan, {"equal_nan": True}, (True, 0.0)),
        (math.nan, 1.0, {"equal_nan": True}, (False, None)),
        (1.0, math.nan, {}, (False, None)),
        ([1.0, 2.0], [1.0, 2.5], {"metric": "m"}, (False, 0.5)),
        ([1.0, [2.0]], [1.0, [2.0]], {"metric": "m"}, (True, 0.0)),
        ([1.0], [1.0, 2.0], {"metric": "m"}, (False, None)),
        ([1.0], 1.0, {"metric": "m"}, (False, None)),
    ],
    ids=range(17),
)
def test_numbers_agree_or_do_not(
    before: object, after: object, prop: dict[str, object], seen: object
) -> None:
    """Tolerances, NaN, infinities, huge integers and lists each have one answer."""
    asked = Property.of({"name": "p", "transform": "permute_rows", **prop}, "here")
    relation = Relation.of(asked, Permute(), 1e-6, 0.0)
    answer = relation.look({"m": before}, {"m": after}, Variant(None))
    assert (answer.passed, answer.difference) == seen


@pytest.mark.parametrize(
    "prop", [{"metric": "m"}, {"metric": "m", "equal_nan": True}, {}]
)
def test_no_difference_hides_behind_a_metric_that_went(prop: dict[str, object]) -> None:
    """A metric that one execution lacks is refused, whatever else agrees."""
    asked = Property.of({"name": "p", "transform": "permute_rows", **prop}, "here")
    relation = Relation.of(asked, Permute(), 1e-6, 0.0)
    with pytest.raises(HarnessRefused, match=r"returns no m|m is missing"):
        relation.look({"m": 1, "n": 1}, {"n": 1}, Variant(None))


def test_a_monotone_relation_has_a_direction() -> None:
    """Noise moves metrics either way, so what it may do has to be said."""
    members = {"name": "p", "transform": "add_noise", "relation": "monotone"}
    with pytest.raises(HarnessRefused, match="grows or falls"):
        Relation.of(Property.of(members, "here"), AddNoise(), 1e-6, 0.0)


def test_parts_in_orders_of_their_own_have_no_one_order() -> None:
    """A metric cannot follow the rows where each table was permuted by itself."""
    members = {"name": "p", "transform": "permute_rows", "relation": "equivariant"}
    relation = Relation.of(Property.of(members, "here"), Permute(), 1e-6, 0.0)
    with pytest.raises(HarnessRefused, match="orders of their own"):
        relation.look({"m": 1}, {"m": 1}, Variant(None))


def test_own_transforms_get_a_copy(begun: Begun) -> None:
    """A custom transform may change its argument; the case's data stays."""

    def double(data: list[int]) -> list[int]:
        data.extend(data)
        return data

    case = begun([1, 2], properties=[{"name": "p", "transform": "double"}])
    code = "def fit_and_eval(data): return {'mean': sum(data) / len(data)}"
    ran = execute_capsule()(bounded_synthesis(code=code)(case))
    done = run_metamorphic_tests(transforms={"double": double})(ran)
    assert done.metrics["p_pass"] is True
    assert done.data == [1, 2]


@pytest.mark.parametrize("made", [[object()], (n for n in "ab"), [{1: open}]])
def test_what_has_no_exact_form_goes_nowhere(begun: Begun, made: object) -> None:
    """Values cross as JSON, .npy or Arrow alone; others are refused with the step."""
    case = begun([1, 2], properties=[{"name": "p", "transform": "own"}])
    code = "def fit_and_eval(data): return {'n': len(data)}"
    ran = execute_capsule()(bounded_synthesis(code=code)(case))
    with pytest.raises(HarnessRefused, match=r"property p: what own made cannot be"):
        run_metamorphic_tests(transforms={"own": lambda _: made})(ran)


def test_no_property_no_verdict() -> None:
    """The metamorphic verifier refuses where nothing was tested."""
    with pytest.raises(HarnessRefused, match="no property was tested"):
        metamorphic.judge({"total": [1]}, {"total": [1]})


def test_one_failed_replicate_refutes() -> None:
    """A property holds only if it passed in every replicate; called or not."""
    samples: dict[str, Sequence[object]] = {
        "a_pass": [True, False],
        "b_pass": [True, True],
        "total": [1, 2],
    }
    verdict = metamorphic().judge(samples, samples)
    assert verdict == {"metamorphic_ok": False, "a_pass": False, "b_pass": True}


def test_settings_that_test_nothing_are_refused() -> None:
    """No permutation and no finite tolerance would be no test."""
    with pytest.raises(HarnessRefused, match="test nothing"):
        run_metamorphic_tests(permutations=0)
    with pytest.raises(HarnessRefused, match="test nothing"):
        run_metamorphic_tests(tolerance=float("inf"))
    with pytest.raises(HarnessRefused, match="test nothing"):
        run_metamorphic_tests(rtol=float("nan"))


def test_the_step_gives_what_a_property_leaves_open(begun: Begun) -> None:
    """Tolerances of the step count for properties that name none."""
    case = begun([1, 2], properties=[{"name": "p", "transform": "permute_rows"}])
    code = "def fit_and_eval(data): return {'m': 1000 + data[0]}"
    ran = execute_capsule()(bounded_synthesis(code=code)(case))
    assert run_metamorphic_tests(rtol=0.01)(ran).metrics["p_pass"] is True
    assert run_metamorphic_tests(tolerance=2)(ran).metrics["p_pass"] is True
    assert run_metamorphic_tests()(ran).metrics["p_pass"] is False
