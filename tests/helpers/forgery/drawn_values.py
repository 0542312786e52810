"""Values of every kind that is accepted, drawn by hypothesis, and how to compare them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import functools
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pydantic
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from muniment.encoding.codec import ValueTypes

__all__ = [
    "HASHABLE",
    "TYPES",
    "VALUES",
    "Access",
    "Colour",
    "Counted",
    "Level",
    "Open",
    "Point",
    "Reply",
    "Ticket",
    "patient",
    "same",
]


@dataclasses.dataclass(frozen=True, slots=True)
class Ticket:
    """A frozen dataclass."""

    number: object
    tags: object = ()


@dataclasses.dataclass
class Counted:
    """A dataclass with a field that its constructor does not take."""

    word: str
    length: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Derive the length."""
        self.length = len(self.word)

    @functools.cached_property
    def upper(self) -> str:
        """Derived state that need not come back."""
        return self.word.upper()


class Reply(pydantic.BaseModel):
    """A model with an alias, a default and nested models."""

    text: str = pydantic.Field(alias="body")
    score: float = 0.0
    ticket: Any = None


class Open(pydantic.BaseModel, extra="allow"):
    """A model that keeps what it does not know."""

    known: int = 1


class Colour(enum.Enum):
    """An enumeration."""

    RED = "r"
    BLUE = "b"


class Level(enum.IntEnum):
    """An enumeration whose members are integers too."""

    LOW = 1


class Access(enum.Flag):
    """An enumeration whose members combine."""

    READ = 1
    WRITE = 2


class Point(NamedTuple):
    """A named tuple."""

    x: object
    y: object


TYPES = (
    ValueTypes()
    .with_type(Ticket, "test.Ticket")
    .with_type(Counted)
    .with_type(Reply, "test.Reply")
    .with_type(Open, "test.Open")
    .with_type(Colour, "test.Colour")
    .with_type(Level, "test.Level")
    .with_type(Access, "test.Access")
    .with_type(Point, "test.Point")
    .with_type(Fraction, "fraction", parts=str, build=Fraction)
)


# The first use of a package imports it, which takes as long as it takes.
patient = settings(deadline=None)


def same(left: Any, right: Any) -> bool:  # noqa: PLR0911 - one per kind of value
    """Tell whether two values are equal with equal types at every level."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float | complex | np.generic | np.ndarray | decimal.Decimal):
        return _same_number(left, right)
    if isinstance(left, dict):
        return _same_dict(left, right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return _same_set(left, right)
    if isinstance(left, dt.datetime | dt.time):
        zones = [(z.tzinfo and z.tzinfo.tzname(None)) for z in (left, right)]
        return left.isoformat() == right.isoformat() and (
            left.fold == right.fold and zones[0] == zones[1]
        )
    if dataclasses.is_dataclass(left):
        return all(
            same(getattr(left, f.name), getattr(right, f.name))
            for f in dataclasses.fields(left)
        )
    if isinstance(left, pydantic.BaseModel):
        return _same_dict(dict(left), dict(right))
    return bool(left == right)


def _same_number(left: Any, right: Any) -> bool:
    if isinstance(left, np.generic | np.ndarray):
        return (left.dtype, left.shape, left.tobytes()) == (
            right.dtype,
            right.shape,
            right.tobytes(),
        )
    return repr(left) == repr(right)


def _same_dict(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if all(type(key) is str for key in left):
        return left.keys() == right.keys() and all(
            same(left[key], right[key]) for key in left
        )
    return same(list(left.items()), list(right.items()))


def _same_set(left: Any, right: Any) -> bool:
    rest = list(right)
    for item in left:
        found = next((i for i, other in enumerate(rest) if same(item, other)), None)
        if found is None:
            return False
        del rest[found]
    return not rest


def zones() -> st.SearchStrategy[dt.timezone]:
    """Draw fixed offsets, some of them named."""
    day = dt.timedelta(hours=23, minutes=59)
    offsets = st.timedeltas(-day, day).map(
        lambda offset: offset - dt.timedelta(microseconds=offset.microseconds)
    )
    return st.one_of(
        st.just(dt.UTC),
        st.builds(dt.timezone, offsets),
        st.builds(dt.timezone, offsets, st.text(max_size=5)),
    )


def clocks() -> st.SearchStrategy[Any]:
    """Draw dates and times, with and without zone and fold."""
    zone = st.none() | zones()
    folds = st.sampled_from((0, 1))
    return st.one_of(
        st.dates(),
        st.timedeltas(),
        st.builds(
            lambda v, z, f: v.replace(tzinfo=z, fold=f), st.datetimes(), zone, folds
        ),
        st.builds(lambda v, z, f: v.replace(tzinfo=z, fold=f), st.times(), zone, folds),
    )


HASHABLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.integers(-(10**6), 10**6).map(float),
    st.text(),
    st.from_regex(r"\$*[a-z]{0,3}", fullmatch=True),
    st.binary(max_size=40),
    st.complex_numbers(),
    st.decimals().filter(lambda v: not v.is_snan()),
    st.uuids(),
    clocks(),
    st.sampled_from((*Colour, *Level, Access.READ, Access.READ | Access.WRITE)),
    st.fractions(),
)
ARRAYS = st.one_of(
    npst.arrays(npst.scalar_dtypes(), npst.array_shapes(min_dims=0, max_side=3)),
    npst.arrays(npst.scalar_dtypes(), ())
    .map(lambda array: array[()])
    .filter(lambda v: v.dtype.kind not in "SUV"),
)


def _below(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    hashable = HASHABLE | st.tuples(HASHABLE) | st.frozensets(HASHABLE, max_size=3)
    return st.one_of(
        st.lists(values, max_size=4),
        st.lists(values, max_size=4).map(tuple),
        st.dictionaries(st.text() | st.just("$set"), values, max_size=4),
        st.dictionaries(hashable, values, max_size=4),
        st.sets(hashable, max_size=4),
        st.frozensets(hashable, max_size=4),
        st.builds(Ticket, values, values),
        st.builds(Point, values, values),
        st.builds(Counted, st.text()),
        st.builds(lambda s, t: Reply(body=s, ticket=t), st.text(), values),
        st.builds(lambda value: Open.model_validate({"more": value}), values),
    )


VALUES = st.recursive(HASHABLE | ARRAYS, _below, max_leaves=12)
