"""Values: what goes in comes back equal, or is refused by name and place."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import math
import subprocess
import sys
import uuid
import zoneinfo
from collections import Counter, OrderedDict, namedtuple
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from muniment.canonical import JsonValue, canonical, parse_canonical
from muniment.errors import (
    CannotTellError,
    MunimentError,
    UsageError,
    ValueRefused,
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


@dataclasses.dataclass
class Growing:
    """A dataclass that is not what it was given."""

    size: int

    def __post_init__(self) -> None:
        """Grow."""
        self.size += 1


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


class Loud(enum.StrEnum):
    """An enumeration that nobody registers."""

    YES = "yes"


class Access(enum.Flag):
    """An enumeration whose members combine."""

    READ = 1
    WRITE = 2


class Point(NamedTuple):
    """A named tuple."""

    x: object
    y: object


class Text(str):
    """A kind of str."""

    __slots__ = ()


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


def _kind(value: object) -> str:
    # What a test is called must be the same in every process.
    return value if isinstance(value, str) and value.isalpha() else type(value).__name__


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
    offsets = st.timedeltas(-day, day)
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


def test_plain_json_is_not_copied() -> None:
    """A value that JSON holds as it is goes through both ways as the same object."""
    value: JsonValue = {"a": [1, 2.5, "é", None, True], "b": {}}
    assert encode(value) is value
    assert decode(value) is value


def test_settle_shares_nothing_and_orders_keys_as_the_record_does() -> None:
    """What a program gets live is what the record would give it."""
    value = {"b": [], "a": 1}
    settled = settle(value)
    assert settled == value
    assert isinstance(settled, dict)
    assert list(settled) == ["a", "b"]
    assert settled["b"] is not value["b"]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (3.0, {"$float": "3.0"}),
        (-0.0, {"$float": "-0.0"}),
        (1e22, {"$float": "1e+22"}),
        (math.inf, {"$float": "inf"}),
        (math.nan, {"$float": "nan"}),
        (0.1, 0.1),
        (2**53 - 1, 2**53 - 1),
        (2**53, {"$int": "9007199254740992"}),
        (b"hi", {"$bytes": "aGk="}),
        ((1, (2,)), {"$tuple": [1, {"$tuple": [2]}]}),
        ({"b", "a"}, {"$set": ["a", "b"]}),
        (frozenset({2, 10}), {"$frozenset": [10, 2]}),
        ({1: "a", "b": 2}, {"$map": [[1, "a"], ["b", 2]]}),
        ({"$a": 1, "$$b": 2, "$": 3, "c": 4}, {"$$a": 1, "$$$b": 2, "$$": 3, "c": 4}),
        (dt.date(2026, 11, 20), {"$date": "2026-11-20"}),
        (dt.timedelta(seconds=-1.5), {"$timedelta": "-1500000"}),
        (
            dt.datetime(
                2026,
                10,
                25,
                2,
                30,
                fold=1,
                tzinfo=dt.timezone(dt.timedelta(hours=1), "CET"),
            ),
            {"$datetime": "2026-10-25T02:30:00+01:00[CET];fold=1"},
        ),
        (dt.time(7, 23, 41, tzinfo=dt.UTC), {"$time": "07:23:41+00:00"}),
        (decimal.Decimal("1E+5"), {"$decimal": "1E+5"}),
        (complex(1, -0.0), {"$complex": "1.0 -0.0"}),
        (uuid.UUID(int=1), {"$uuid": "00000000-0000-0000-0000-000000000001"}),
        (
            Ticket(7),
            {"$object": ["test.Ticket", {"number": 7, "tags": {"$tuple": []}}]},
        ),
        (Colour.RED, {"$object": ["test.Colour", "RED"]}),
        (Access.READ | Access.WRITE, {"$object": ["test.Access", 3]}),
        (Point(1, 2), {"$object": ["test.Point", {"x": 1, "y": 2}]}),
        (Fraction(1, 3), {"$object": ["fraction", "1/3"]}),
    ],
    ids=_kind,
)
def test_encoded_forms(value: object, encoded: JsonValue) -> None:
    """Each kind of value has exactly the form that the specification prints."""
    assert same(encode(value, TYPES), encoded)
    assert same(decode(encoded, TYPES), value)


def _cycle() -> list[object]:
    cycle: list[object] = []
    cycle.append({"again": cycle})
    return cycle


def _stray() -> Counted:
    counted = Counted("a")
    counted.extra = 1  # type: ignore[attr-defined]
    return counted


def _nested(value: object, levels: int) -> object:
    for _ in range(levels):
        value = [value]
    return value


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - the untyped spelling
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("value", "rule", "place"),
    [
        ({"a": [0, 1, 2, {"b": object()}]}, "type", "$.a[3].b"),
        ([Pair(1, 2)], "type", "$[0]"),
        (Text("a"), "type", "$"),
        ({Text("a"): 1}, "type", "$[0].key"),
        (OrderedDict(a=1), "type", "$"),
        (Counter("aab"), "type", "$"),
        ({1: Loud.YES}, "type", "$[0].value"),
        (bytearray(b"x"), "type", "$"),
        (range(3), "type", "$"),
        (PurePosixPath("/a"), "type", "$"),
        (int, "type", "$"),
        (lambda: None, "type", "$"),
        (iter(()), "type", "$"),
        ("\ud800", "surrogate", "$"),
        ({"a": ["ok", "\udfff"]}, "surrogate", "$.a[1]"),
        ({"a": {"\ud800": 1}}, "surrogate", "$.a"),
        (("\ud800",), "surrogate", "$[0]"),
        (dt.datetime(2026, 1, 1, tzinfo=BERLIN), "datetime", "$"),
        (
            dt.time(1, tzinfo=dt.timezone(dt.timedelta(0), "\ud800")),
            "surrogate",
            "$",
        ),
        (10**4400, "int", "$"),
        (_nested(1, 65), "depth", "$" + "[0]" * 26 + "["),
        (_nested(1.0, 64), "depth", "$" + "[0]" * 26 + "["),
        (_cycle(), "depth", None),
        ([Growing(1)], "type", "$[0]"),
        ({"x": _stray()}, "object", "$.x"),
        (np.array([object()]), "array", "$"),
        (np.array([1], dtype=np.dtype("i8", metadata={"a": 1})), "array", "$"),
        (np.str_("a\0"), "array", "$"),
        (np.rec.array([(1,)], dtype=[("a", "i8")]), "type", "$"),
        (np.ma.masked_array([1], [True]), "type", "$"),
    ],
    ids=_kind,
)
def test_refusals_name_rule_and_place(
    value: object, rule: str, place: str | None
) -> None:
    """What cannot come back equal is refused with its rule, place and a remedy."""
    with pytest.raises(ValueRefused, match=rf"\[value/{rule}\]") as refusal:
        encode(value, TYPES)
    assert place is None or refusal.value.place == place
    assert refusal.value.remedy
    str(refusal.value).encode()


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ({"$nothing": 1}, "tag"),
        ({"$": 1}, "tag"),
        ({"$blob": "sha256:00", "size": 1}, "tag"),
        ({"$float": "3.0", "b": 1}, "tag"),
        ({"$float": 3.0}, "content"),
        ({"$float": "3"}, "content"),
        ({"$float": "1.5"}, "content"),
        ({"$int": "7"}, "content"),
        ({"$int": "9_007_199_254_740_993"}, "content"),
        ({"$int": "1" * 5000}, "content"),
        ({"$bytes": "aGk"}, "content"),
        ({"$bytes": "aGl="}, "content"),
        ({"$date": "20261120"}, "content"),
        ({"$datetime": "2026-11-20 07:00:00"}, "content"),
        ({"$datetime": "2026-11-20T07:00:00+01:00[CET"}, "content"),
        ({"$timedelta": "1" * 40}, "content"),
        ({"$decimal": "1e5"}, "content"),
        ({"$uuid": "0" * 32}, "content"),
        ({"$complex": "1.0"}, "content"),
        ({"$tuple": "abc"}, "content"),
        ({"$set": ["b", "a"]}, "content"),
        ({"$set": ["a", "a"]}, "content"),
        ({"$set": [[]]}, "content"),
        ({"$map": []}, "content"),
        ({"$map": [["a", 1]]}, "content"),
        ({"$map": [[1, 1], [1, 2]]}, "content"),
        ({"$map": [[[], 1]]}, "content"),
        ({"$object": ["test.Colour", "GREEN"]}, "content"),
        ({"$object": ["test.Reply", {"score": 1}]}, "content"),
        ({"$object": ["test.Reply", {"text": "", "more": 1}]}, "content"),
        ({"$object": ["test.Ticket", {"more": 1}]}, "content"),
        ({"$ndarray": "aGk="}, "content"),
        (_nested(1, 65), "depth"),
        ([(1,)], "json"),
    ],
    ids=_kind,
)
def test_malformed_records_are_wrong(value: Any, rule: str) -> None:
    """A tag has one spelling; any other content is evidence against itself."""
    with pytest.raises(WrongError, match=rf"\[value/{rule}\]"):
        decode(value, TYPES)


def test_sixty_four_levels_are_enough() -> None:
    """The deepest accepted value is as deep as canonical JSON may be."""
    value = _nested(1.5, 64)
    assert same(settle(value), value)
    value = _nested(1.0, 63)
    assert same(settle(value), value)


def test_types_that_do_not_come_back_are_refused() -> None:
    """A class whose constructor changes its fields is refused when it turns up."""
    types = ValueTypes().with_type(Growing, "growing")
    with pytest.raises(ValueRefused, match=r"does not come back .*\[value/rebuild\]"):
        encode([Growing(1)], types)


def test_cached_properties_need_not_come_back() -> None:
    """Derived state of an instance is no reason to refuse it."""
    counted = Counted("ab")
    assert counted.upper == "AB"
    assert same(settle(counted, TYPES), counted)


def test_a_record_says_nothing_to_import() -> None:
    """A name that nobody registered here cannot be told, and nothing is imported."""
    with pytest.raises(CannotTellError, match=r"'os\.system'.*\[value/unregistered\]"):
        decode({"$object": ["os.system", "true"]}, TYPES)


def test_fields_added_since_take_their_defaults() -> None:
    """An older record of a dataclass or model is read with today's defaults."""
    assert decode({"$object": ["test.Ticket", {"number": 1}]}, TYPES) == Ticket(1)
    reply = decode({"$object": ["test.Reply", {"text": "a"}]}, TYPES)
    assert reply == Reply(body="a")


def test_named_forms_do_not_follow_the_context() -> None:
    """The spelling of a Decimal ignores the thread's decimal context."""
    with decimal.localcontext() as context:
        context.capitals = 0
        context.prec = 2
        assert encode(decimal.Decimal("1.234E+9")) == {"$decimal": "1.234E+9"}


@pytest.mark.parametrize(
    "register",
    [
        lambda: TYPES.with_type(Growing, "test.Ticket"),
        lambda: TYPES.with_type(Ticket, "test.Other"),
        lambda: TYPES.with_type(Growing, "no name"),
        lambda: TYPES.with_type(object),
        lambda: TYPES.with_type(Text, "text"),
        lambda: TYPES.with_type(Text, "text", parts=str),
    ],
)
def test_registrations_that_cannot_work_are_refused(register: Any) -> None:
    """A name belongs to one class, and a class that says nothing needs functions."""
    with pytest.raises(UsageError, match=r"\[value/register\]"):
        register()


def test_registering_twice_changes_nothing() -> None:
    """The same class under the same name is no conflict; the old set stays."""
    assert TYPES.with_type(Ticket, "test.Ticket").names == TYPES.names
    assert ValueTypes().names == ()
    with pytest.raises(ValueRefused, match="Ticket"):
        encode(Ticket(1))


def test_fortran_order_and_byte_order_come_back() -> None:
    """Arrays keep their dtype's byte order and their memory order."""
    array = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    back = settle(array)
    assert isinstance(back, np.ndarray)
    assert back.dtype == array.dtype
    assert back.flags.f_contiguous
    assert (back == array).all()


def test_tables_come_back() -> None:
    """Arrow tables and frames come back with schema, index and column types."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is an extra")
    table = pyarrow.table({"a": [1, None], "b": ["x", "y"]})
    back: Any = settle([table])
    assert back[0].equals(table, check_metadata=True)
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    frame = pandas.DataFrame({"a": [1.5, math.nan]}, index=["x", "y"])
    pandas.testing.assert_frame_equal(settle(frame), frame)
    with pytest.raises(ValueRefused, match="Python objects"):
        encode(pandas.DataFrame({"a": [object()]}))
    frame.attrs["when"] = (1, 2)
    with pytest.raises(ValueRefused, match="attrs"):
        encode(frame)


def test_importing_values_loads_no_heavy_package() -> None:
    """The module costs nobody pydantic, NumPy or Arrow."""
    code = (
        "import sys, muniment.values as v; v.encode({1: b'', 'a': (1.0, v)[:1]});"
        "print([m for m in ('numpy', 'pyarrow', 'pandas', 'pydantic')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_all_errors_are_muniments() -> None:
    """A parts function of a registered class cannot raise through the encoder."""

    def fail(_: object) -> object:
        raise RuntimeError("no")

    types = ValueTypes().with_type(Text, "text", parts=fail, build=Text)
    with pytest.raises(MunimentError, match="cannot be taken apart: no"):
        encode(Text("a"), types)
