"""What transforms keep and change, for all kinds of data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped] # no stubs are installed
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.encoding.codec import encode
from muniment_plugins.harness import HarnessRefused
from muniment_plugins.harness.metamorphic_tests.built_in_transforms import (
    BUILT_IN,
    built_in,
)
from muniment_plugins.harness.metamorphic_tests.transforms import Permute, Variant
from muniment_plugins.harness.metamorphic_tests.variants import Own, different, same

FRAME = pd.DataFrame({"x": [1, 2, 3, 4], "y": ["a", "b", "c", "d"]})


def draws() -> Callable[[], int]:
    """Return what draws the seeds 0, 1, 2 and so on."""
    return itertools.count().__next__


def made(name: str, data: object, tries: int = 4, **arguments: Any) -> list[Any]:
    """Return what the built-in transform *name* makes of *data*."""
    transform = built_in(name, arguments, "here")
    return [one.data for one in different(transform, data, draws(), tries)]


@given(st.lists(st.integers()))
def test_rows_are_kept_and_moved(rows: list[int]) -> None:
    """A permutation has the same rows, in another order than the data and each other."""
    orders = made("permute_rows", rows, 8)
    assert all(sorted(order) == sorted(rows) for order in orders)
    assert rows not in orders
    assert len(orders) == len({str(order) for order in orders})
    assert bool(orders) == (len(set(rows)) > 1)


@pytest.mark.parametrize("length", [4096, 4097, 4160, 4161, 5000, 10007])
def test_many_rows_are_kept_and_moved(length: int) -> None:
    """Long data is permuted whole, too: no two neighbours stay neighbours for long."""
    rows = list(range(length))
    first, *others = made("permute_rows", rows, 3)
    assert first == rows[::-1]
    for order in others:
        assert sorted(order) == rows
        beside = sum(abs(one - two) == 1 for one, two in itertools.pairwise(order))
        assert beside < length / 100


@given(st.lists(st.tuples(st.integers(), st.text()), min_size=2))
def test_aligned_parts_keep_their_pairs(pairs: list[tuple[int, str]]) -> None:
    """Parts that are permuted together still pair the same elements."""
    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    for first, second in made("permute_rows_aligned", (left, right)):
        assert sorted(zip(first, second, strict=True)) == sorted(pairs)


@given(st.lists(st.integers(), min_size=3, unique=True))
def test_the_reversal_is_among_them(rows: list[int]) -> None:
    """The guide's reversal is tried first, before any drawn order."""
    first = different(Permute(), rows, draws(), 2)[0]
    assert (first.data, first.seed) == (rows[::-1], None)


def test_columns_stay_aligned_and_arrays_keep_their_type() -> None:
    """Columns of a mapping are one table; an array stays an array."""
    table = {"x": [1, 2, 3], "y": np.array([10, 20, 30])}
    for one in made("permute_rows", table):
        assert (one["y"] == np.array(one["x"]) * 10).all()


@pytest.mark.parametrize("name", ["permute_rows", "permute_rows_aligned"])
def test_tables_are_permuted_by_rows(name: str) -> None:
    """Frames, Arrow tables and two-dimensional arrays move whole rows."""
    for frame in made(name, FRAME):
        assert frame.sort_values("x").reset_index(drop=True).equals(FRAME)
        assert list(frame.index) == [0, 1, 2, 3]
    for array in made(name, np.arange(6).reshape(3, 2)):
        assert (array[:, 1] == array[:, 0] + 1).all()
    for table in made(name, pa.table({"x": [1, 2, 3]})):
        assert sorted(table["x"].to_pylist()) == [1, 2, 3]


def test_an_index_that_is_data_moves_with_its_rows() -> None:
    """Only an index that counts the rows is counted anew."""
    named = FRAME.set_index("y")
    for frame in made("permute_rows", named):
        assert (frame.loc["b", "x"], sorted(frame.index)) == (2, ["a", "b", "c", "d"])
    for index in (range(0, 8, 2), range(1, 5)):
        for frame in made("permute_rows", FRAME.set_axis(index)):
            assert sorted(frame.index) == list(index)
            assert list(frame.index) != list(index)


def test_tables_within_tuples_are_permuted_each() -> None:
    """Train and test parts may differ in length; their own columns stay aligned."""
    data = (([1, 2, 3], [10, 20, 30]), ([4, 5], [40, 50]))
    for train, test in made("permute_rows_aligned", data):
        assert [one * 10 for one in train[0]] == train[1]
        assert [one * 10 for one in test[0]] == test[1]


@pytest.mark.parametrize(
    ("name", "data", "arguments", "changed"),
    [
        ("scale", [1, -2.5, True, "a", None], {}, [2, -5.0, True, "a", None]),
        (
            "scale",
            {"x": [1], "y": [1]},
            {"part": "x", "factor": 3},
            {"x": [3], "y": [1]},
        ),
        ("scale", ([1, 2], [3, 4]), {"part": 1}, ([1, 2], [6, 8])),
        ("shift", [[1, "a"], [2, "b"]], {"part": 0}, [[2, "a"], [3, "b"]]),
        ("shift", ((1, 2),), {"by": -1}, ((0, 1),)),
        ("duplicate_rows", [1, 2], {}, [1, 2, 1, 2]),
        ("duplicate_rows", ([1], [2]), {"times": 3}, ([1, 1, 1], [2, 2, 2])),
    ],
)
def test_built_ins_change_what_they_say(
    name: str, data: object, arguments: dict[str, Any], changed: object
) -> None:
    """Numbers are scaled and shifted, in one part or in all; rows are repeated."""
    (one,) = made(name, data, **arguments)
    assert same(one, changed)


def test_arrays_and_frames_are_scaled_as_lists_are() -> None:
    """Numbers in arrays and frames change, other columns do not; types stay exact."""
    (doubled,) = made("scale", np.array([1, 2], dtype=np.int16))
    assert (doubled.tolist(), doubled.dtype) == ([2, 4], np.int16)
    (halved,) = made("scale", np.array([1, 2]), factor=0.5)
    assert halved.tolist() == [0.5, 1.0]
    (frame,) = made("scale", FRAME)
    assert frame.to_dict("list") == {"x": [2, 4, 6, 8], "y": ["a", "b", "c", "d"]}
    (part,) = made("shift", np.arange(4.0).reshape(2, 2), part=1, by=10)
    assert part.tolist() == [[0, 11], [2, 13]]
    (column,) = made("shift", FRAME, part="x")
    assert column["x"].tolist() == [2, 3, 4, 5]


def test_missing_values_stay_missing() -> None:
    """A column with gaps is scaled around them, and keeps a form that is recorded."""
    frame = pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "y": [1, 2, 3]})
    for one in (*made("scale", frame), *made("scale", frame, part="x")):
        assert one["x"].dtype == "Int64"
        assert one["x"].isna().tolist() == [False, True, False]
        assert one["x"][2] == 6
        assert one["y"].dtype == "int64"
        encode(one)


def test_dropped_rows_are_drawn_and_aligned() -> None:
    """Each variant lacks other rows, of all parts the same."""
    variants = made("drop_rows", ([1, 2, 3, 4], [10, 20, 30, 40]), 8, count=2)
    assert len(variants) > 2
    for left, right in variants:
        assert len(left) == 2
        assert [one * 10 for one in left] == right


def test_noise_is_small_seeded_and_everywhere() -> None:
    """Equal seeds give equal noise, other seeds other noise; no number is spared."""
    data: dict[str, Any] = {"x": [1, 2.0], "y": np.array([3, 4])}
    first, second = made("add_noise", data, 2, sd=0.01)
    again, _ = made("add_noise", data, 2, sd=0.01)
    assert same(first, again)
    assert not same(first, second)
    assert all(
        0 < abs(one - other) < 0.1
        for one, other in zip(first["x"], data["x"], strict=True)
    )
    assert all(
        0 < abs(one - other) < 0.1
        for one, other in zip(first["y"], [3, 4], strict=True)
    )


@given(st.lists(st.sampled_from("abcd"), min_size=1))
def test_labels_are_renamed_among_themselves(labels: list[str]) -> None:
    """A renaming is a bijection of the labels that there are; rows stay in place."""
    for rows, renamed in made("relabel", ([1] * len(labels), labels)):
        assert rows == [1] * len(labels)
        pairs = set(zip(labels, renamed, strict=True))
        assert len(pairs) == len(set(labels)) == len(set(renamed))


def test_labels_may_stand_in_a_column() -> None:
    """A part names the labels of a frame, a mapping, rows or an array."""
    (frame, *_) = made("relabel", FRAME, part="y")
    assert sorted(frame["y"]) == ["a", "b", "c", "d"]
    assert not frame.equals(FRAME)
    (rows, *_) = made("relabel", [[1.5, 0], [2.5, 1]], part=-1)
    assert rows == [[1.5, 1], [2.5, 0]]
    (array, *_) = made("relabel", np.array(["ja", "nein"]))
    assert array.tolist() == ["nein", "ja"]


def test_columns_are_permuted_and_rows_stay() -> None:
    """Every row has its values in one other order; of a tuple, the first part's rows."""
    (reversal, *others) = made("column_permute", [[1, 2, 3], [4, 5, 6]], 6)
    assert reversal == [[3, 2, 1], [6, 5, 4]]
    assert others
    ((table, labels), *_) = made("column_permute", (np.array([[1, 2], [3, 4]]), [0, 1]))
    assert (table.tolist(), labels) == ([[2, 1], [4, 3]], [0, 1])
    (frame, *_) = made("column_permute", FRAME)
    assert list(frame.columns) == ["y", "x"]
    (arrow, *_) = made("column_permute", pa.table({"x": [1], "y": [2]}))
    assert arrow.column_names == ["y", "x"]


@pytest.mark.parametrize(
    ("name", "data", "arguments", "message"),
    [
        ("permute_rows", "text", {}, "a value of type str has no rows"),
        ("permute_rows", {1, 2}, {}, "a value of type set has no rows"),
        ("permute_rows", {"n": 3}, {}, "a value of type int has no rows"),
        ("permute_rows", {}, {}, "an empty mapping has no rows"),
        ("permute_rows", np.array(3), {}, "a value of type ndarray has no rows"),
        (
            "permute_rows",
            ([1, 2], "ab"),
            {},
            "a value of type str stands beside tables",
        ),
        ("permute_rows_aligned", ([1, 2], [1, 2, 3]), {}, "2, 3 rows cannot stay"),
        ("permute_rows", {"x": [1], "y": [1, 2]}, {}, "1, 2 rows cannot stay"),
        ("permute_rows", [1, 2], {"seed": 1}, "seed means nothing here"),
        ("drop_rows", [1, 2], {"count": 2}, "of 2 rows 2 cannot be dropped"),
        ("drop_rows", [1, 2], {"count": 0}, "0 is no such count"),
        ("duplicate_rows", [1, 2], {"times": 1}, "1 is no such count"),
        ("scale", [1], {"factor": math.nan}, "nan is not a finite number"),
        ("scale", [1], {"factor": "2"}, "'2' is not a finite number"),
        ("scale", {"x": [1]}, {"part": "z"}, "a value of type dict has no part 'z'"),
        ("scale", np.array([100], dtype=np.int8), {}, "int8 does not hold"),
        ("scale", pa.table({"x": [1]}), {}, "a Table cannot be changed in place"),
        ("relabel", pa.table({"x": [1]}), {}, "a Table cannot be told"),
        ("add_noise", [1], {"sd": 0}, "0 is not a deviation"),
        ("relabel", ([1], [1.5]), {}, "1.5 is of type float, and no label"),
        ("column_permute", [1, 2], {}, "a value of type list has no columns"),
        (
            "column_permute",
            np.array([1, 2]),
            {},
            "a value of type ndarray has no columns",
        ),
        ("permute_rows", {"x": {"y": 1}}, {}, "a value of type dict has no rows"),
        (
            "permute_rows",
            ({"x": 1}, [1, 2]),
            {},
            "a value of type dict stands beside tables",
        ),
        ("permute_rows", ({}, [1, 2]), {}, "a value of type dict stands beside tables"),
        ("column_permute", [[1, 2], [3]], {}, "a value of type list has no columns"),
    ],
)
def test_what_a_transform_cannot_do_is_refused(
    name: str, data: object, arguments: dict[str, Any], message: str
) -> None:
    """Data of another shape, and arguments that mean nothing, never pass as they are."""
    with pytest.raises(HarnessRefused, match=message):
        made(name, data, **arguments)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("permute_rows", [5, 5]),
        ("scale", ["a", "b"]),
        ("scale", [0, 0.0]),
        ("shift", np.array(["a"])),
        ("relabel", ([1, 2], ["a", "a"])),
        ("column_permute", [[1, 1], [2, 2]]),
        ("permute_rows", [math.nan, float("nan")]),
    ],
)
def test_what_changes_nothing_is_no_variant(name: str, data: object) -> None:
    """A transform that leaves the data as it was has nothing to test."""
    assert made(name, data) == []


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("permute_rows", 3),
        ("permute_rows_aligned", 3),
        ("column_permute", 3),
        ("drop_rows", 4),
        ("add_noise", 4),
        ("relabel", 4),
        ("scale", 0),
        ("identity", 0),
    ],
)
def test_as_many_are_drawn_as_are_asked_for(name: str, drawn: int) -> None:
    """Four variants are four: of a permutation the reversal and three that are drawn."""
    seeds = itertools.count(100)
    data = [[n * 10 + m for m in range(9)] for n in range(9)]
    variants = built_in(name, {}, "here").variants(data, seeds.__next__, 4)
    assert len(variants) == (4 if drawn else 1)
    told = [one.seed for one in variants]
    expected: list[int | None] = [None] * (len(told) - drawn)
    assert told == [*expected, *range(100, 100 + drawn)]


def test_own_transforms_get_a_copy_and_their_arguments() -> None:
    """A function may change its argument; the data stays as it was."""

    def grow(data: list[int], by: int = 1) -> list[int]:
        data.append(by)
        return data

    data = [1]
    (one,) = different(Own(grow, {"by": 7}), data, draws(), 8)
    assert (one.data, data) == ([1, 7], [1])


def test_what_is_equivariant_is_told() -> None:
    """Transforms say what a metric that goes with the data has to be."""

    def told(name: str, data: object, before: object) -> object:
        (one, *_) = built_in(name, {}, "here").variants(data, draws(), 1)
        return None if one.expected is None else one.expected(before)

    assert told("scale", [1], 3) == 6
    assert told("shift", [1], [1, 2.5]) == [2, 3.5]
    assert told("duplicate_rows", [1], 3) == 6
    assert told("duplicate_rows", [1], [3]) == [3, 3]
    assert told("permute_rows", [1, 2, 3], [1, 2, 3]) == [3, 2, 1]
    assert told("permute_rows", ([1, 2], [3, 4]), [1, 2]) == [2, 1]
    with pytest.raises(HarnessRefused, match="a list of one value for each"):
        told("permute_rows", [1, 2, 3], 6)


def test_the_promised_transforms_are_there() -> None:
    """The names that a spec may use, and each one's usual relation."""
    usual = {name: built_in(name, {}, "here").relations[0] for name in BUILT_IN}
    assert usual == {
        "add_noise": "invariant",
        "column_permute": "invariant",
        "drop_rows": "monotone",
        "duplicate_rows": "invariant",
        "identity": "invariant",
        "permute_rows": "invariant",
        "permute_rows_aligned": "invariant",
        "relabel": "invariant",
        "scale": "equivariant",
        "shift": "equivariant",
    }
    (again,) = different(built_in("identity", {}, "here"), [1], draws(), 8)
    assert again == Variant([1])


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, False),
        (1, True, False),
        ([1], (1,), False),
        ([math.nan], [float("nan")], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ([1, 2], [1, 2, 3], False),
        (np.array([1, 2]), np.array([1, 2]), True),
        (np.array([1, 2]), np.array([1.0, 2.0]), False),
        (np.array([math.nan]), np.array([math.nan]), True),
        (FRAME, FRAME.copy(), True),
        (FRAME, FRAME.iloc[::-1], False),
    ],
)
def test_sameness_is_of_type_and_content(one: Any, other: Any, equal: bool) -> None:
    """What the record would keep apart is not the same; NaN is."""
    assert same(one, other) is equal
