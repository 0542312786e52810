"""Every shape of payload that is not exactly a statement, made from one that is.

    for name, payload in shapes(statement): …     ("scalar null", b"null"), …

Rules: each is invalid by its construction alone, so that no verifier is asked which are;
`JSON` is a strategy for values, for what no table thinks of.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import rfc8785
from hypothesis import strategies

__all__ = ["JSON", "mutated", "paths", "shapes"]

SCALARS: list[Any] = [None, True, False, 0, 1, -1, 1.5, "", "x", "null"]
CONTAINERS: list[Any] = [[], {}, [None], [[]], {"": None}, {"predicate": None}]
OTHERS: list[Any] = [None, True, 7, -1, 1.5, [], {}, ["x"], {"x": 1}]
"""What stands in the place of a member; of another type than the member, or empty."""

BYTES = {
    "nothing": b"",
    "zero byte": b"\0",
    "not UTF-8": b"\xff\xfe",
    "null and a line end": b"null\n",
    "null in spaces": b" null ",
    "two values": b"null null",
    "NaN": b"NaN",
    "a byte order mark": b"\xef\xbb\xbfnull",
    "an open object": b'{"a":',
    "deep lists": b"[" * 30000 + b"]" * 30000,
    "deep objects": b'{"a":' * 10000 + b"1" + b"}" * 10000,
    "a large integer": b"9" * 5000,
    "a float that is none": b"1e400",
    "a lone surrogate": b'"\\ud800"',
    "too many bytes": b'"' + b"x" * 70000 + b'"',
    "not JSON": b"statement",
}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside *value*."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield (*path, name)
            yield from paths(item, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield (*path, number)
            yield from paths(item, (*path, number))


def mutated(statement: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return *statement* with *new* at *path*; without the member for `...`."""
    other = copy.deepcopy(statement)
    target = other
    for name in path[:-1]:
        target = target[name]
    if new is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = new
    return other


def shapes(statement: Any) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the bytes of each shape."""
    for value in [*SCALARS, *CONTAINERS]:
        yield f"value {json.dumps(value)}", rfc8785.dumps(value)
    for name, data in BYTES.items():
        yield name, data
    for path in paths(statement):
        at = ".".join(map(str, path))
        yield f"without {at}", rfc8785.dumps(mutated(statement, path, ...))
        for new in OTHERS:
            found = mutated(statement, path, new)
            if found != statement and (path[-1], new) != ("ordinal", 7):
                yield f"{at} = {json.dumps(new)}", rfc8785.dumps(found)
    whole = rfc8785.dumps(statement)
    for name, nested in (("list", [statement]), ("object", {"payload": statement})):
        yield f"nested in a {name}", rfc8785.dumps(nested)
    yield "nested as text", rfc8785.dumps(whole.decode())
    yield "added", rfc8785.dumps({**statement, "zzz": 1})
    yield (
        "added to predicate",
        rfc8785.dumps(
            {**statement, "predicate": {**statement["predicate"], "zzz": None}}
        ),
    )
    yield "a member twice", whole[:-1] + b',"subject":[]}'
    yield "in spaces", b" " + whole
    yield "with a line end", whole + b"\n"
    yield (
        "another order",
        json.dumps(statement, separators=(",", ":")).encode()[::1][:-1] + b" }",
    )


JSON = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers(-(2**60), 2**60)
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(max_size=8),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(strategies.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
"""Values that JSON can spell."""
