"""Replicates whose data is the same, in whatever order and form, are one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from in_process import harness_ledger
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Experiment,
    Result,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    specify_claim,
)
from muniment_plugins.harness.experiment.editions import of_edition
from muniment_plugins.harness.preregistration.data_likeness import (
    alike,
    identity_of,
    rows_in,
)

NUMBERS = [0.1, 0.7, 1e9, 2.3, -4.9, 0.2]
ORDERS = list(permutations(NUMBERS))
Source = Callable[[Any], object]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Open a ledger whose capsule is in process."""
    with harness_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def experiment(source: Source, code: str = "sum(data)", name: str = "c") -> Experiment:
    """Return an experiment whose treatment halves what *code* gives."""
    body = "def fit_and_eval(data): return {'m': "
    accepted = {"metric": "m", "min_improvement_pct": 10}
    stated: Any = {"id": name, "text": "t", "acceptance": accepted}
    return (
        Experiment.builder(name)
        .datasource(source)
        .add_step(specify_claim(claim=stated))
        .add_step(generate_spec(spec={}))
        .add_step(bounded_synthesis(code=f"{body}{code}}}"))
        .add_step(execute_capsule())
        .treatment("half", {"code": f"{body}({code}) / 2}}"})
        .hypothesis("h", verifier=meets_claim)
        .build()
    )


def told(result: Result) -> tuple[object, object, object]:
    """Return the pairs, the copies and the p-value of the verdict."""
    said: Any = result.hypothesis("h").results["half"]
    return said["pairs"], said.get("copies", 0), said["p_value"]


def ordered(ctx: Any) -> list[float]:
    """Return the same rows, in an order for each replicate."""
    return list(ORDERS[ctx["replicate"] * 83 % len(ORDERS)])


def formed(ctx: Any) -> object:
    """Return the same numbers, in a form for each replicate."""
    rows = [[1, 2], [3, 4]]
    forms: list[object] = [
        rows,
        [[1.0, 2.0], [3.0, 4.0]],
        rows[::-1],
        ([1, 2], [3, 4]),
        {"x": [1, 3], "y": [2, 4]},
        {"x": [3.0, 1.0], "y": [4.0, 2.0]},
        [(3, 4.0), (1.0, 2)],
    ]
    return forms[ctx["replicate"] % len(forms)]


@pytest.mark.parametrize(
    ("source", "code"),
    [(ordered, "sum(data)"), (ordered, "max(data)"), (formed, "7"), (formed, "7.0")],
)
def test_rows_in_another_order_or_form_are_copies(
    source: Source, code: str, ledger: Ledger
) -> None:
    """They are one pair, without a p-value, even if sums of them are rounded otherwise."""
    count = 8 if source is ordered else 6
    made = experiment(source, code)
    result = made.run(replicates=count, ledger=ledger)
    pairs, copies, p_value = told(result)
    tables = 1 if source is ordered else 2  # a tuple has two tables, not two rows
    assert (pairs, copies) == (tables, count - tables)
    assert p_value is None or tables > 1
    assert result.hypothesis("h").passed is None
    assert replay(ledger, result.run_id, made.program).verdict == "acceptable"


def test_rows_whose_order_matters_are_replicates(ledger: Ledger) -> None:
    """Where the order is what is measured, each order gives values of its own."""
    weighed = "sum(n * one for n, one in enumerate(data))"
    result = experiment(ordered, weighed).run(replicates=8, ledger=ledger)
    pairs, copies, p_value = told(result)
    assert (pairs, copies) == (8, 0)
    assert p_value is not None


def test_data_of_their_own_makes_replicates(ledger: Ledger) -> None:
    """One row that differs makes other data, whatever comes out."""
    source: Source = lambda ctx: [1.0, 2.0, float(ctx["replicate"])]  # noqa: E731
    result = experiment(source, "7.0").run(replicates=8, ledger=ledger)
    assert told(result)[:2] == (8, 0)


def test_the_same_numbers_of_another_type_were_seen_before(ledger: Ledger) -> None:
    """A run that looks at integers as floats, with other code, looks at the same data."""
    forms: list[object] = [[1, 2, 30], [1.0, 30, 2.0]]
    source: Source = lambda _: forms[0]  # noqa: E731
    assert experiment(source, name="a").run(ledger=ledger).integrity.status == "valid"
    forms.pop(0)
    other = experiment(source, "max(data)", name="b").run(ledger=ledger)
    assert other.integrity.status == "reused_data"


def test_a_run_from_before_replays_as_it_was_judged(ledger: Ledger) -> None:
    """Orders made replicates once: what such a run found still follows from its record."""
    made = experiment(ordered)
    before = replace(made, program=of_edition(made.program, 2))
    result = before.run(replicates=8, ledger=ledger)
    assert told(result) == (8, 0, 1 / 256)
    assert replay(ledger, result.run_id).verdict == "acceptable"
    assert replay(ledger, result.run_id, made.program).verdict == "acceptable"


CELLS = (
    st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.text(max_size=2)
    | st.none()
)
ROWS = st.lists(CELLS | st.lists(CELLS, max_size=2), min_size=1, max_size=6)


@settings(deadline=None)
@given(ROWS, ROWS, st.randoms(use_true_random=False))
def test_both_places_mean_the_same_by_the_same_data(
    one: list[object], other: list[object], dice: random.Random
) -> None:
    """What makes replicates copies, and a second look a second look, is one relation."""
    mixed = one.copy()
    dice.shuffle(mixed)
    assert identity_of(mixed) == identity_of(one)
    assert alike(mixed, one)
    equal = identity_of(one) == identity_of(other)
    assert equal is (rows_in(one) == rows_in(other))
    assert identity_of([*one, "more"]) != identity_of(one)


WHOLE = st.lists(st.integers(-(2**51), 2**51), min_size=1, max_size=6)


@settings(deadline=None)
@given(WHOLE)
def test_the_type_of_a_number_makes_no_other_data(numbers: list[int]) -> None:
    """Lists, arrays and tables of the same numbers are the same rows."""
    known = identity_of(numbers)
    floats = [float(one) for one in numbers]
    for same in (floats, np.array(numbers), np.array(floats)):
        assert identity_of(same) == known
    assert identity_of([*numbers[1:], numbers[0] + 0.5]) != known
    assert identity_of([True]) != identity_of([1])
    assert identity_of([2**53 + 1]) != identity_of([2.0**53])


def test_large_data_is_told_apart_as_a_whole() -> None:
    """Rows of more than a mebibyte are not looked for."""
    large = np.arange(400_000.0)
    assert identity_of(large) == identity_of(large.copy())
    assert identity_of(large) != identity_of(large[::-1].copy())
    assert identity_of(large[:1000]) == identity_of(large[:1000][::-1].copy())
    assert identity_of([]) == identity_of([])
    assert identity_of([]) != identity_of({})
