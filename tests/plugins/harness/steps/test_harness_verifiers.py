"""Verifiers judge what was measured, refuse what they cannot, and say by what."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment_plugins.harness import (
    Claim,
    HarnessRefused,
    meets_claim,
    metamorphic,
    verifier,
)
from muniment_plugins.harness.statistics.first_statistics import bootstrap_interval
from muniment_plugins.harness.statistics.permutation_test import paired_p_value
from muniment_plugins.harness.statistics.samples import Samples, Trial, paired
from muniment_plugins.harness.statistics.verifiers import Hypothesis, Verifier

BEFORE = Samples({n: {"rmse": one} for n, one in enumerate([1.0, 1.2, 0.8, 1.0] * 2)})
AFTER = Samples({n: {"rmse": one} for n, one in enumerate([0.8, 0.9, 0.7, 0.8] * 2)})


@verifier
def small(
    _: object, condition: Mapping[str, list[int]], *, limit: int = 3
) -> dict[str, object]:
    """Judge by a limit."""
    return {"passed": max(condition["n"]) < limit}


def verdict(
    acceptance: Mapping[str, object],
    after: Mapping[str, Any] = AFTER,
    before: Mapping[str, Any] = BEFORE,
    **settings: object,
) -> dict[str, Any]:
    """Return what the claim's own verifier says."""
    judge = Hypothesis("h", meets_claim(**settings))
    trial = Trial("after", as_samples(after), Claim("c", "A claim", acceptance))
    if after is before:
        return judge.verdict(trial, trial, 7)
    return judge.verdict(Trial("baseline", as_samples(before)), trial, 7)


def as_samples(metrics: Mapping[str, Any]) -> Samples:
    """Return *metrics* by replicate."""
    if isinstance(metrics, Samples):
        return metrics
    rows: dict[int, dict[str, object]] = {}
    for name, values in metrics.items():
        for number, value in enumerate(values):
            rows.setdefault(number, {})[name] = value
    return Samples(rows)


CLAIM = Claim("c", "A claim", {"must_pass": True})
NOTHING = Trial("baseline", Samples({}))


def test_an_improvement_is_measured_and_tested() -> None:
    """The percentage, its interval, the p-value and what they stand on are told."""
    fact = verdict({"metric": "rmse", "min_improvement_pct": 10.0})
    result = fact["result"]
    assert result["pct_improvement"] == pytest.approx(20.0)
    assert (fact["passed"], result["meets_claim"]) == (True, True)
    assert fact["p_value"] == result["p_value"] == 1 / 256
    low, high = result["interval_95"]
    assert 10 < low < 20 < high < 30
    assert (result["pairs"], result["seed"], result["direction"]) == (8, 7, "decrease")
    assert verdict({"metric": "rmse", "min_improvement_pct": 30})["passed"] is False
    assert verdict({"metric": "rmse", "min_improvement_pct": 19})["passed"] is None
    worse = verdict({"min_improvement_pct": 15}, BEFORE, AFTER)
    assert (worse["passed"], worse["p_value"]) == (False, 1.0)
    assert worse["result"]["pct_improvement"] == pytest.approx(-25.0)


@pytest.mark.parametrize(
    ("acceptance", "passed"),
    [
        ({"max_value": 0.9}, True),
        ({"max_value": 0.89}, False),
        ({"min_value": 0.7}, True),
        ({"min_value": 0.71}, False),
        ({"equals": 0.8}, False),
        ({"metric": "rmse", "max_value": 1, "min_value": 0.8}, False),
        ({"min_improvement_pct": 10}, True),
        ({"min_improvement_pct": 30.1}, False),
        ({"min_improvement_pct": 20}, None),
        ({"min_improvement_pct": -100}, True),
        ({"max_change_pct": 30}, True),
        ({"max_change_pct": 10}, False),
        ({"max_change_pct": 20}, None),
        ({"max_value": 0.89, "min_improvement_pct": 20}, False),
    ],
)
def test_every_criterion_is_read(
    acceptance: dict[str, object], passed: bool | None
) -> None:
    """Each documented key decides, over all replicates, and all keys have to hold."""
    assert verdict(acceptance)["passed"] is passed


@pytest.mark.parametrize(
    ("acceptance", "metrics", "passed"),
    [
        ({"equals": 15}, {"total": [15, 15]}, True),
        ({"equals": True, "metric": "sorted"}, {"sorted": [True, True]}, True),
        ({"equals": True, "metric": "sorted"}, {"sorted": [1, 1]}, False),
        ({"equals": "a", "metric": "kind"}, {"kind": ["a", "b"]}, False),
        ({"max_value": 1}, {"total": [math.nan]}, False),
        ({"min_value": 1}, {"total": [math.nan]}, False),
        ({"must_pass": True}, {"a_pass": [True], "b_pass": [True]}, True),
        ({"must_pass": True}, {"a_pass": [True], "b_pass": [False]}, False),
        ({"must_pass": ["a"]}, {"a_pass": [True], "b_pass": [False]}, True),
        ({"must_pass": ["b_pass"]}, {"a_pass": [True], "b_pass": [False]}, False),
        ({"must_pass": ["a"]}, {"a_pass": [True, False]}, False),
    ],
)
def test_criteria_without_a_baseline(
    acceptance: dict[str, object], metrics: dict[str, Any], passed: bool
) -> None:
    """What asks for no improvement is judged of one condition by itself."""
    assert verdict(acceptance, metrics, metrics)["passed"] is passed


@pytest.mark.parametrize(
    ("acceptance", "after", "settings", "message"),
    [
        ({}, AFTER, {}, "the claim accepts nothing"),
        ({"metric": "rmse"}, AFTER, {}, "the claim accepts nothing"),
        ({"max_valeu": 1}, AFTER, {}, "max_valeu means nothing in an acceptance"),
        ({"max_value": 1, "metric": "mse"}, AFTER, {}, "no mse was measured, but rmse"),
        ({"max_value": 1, "metric": "n"}, {}, {}, "no n was measured, nor anything"),
        ({"max_value": 1}, {"a": [1], "b": [2]}, {}, "which metric is meant: a, b"),
        ({"max_value": 1}, {"a_pass": [True]}, {}, "which metric is meant: none"),
        ({"max_value": "1"}, AFTER, {}, "max_value is of type str and not a number"),
        ({"max_value": True}, AFTER, {}, "max_value is of type bool and not a number"),
        ({"max_value": 1, "metric": "k"}, {"k": ["a"]}, {}, "k is of type str and not"),
        ({"min_improvement_pct": 5}, BEFORE, {}, "cannot improve over itself"),
        ({"min_improvement_pct": 5}, {"mse": [1]}, {}, "no percentage can be told"),
        ({"min_improvement_pct": 5}, AFTER, {"alpha": 1}, "alpha 1 is not a level"),
        ({"max_change_pct": 0}, AFTER, {}, "no change is as small as that"),
        ({"must_pass": True}, AFTER, {}, "no property: not tested"),
        ({"must_pass": ["a"]}, {"b_pass": [True]}, {}, "a_pass: not tested"),
        ({"must_pass": False}, {"b_pass": [True]}, {}, "names no property"),
        ({"metric": "rmse"}, AFTER, {"metric": "mse"}, "the claim says metric 'rmse'"),
        ({"max_value": 1}, AFTER, {"direction": "up"}, "'up' is not a direction"),
    ],
)
def test_nothing_is_accepted_unread(
    acceptance: dict[str, object], after: Any, settings: Any, message: str
) -> None:
    """What nobody documented, measured or stated is refused, and never accepted."""
    with pytest.raises(HarnessRefused, match=message):
        verdict(acceptance, after, **settings)


def test_a_percentage_of_nothing_is_refused() -> None:
    """A baseline of 0 has no percentages."""
    nothing = Samples({0: {"rmse": 0.0}})
    with pytest.raises(HarnessRefused, match="no percentage can be told of rmse"):
        verdict({"min_improvement_pct": 5}, Samples({0: {"rmse": 1.0}}), nothing)


def test_settings_say_what_the_claim_leaves_open() -> None:
    """Metric, threshold and direction may stand in the verifier instead."""
    scores = [1.2, 1.3, 1.15, 1.2, 1.18]
    after = Samples({n: {"score": one} for n, one in enumerate(scores)})
    before = Samples({n: {"score": 1.0} for n in range(5)})
    settings = {"metric": "score", "min_improvement_pct": 10, "direction": "increase"}
    fact = verdict({}, after, before, **settings)
    assert fact["passed"] is True
    assert fact["settings"] == settings
    settings["direction"] = "decrease"
    assert verdict({}, after, before, **settings)["passed"] is False


def test_a_level_may_be_asked_for() -> None:
    """Alpha says which p-value shows a claim; without one, the mean decides."""
    assert verdict({"min_improvement_pct": 15}, alpha=0.1)["passed"] is True
    assert verdict({"min_improvement_pct": 15}, alpha=0.001)["passed"] is None
    one = [Samples({0: {"rmse": value}}) for value in (0.5, 1.0)]
    fact = verdict({"min_improvement_pct": 15}, *one, alpha=0.05)
    assert (fact["passed"], fact["p_value"]) == (None, None)
    assert fact["result"]["undecided"] == "one pair tells nothing of chance"
    fact = verdict({"min_improvement_pct": 50}, *one, alpha=None)
    assert (fact["passed"], fact["p_value"]) == (True, None)
    assert verdict({"min_improvement_pct": 50.1}, *one, alpha=None)["passed"] is False


def test_replicates_are_paired_by_number() -> None:
    """A replicate that one side lacks leaves no shifted pair behind."""
    before = Samples({0: {"m": 1}, 1: {"m": 2}, 3: {"m": 4}})
    after = Samples({1: {"m": 20}, 2: {"m": 30}, 3: {"m": 40, "n": 1}})
    assert paired(before, after, "m") == [(2, 20), (4, 40)]
    assert paired(before, after, "n") == []
    assert before == {"m": [1, 2, 4]}
    assert paired({"m": [1]}, {"m": [2]}, "m") == [(1, 2)]
    assert paired(before, {"m": [5, 6, 7]}, "m") == [(1, 5), (2, 6), (4, 7)]
    with pytest.raises(HarnessRefused, match="1 and 2 values of m"):
        paired({"m": [1]}, {"m": [1, 2]}, "m")


@settings(deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=40), st.integers(0, 2**32))
def test_a_p_value_is_a_probability_and_never_0(values: list[float], seed: int) -> None:
    """Every p-value lies in (0, 1], follows from the seed, and knows its direction."""
    p_value = paired_p_value(values, seed)
    assert 0 < p_value <= 1
    assert p_value == paired_p_value(values, seed)
    assert p_value + paired_p_value([-one for one in values], seed) >= 1 - 0.05


def test_p_values_of_small_samples_are_exact() -> None:
    """All ways to flip signs are counted where they are few; drawn ones come close."""
    assert paired_p_value([1.0, 2.0, 3.0], 0) == 1 / 8
    assert paired_p_value([-1.0, 2.0, 3.0], 0) == 2 / 8
    assert paired_p_value([0.0], 0) == 1
    assert paired_p_value([1.0] * 20, 0) == 1 / 10_000
    assert paired_p_value([1.0] * 13, 0) == 1 / 2**13
    mixed = [0.5, -0.4, 0.3, 0.6, -0.2, 0.1, 0.7, -0.1, 0.2, 0.3, 0.4, -0.3, 0.1]
    drawn = paired_p_value([*mixed, 0.0], 1)
    assert drawn == pytest.approx(paired_p_value(mixed, 0), abs=0.02)


def test_an_interval_covers_and_narrows() -> None:
    """More pairs give a narrower interval around the statistic; equal pairs a point."""

    def mean(pairs: Any) -> float:
        return float(sum(b - a for a, b in pairs) / len(pairs))

    few = bootstrap_interval([(0.0, float(n % 5)) for n in range(5)], mean, 1)
    many = bootstrap_interval([(0.0, float(n % 5)) for n in range(100)], mean, 1)
    assert few is not None
    assert many is not None
    assert few[0] < many[0] < 2 < many[1] < few[1]
    assert bootstrap_interval([(0.0, 2.0)] * 3, mean, 1) == (2, 2)
    assert bootstrap_interval([(0.0, 2.0)], lambda _: None, 1) is None
    uniform = [(0.0, float(n)) for n in range(1000)]
    assert bootstrap_interval(uniform, lambda pairs: pairs[0][1], 1) == (28, 971)


def test_own_verifiers_are_used_with_and_without_settings() -> None:
    """A decorated function is a verifier; calling it sets, and refuses what is none."""
    assert small.judge({}, {"n": [1, 2]}) == {"passed": True}
    assert small().judge({}, {"n": [1, 3]}) == {"passed": False}
    assert small(limit=9).judge({}, {"n": [1, 3]}) == {"passed": True}
    with pytest.raises(HarnessRefused, match="limt cannot be set"):
        small(limt=9)
    with pytest.raises(HarnessRefused, match="max_pct cannot be set"):
        meets_claim(max_pct=1)
    free = verifier(lambda _a, _b, **settings: settings)
    assert free(x=1).judge({}, {}) == {"x": 1}


def test_a_verifier_may_ask_for_claim_and_seed() -> None:
    """What a function names among its parameters it is given, or refused."""
    asking = verifier(lambda _a, _b, *, claim, seed: {"who": claim.id, "seed": seed})
    claim = Claim("c", "A claim")
    assert asking.judge({}, {}, claim=claim, seed=3) == {"who": "c", "seed": 3}
    with pytest.raises(HarnessRefused, match="no claim was stated"):
        asking.judge({}, {})
    with pytest.raises(HarnessRefused, match="seed cannot be set"):
        asking(seed=4)


def test_a_verifier_is_made_again_from_its_description() -> None:
    """Import path, settings and what it compares with are all that a plan keeps."""
    for one in (metamorphic, meets_claim(direction="increase"), meets_claim):
        made = Hypothesis.from_json(Hypothesis("h", one).describe()).verifier
        assert made.describe() == one.describe()
        assert made.judge({"a_pass": [True]}, {"a_pass": [True]}, claim=CLAIM)
    module = sys.modules[__name__]
    described = {**small.describe(), "import": f"{module.__name__}:small"}
    assert Verifier.from_json(described).judge({}, {"n": [1]}) == {"passed": True}
    assert small.compares
    assert not metamorphic.compares
    assert not verifier(compares=False)(small.function).compares


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, "it returned a value of type NoneType"),
        (True, "it returned a value of type bool"),
        ({"passed": "yes"}, "'yes' is neither True nor False"),
        ({"fast_ok": None}, "None is neither True nor False"),
        ({"passed": True, "p_value": 1.5}, "1.5 is not a p-value"),
        ({"passed": True, "p_value": math.nan}, "nan is not a p-value"),
        ({"passed": True, "proof": object()}, "object has no exact form"),
    ],
)
def test_what_says_no_verdict_is_refused(said: Any, message: str) -> None:
    """A verifier has to say yes or no, with a p-value that is one, in plain values."""
    judge = Hypothesis("h", verifier(lambda _a, _b: said))
    with pytest.raises(HarnessRefused, match=message):
        judge.verdict(NOTHING, NOTHING, 0)


def test_a_hypothesis_has_a_name_and_a_judge() -> None:
    """A plain function judges as well; a missing name, and no judge, are refused."""
    assert Hypothesis("h", lambda _a, _b: {"passed": True}).verifier.compares  # type: ignore[arg-type]
    with pytest.raises(HarnessRefused, match="'' is not text"):
        Hypothesis("", metamorphic)
    with pytest.raises(HarnessRefused, match="'metamorphic' cannot be called"):
        Hypothesis("h", "metamorphic")  # type: ignore[arg-type]


@pytest.mark.parametrize("p_value", [0, 0.5, 1])
def test_a_verifier_may_say_a_p_value(p_value: float) -> None:
    """Every number from 0 to 1 is one, whoever computed it."""
    judge = Hypothesis("h", verifier(lambda _a, _b: {"p_value": p_value}))
    assert judge.verdict(NOTHING, NOTHING, 0)["p_value"] == p_value


def test_a_verdict_says_by_whom_and_on_what() -> None:
    """Verifier, source digest, settings, inputs and p-value stand beside the result."""
    where = ["baseline/replicate/0", "half/replicate/0", "half/replicate/2"]
    judge = Hypothesis("h", small(limit=2))
    before = Trial("baseline", as_samples({"n": [2]}))
    fact = judge.verdict(before, Trial("half", Samples({0: {"n": 1}, 2: {"n": 1}})), 0)
    assert fact["verifier"].endswith(":small")  # type: ignore[attr-defined]
    assert str(fact["source"]).startswith("sha256:")
    assert (fact["settings"], fact["inputs"]) == ({"limit": 2}, where)
    assert (fact["passed"], fact["p_value"]) == (True, None)
    numpy = Hypothesis("h", verifier(lambda _a, _b: {"passed": np.bool_(False)}))
    assert numpy.verdict(NOTHING, NOTHING, 0)["passed"] is False
    silent = Hypothesis("h", verifier(lambda _a, _b: {"mean": 1.5}))
    assert silent.verdict(NOTHING, NOTHING, 0)["passed"] is None
