"""Values: what goes in comes back equal, with equal types; properties."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import functools
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pydantic
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from muniment.canonical import JsonValue, canonical, parse_canonical
from muniment.errors import (
    CannotTellError,
    WrongError,
)
from muniment.values import ValueTypes, decode, encode, settle


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
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
    ),
    max_leaves=12,
)
TAGS = (
    "$arrow",
    "$bytes",
    "$complex",
    "$dataframe",
    "$date",
    "$datetime",
    "$decimal",
    "$float",
    "$frozenset",
    "$int",
    "$map",
    "$ndarray",
    "$npscalar",
    "$object",
    "$set",
    "$time",
    "$timedelta",
    "$tuple",
    "$uuid",
    "$no",
    "$",
)


@patient
@given(VALUES)
def test_every_accepted_value_comes_back_equal(value: object) -> None:
    """What is encoded, written, read and decoded is equal, with equal types."""
    data = canonical(encode(value, TYPES))
    assert same(decode(parse_canonical(data), TYPES), value)


@patient
@given(VALUES)
def test_encoding_twice_gives_the_same_bytes(value: object) -> None:
    """The canonical bytes of a value are those of the value that comes back."""
    first = canonical(encode(value, TYPES))
    assert canonical(encode(value, TYPES)) == first
    assert canonical(encode(settle(value, TYPES), TYPES)) == first


@patient
@given(st.lists(HASHABLE, max_size=8), st.randoms())
def test_the_order_of_a_set_leaves_no_trace(items: list[object], random: Any) -> None:
    """Sets built in another order have the same bytes."""
    unique = list(set(items))
    random.shuffle(unique)
    first, second = set(items), set(unique)
    assert canonical(encode(first, TYPES)) == canonical(encode(second, TYPES))


@patient
@given(st.dictionaries(st.text(max_size=4).map(lambda s: "$" + s), JSON))
def test_keys_that_look_like_tags_are_escaped(value: dict[str, JsonValue]) -> None:
    """No user's dict can be read as a tag, whatever its keys and contents say."""
    encoded = encode(value)
    assert isinstance(encoded, dict)
    assert all(key.startswith("$$") for key in encoded)
    assert same(decode(encoded), value)


@patient
@given(VALUES)
def test_the_encoded_form_may_be_a_value_again(value: object) -> None:
    """An encoded value handed in as data comes back as data, not as what it says."""
    encoded = encode(value, TYPES)
    assert same(settle(encoded, TYPES), encoded)


@patient
@given(JSON)
def test_reading_arbitrary_json_fails_only_as_documented(value: JsonValue) -> None:
    """JSON that no encoder wrote raises a wrong or cannot tell, nothing else."""
    _decode_or_fail(value)


@patient
@given(st.sampled_from(TAGS), JSON | st.binary().map(lambda b: encode(b)["$bytes"]))  # type: ignore[index, call-overload]
def test_reading_arbitrary_tags_fails_only_as_documented(
    tag: str, content: JsonValue
) -> None:
    """A tag around anything at all raises a wrong or cannot tell, nothing else."""
    _decode_or_fail({tag: content})
    _decode_or_fail([{tag: [content, content]}])
    _decode_or_fail({"$object": ["test.Ticket", content]})
    _decode_or_fail({"$object": ["test.Reply", content]})


@patient
@given(ARRAYS, st.data())
def test_damaged_arrays_fail_only_as_documented(array: object, data: Any) -> None:
    """No damage to the bytes of an array raises anything but what is documented."""
    ((tag, content),) = encode(array).items()  # type: ignore[union-attr]
    damaged = bytearray(base64.b64decode(content))  # type: ignore[arg-type]
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(
        st.integers(0, 255)
    )
    _decode_or_fail({tag: base64.b64encode(damaged).decode()})


def _decode_or_fail(value: JsonValue) -> None:
    try:
        decode(value, TYPES)
    except (WrongError, CannotTellError) as error:
        shown = str(error)
    else:
        shown = ""
    assert "\n" not in shown
