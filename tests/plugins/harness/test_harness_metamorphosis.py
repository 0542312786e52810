"""Metamorphic tests that fail when they should, and never pass emptily."""

from __future__ import annotations

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
    body = "{'m': data[0] * 1e-3}"
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
        ("{'m': 'x'}", [1, 2], {"metric": "m"}, "m is a str and not a number"),
        ("{'m': 'x'}", [1, 2], {}, "every number is missing"),
        ("{str(data[0]): 1}", [1, 2], {}, "1, 2 is missing from an execution"),
        ("{'m': 1}", [5, 5], {}, "left the data as it was"),
        ("{'m': 1}", [5], {}, "left the data as it was"),
        ("{'m': 1}", "text", {}, "a str has no rows"),
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
