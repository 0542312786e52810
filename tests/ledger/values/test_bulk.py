"""Many values at once are judged, written and refused as each of them alone."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Callable
from typing import Any, cast

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from drawn_values import patient
from muniment.encoding.canonical import (
    MAX_DEPTH,
    MAX_INTEGER,
    JsonValue,
    canonical,
    parse,
    plainly,
)
from muniment.encoding.codec import decode, encode, written
from muniment.encoding.native import as_it_is, is_plain, reread
from muniment.encoding.scan import MANY, are_fractions, fits
from muniment.errors import ValueRefused

KINDS = (
    st.integers(-MAX_INTEGER - 1, MAX_INTEGER + 1),
    st.floats(0.25, 4),
    st.floats(-1e-3, 1e-3),
    st.floats(),
    st.booleans() | st.none(),
    st.text(max_size=3),
    st.tuples(st.integers(0, 3)),
)
NAMES = st.sampled_from(["a", "b", "$c", "$$"]) | st.sampled_from(
    ["", "é", "\U0001f600", "\ufb33"]
)
SCALARS = st.one_of(*KINDS)
MIXED = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=24) | st.dictionaries(NAMES, inner),
    max_leaves=40,
)
ALIKE = st.sampled_from(KINDS).flatmap(
    lambda kind: st.one_of(
        st.lists(kind, min_size=MANY, max_size=2 * MANY),
        st.lists(st.lists(kind, max_size=3), min_size=MANY, max_size=2 * MANY),
        st.lists(
            st.dictionaries(NAMES, kind, max_size=3), min_size=MANY, max_size=2 * MANY
        ),
        st.dictionaries(NAMES, st.lists(kind, min_size=MANY, max_size=2 * MANY)),
    )
)
TABLES = ALIKE | MIXED

named = example({"$c": 1})
priced = example([{"$c": "$3"}, *[{"a": '"$"'}] * MANY])
small = example({"a": [0.5, 1e-6, -1e-9, *[0.25] * MANY]})
whole = example([1.0, *[0.5] * MANY])


def of_tables(test: Callable[[object], None]) -> Callable[[], None]:
    """Ask *test* about tables of any values, and about each of the examples."""
    asked: Callable[[], None] = patient(
        given(TABLES)(named(priced(small(whole(test)))))
    )
    return asked


class Name(str):
    """A text that is not quite one."""

    __slots__ = ()


class Number(enum.IntEnum):
    """An integer that is not quite one."""

    ONE = 1


class Mute(enum.Enum):
    """An enumeration whose value cannot be read."""

    ONE = 1

    @property
    def value(self) -> int:
        """Refuse."""
        raise RuntimeError


def _one_by_one(value: Any) -> Any:
    """Return the encoded form, with each scalar and each name encoded by itself."""
    kind = cast("object", type(value))
    if kind is list:
        return [_one_by_one(item) for item in value]
    if kind is dict:
        return {
            f"${name}" if name.startswith("$") else name: _one_by_one(item)
            for name, item in value.items()
        }
    if kind is tuple:
        return {"$tuple": [_one_by_one(item) for item in value]}
    return encode(value)


def _same(one: object, other: object) -> bool:
    return repr(one) == repr(other)


@of_tables
def test_many_are_encoded_as_each_alone(value: object) -> None:
    """The encoded form of a table has the encoded form of each of its cells."""
    assert _same(encode(value), _one_by_one(value))
    assert _same(decode(encode(value)), value)
    assert is_plain(value, 0) == _same(_one_by_one(value), value)


@of_tables
def test_what_is_written_at_once_is_encoded_and_canonical(value: object) -> None:
    """Writing a value in one go gives the form and the bytes of doing it in two."""
    form, data = written(value)
    assert _same(form, _one_by_one(value))
    assert data == rfc8785.dumps(_one_by_one(value))
    assert (form is value) == is_plain(value, 0)


@of_tables
def test_what_orjson_writes_is_canonical(value: object) -> None:
    """What goes the short way is what the reference writes; the rest is None."""
    data = plainly(value)
    assert data is None or data == rfc8785.dumps(value)  # type: ignore[arg-type]


@of_tables
def test_what_is_given_as_it_is_reads_as_it_was(value: object) -> None:
    """A value without tags is given in its own order; one with tags is not given."""
    text = as_it_is(value)
    assert (text is not None) == is_plain(value, 0)
    assert text is None or _same(json.loads(text), value)


@patient
@given(TABLES, st.integers(0, 3))
def test_a_copy_is_what_reading_gives(value: object, size: int) -> None:
    """Copied or read, long or short: equal, in the order of the bytes, and apart."""
    long = "x" * 70_000
    table = [value, {"b": value, "a": [1] * size, "c": long}, [long, *[0.5] * size]][
        size % 3
    ]
    form, data = written(table)
    if form is table:
        assert _same(reread(table, data), parse(data))
        assert not _shares(reread(table, data), table)


@pytest.mark.parametrize(
    "value",
    [
        ["[", "{", "x" * 70_000],
        [[1], "x" * 70_000],
        {"b": ["x" * 70_000, None], "a": 1, "c": [True, 0.5]},
        {"b": ["x" * 70_000], "a": [[1]]},
        {"b": ["x" * 70_000], "a": {"d": 1, "c": 2}},
        {"\U0001f600": ["x" * 70_000], "\ufb33": [1]},
    ],
)
def test_long_contents_are_reread(value: object) -> None:
    """Flat lists, columns, and what looks like them, come out as they are read."""
    form, data = written(value)
    again = reread(form, data)
    assert _same(again, parse(data))
    assert not _shares(again, value)


def _shares(one: object, other: object) -> bool:
    """Tell whether two values have a container in common."""
    return bool(_containers(one) & _containers(other))


def _containers(value: Any) -> set[int]:
    if not isinstance(value, dict | list):
        return set()
    own = id(cast("object", value))
    inside = cast("Any", value.values() if isinstance(value, dict) else value)
    return {own}.union(*map(_containers, inside))


@patient
@given(st.lists(st.floats(), min_size=1))
def test_fractions_are_finite_and_no_integers(floats: list[float]) -> None:
    """Whatever their sum, it is said of all as of each."""
    assert are_fractions(floats) == all(
        math.isfinite(one) and not one.is_integer() for one in floats
    )


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (math.nan, "float"),
        (-math.inf, "float"),
        (2**53, "integer"),
        (2.0**53, "integer"),
        ((1,), "type"),
        (b"x", "type"),
        (Name("x"), "type"),
        (Number.ONE, "type"),
        (Mute.ONE, "type"),
        ({1: 2}, "key"),
        ({Name("a"): 2}, "key"),
        ("\ud800", "surrogate"),
        ({"\ud800": 1}, "surrogate"),
    ],
)
@pytest.mark.parametrize("around", [1, 0.5, "a", None, [1, 0.5], {"a": 1}])
def test_one_wrong_value_among_many(wrong: object, rule: str, around: object) -> None:
    """It is refused by the rule and the place by which it is among few."""
    for count in (1, MANY, 5 * MANY):
        with pytest.raises(ValueRefused, match=rf"\[canonical/{rule}\]") as refusal:
            canonical([*[around] * count, wrong])  # type: ignore[list-item]
        if rule != "surrogate":
            assert refusal.value.place.startswith(f"$[{count}]")


@pytest.mark.parametrize("write", [canonical, encode, written])
def test_what_is_inside_itself_is_refused_at_once(write: Any) -> None:
    """A list that holds itself many times is refused as one that is too deep."""
    inside: list[Any] = [1] * MANY
    inside += [inside] * MANY
    named = {"a": [{"b": inside}] * MANY}
    inside.append(named)
    for value in (inside, named):
        with pytest.raises(ValueRefused, match="/depth"):
            write(value)


def test_what_is_in_many_places_is_written_in_each() -> None:
    """One list in many places comes out as many equal lists."""
    row: list[JsonValue] = [1, 0.5, {"a": 1e-6}]
    table: list[JsonValue] = [row] * MANY
    assert parse(canonical([table, table])) == [[row] * MANY, [row] * MANY]


@pytest.mark.parametrize("width", [2, MANY])
def test_what_would_take_all_memory_does_not_fit(width: int) -> None:
    """A few containers that are in each other very often are not left to orjson."""
    value: list[Any] = [0.5] * MANY
    for _ in range(60):
        value = [value] * width
    assert not fits([value], MAX_DEPTH, lambda _: True, are_fractions)
    assert as_it_is(value) is None


@pytest.mark.parametrize("depth", [1, 2, MAX_DEPTH - 1, MAX_DEPTH])
def test_room_is_that_of_containers(depth: int) -> None:
    """The deepest container that fits is the one that takes the last room."""
    value: list[Any] = [1] * MANY
    for _ in range(depth):
        value = [value, 1]
    assert fits(value, depth, lambda _: True, lambda _: True)
    assert not fits(value, depth - 1, lambda _: True, lambda _: True)
