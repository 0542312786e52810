"""JSON as anybody may send it, drawn: what a parser changes comes up all the time.

Names, numbers and texts are from small pools, so that two drawn texts are often near each
other: one value spelled in two ways, or two values that one parser takes for one.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

from hypothesis import strategies as st

__all__ = ["ODD", "bodies", "meaning", "meaning_of_value"]

NUMBERS = (
    *(
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "1.0",
        "1e0",
        "10e-1",
        "1.5",
        "15e-1",
        "100",
        "1e2",
    ),
    *("0.1", "0.10", "0.1000000000000000055", "0.30000000000000004", "1e-7", "1e-400"),
    *("12345678901234567890", "12345678901234567891", "12345678901234567890.5"),
    *("9007199254740993", "9007199254740993.0", "9007199254740992.0", "1e22", "1e23"),
    *("1e400", "1e401", "-1e400", "NaN", "Infinity", "-Infinity", "5e-324", "4e-324"),
    *("1e99999999999999999999", "1e-99999999999999999999", "9" * 5000, "0e9"),
)
NAMES = ('"a"', r'"\u0061"', '"b"', '"$a"', '"$float"', '"é"', r'"\ud800"', '""')
TEXTS = (
    *('"x"', r'"\u0078"', r'"\ud83d\ude00"', '"😀"', r'"\ud83d"', r'"\ude00"', '"é"'),
    *('"[volatile]"', '"1.0"', r'"\n"', '"\n"', r'"\/"', '"/"', '"$int"'),
)
WORDS = ("true", "false", "null")
SPACE = ("", " ", "\n", "\t \r")


def _container(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    space = st.sampled_from(SPACE)
    member = st.tuples(st.sampled_from(NAMES), space, inner).map(
        lambda one: f"{one[0]}{one[1]}:{one[1]}{one[2]}"
    )
    lists = st.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
    objects = st.lists(member, max_size=3).map(lambda parts: f"{{{','.join(parts)}}}")
    return st.tuples(space, lists | objects, space).map("".join)


def _deep(one: tuple[int, str]) -> str:
    depth, text = one
    return '{"d":' * depth + text + "}" * depth


def bodies() -> st.SearchStrategy[bytes]:
    """Draw the bytes of JSON: odd numbers, names and texts, in any depth and code."""
    leaf = st.sampled_from((*NUMBERS, *TEXTS, *WORDS))
    texts = st.recursive(leaf, _container, max_leaves=5)
    deep = st.tuples(st.sampled_from((60, 61, 62, 63, 64, 2000)), leaf).map(_deep)
    any_text = st.one_of(texts, texts, texts, deep)
    codes = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32")
    return st.tuples(any_text, st.sampled_from(codes)).map(
        lambda one: one[0].encode(one[1], "surrogatepass")
    )


ODD = {
    "twice": b'{"a": 1, "a": 2}',
    "twice-spelled": rb'{"a": 1, "\u0061": 2}',
    "twice-below": b'{"b": [{"a": 1, "a": 2}]}',
    "too-large": b'{"a": 1e400}',
    "too-small": b'{"a": 1e-400}',
    "too-exact": b'{"a": 12345678901234567890.5}',
    "more-digits": b'{"a": 0.1000000000000000055}',
    "signed-zero": b'{"a": -0}',
    "not-a-number": b'{"a": NaN}',
    "infinite": b'{"a": -Infinity}',
    "half-a-character": rb'{"a": "\ud800"}',
    "marked": b'\xef\xbb\xbf{"a": 1}',
    "utf-16": '{"a": 1}'.encode("utf-16-le"),
    "deep": b'{"a":' * 70 + b"1" + b"}" * 70,
    "deeper": b'{"a":' * 90_000 + b"1" + b"}" * 90_000,
}
"""Bodies that no record can parse and say exactly the same, by what is odd in them."""


class _Members(list[tuple[str, Any]]):
    """The members of an object, as they stand."""


def meaning(body: bytes) -> Any:
    """Return what *body* says, by another parser: all members, numbers as they are.

    Raises:
        ValueError: it is no JSON.

    """
    value = json.loads(
        body.decode(),
        object_pairs_hook=_Members,
        parse_float=_number,
        parse_int=_number,
        parse_constant=lambda name: ("constant", name),
    )
    return _meaning(value)


def meaning_of_value(value: Any) -> Any:
    """Return the same of a value that was read from a record."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(repr(value))
    if isinstance(value, dict):
        pairs = [(name, meaning_of_value(one)) for name, one in value.items()]
        return ("object", *sorted(pairs, key=repr))
    if isinstance(value, list):
        return ("list", *map(meaning_of_value, value))
    return _meaning(value)


def _meaning(value: Any) -> Any:
    if isinstance(value, _Members):
        pairs = [(name, _meaning(one)) for name, one in value]
        return ("object", *sorted(pairs, key=repr))
    if isinstance(value, list):
        return ("list", *map(_meaning, value))
    return value if isinstance(value, tuple) else (type(value).__name__, value)


def _number(text: str) -> Any:
    """Return a number as its sign, and digits and exponent without zeros behind."""
    try:
        number = Decimal(text)
    except InvalidOperation:  # beyond what even decimals are
        return ("number", text)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    told = "".join(map(str, digits)).lstrip("0")
    short = told.rstrip("0")
    return ("number", sign, short, exponent + len(told) - len(short) if short else 0)
