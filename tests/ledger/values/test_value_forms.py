"""The exact form of each kind of value, and each refusal by rule and place."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import math
import subprocess
import sys
import uuid
import zoneinfo
from collections import Counter, OrderedDict, namedtuple
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest

from drawn_values import Access, Colour, Counted, Point, Reply, Ticket
from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import ValueTypes, decode, encode, settle
from muniment.errors import (
    ValueRefused,
    WrongError,
)


@dataclasses.dataclass
class Growing:
    """A dataclass that is not what it was given."""

    size: int

    def __post_init__(self) -> None:
        """Grow."""
        self.size += 1


class Loud(enum.StrEnum):
    """An enumeration that nobody registers."""

    YES = "yes"


class Text(str):
    """A kind of str."""

    __slots__ = ()


TYPES = (
    ValueTypes()
    .with_type(Ticket, "test.Ticket")
    .with_type(Counted)
    .with_type(Reply, "test.Reply")
    .with_type(Colour, "test.Colour")
    .with_type(Access, "test.Access")
    .with_type(Point, "test.Point")
    .with_type(Fraction, "fraction", parts=str, build=Fraction)
)


def _kind(value: object) -> str:
    # What a test is called must be the same in every process.
    return value if isinstance(value, str) and value.isalpha() else type(value).__name__


def same(left: Any, right: Any) -> bool:
    """Tell whether two small values are equal with equal types, down to the sign."""
    if isinstance(left, set | frozenset):
        return type(left) is type(right) and bool(left == right)
    return type(left) is type(right) and repr(left) == repr(right)


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
        (
            dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(microseconds=1))),
            "datetime",
            "$",
        ),
        (10**4400, "int", "$"),
        (_nested(1, 65), "depth", "$" + "[0]" * 26 + "["),
        (_nested(1.0, 64), "depth", "$" + "[0]" * 26 + "["),
        (_nested({1: 1}, 62), "depth", None),
        (_nested((), 63), "depth", None),
        (_nested(Ticket(1), 62), "depth", None),
        (_cycle(), "depth", None),
        ([Growing(1)], "type", "$[0]"),
        ({"x": _stray()}, "object", "$.x"),
        (np.array([object()]), "array", "$"),
        (np.array([1], dtype=np.dtype("i8", metadata={"a": 1})), "array", "$"),
        (np.str_("a\0"), "array", "$"),
        (np.longdouble(1), "array", "$"),
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
    inner: tuple[tuple[object, int], ...] = ((1.0, 63), ((), 62), ({1: 1}, 61))
    for item, levels in inner:
        value = _nested(item, levels)
        assert same(settle(value), value)


def test_named_forms_do_not_follow_the_context() -> None:
    """The spelling of a Decimal ignores the thread's decimal context."""
    with decimal.localcontext() as context:
        context.capitals = 0
        context.prec = 2
        assert encode(decimal.Decimal("1.234E+9")) == {"$decimal": "1.234E+9"}


def test_fortran_order_and_byte_order_come_back() -> None:
    """Arrays keep their dtype's byte order and their memory order."""
    array = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    back = settle(array)
    assert isinstance(back, np.ndarray)
    assert back.dtype == array.dtype
    assert back.flags.f_contiguous
    assert (back == array).all()


def test_bytes_after_an_array_are_wrong() -> None:
    """The bytes of an array end where the array ends."""
    content = base64.b64decode(encode(np.zeros(2))["$ndarray"])  # type: ignore[index, call-overload, arg-type]
    with pytest.raises(WrongError, match="bytes after the array"):
        decode({"$ndarray": base64.b64encode(content + b"\0").decode()})


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
        "import sys, muniment.encoding.codec as v; v.encode({1: b'', 'a': (1.0, v)[:1]});"
        "print([m for m in ('numpy', 'pyarrow', 'pandas', 'pydantic')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
