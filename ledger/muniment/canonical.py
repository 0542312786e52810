r"""One JSON value, one byte string (RFC 8785, JSON Canonicalization Scheme).

    >>> canonical({"b": 1, "a": [True, None, "é"]})
    b'{"a":[true,null,"\xc3\xa9"],"b":1}'

Rules:

- Only the JSON types, exactly: ``dict`` with ``str`` keys, ``list``, ``str``, ``int``,
  ``float``, ``bool``, ``None``. No subclass, no tuple, nothing that JSON has not.
- Refused: NaN and infinities, integers beyond ±(2^53 - 1), lone surrogates, and
  nesting deeper than 64.
- Reading is strict: bytes that are not the canonical form of what they say are wrong.

orjson with sorted keys writes the same bytes as RFC 8785 for values whose keys are ASCII
and whose floats have a fraction and need no exponent; everything else goes through
``rfc8785``. Specification:
``docs/spec/canonical.md``.
"""

from __future__ import annotations

import hashlib
from math import isfinite
from typing import Any, TypeAlias, cast

import orjson

from muniment.errors import ValueRefused, WrongError

__all__ = [
    "MAX_DEPTH",
    "MAX_INTEGER",
    "JsonValue",
    "canonical",
    "parse",
    "parse_canonical",
    "sha256_tag",
]

JsonValue: TypeAlias = (
    "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"
)

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_DECIMAL_FROM = 1e-4
"""Below this, writers differ in where an exponent begins."""

_AS_THEY_ARE = frozenset({str, int, bool, type(None)})

_EXPONENT_FROM = 1e21
"""From here on RFC 8785 writes an exponent, so that a float is not read as an int."""


def canonical(value: JsonValue) -> bytes:
    """Return the RFC 8785 bytes of *value*.

    Raises:
        ValueRefused: *value* has no canonical form; the message names the place.

    """
    if _is_plain(value, 0):
        try:
            return orjson.dumps(value, option=_OPTIONS)
        except orjson.JSONEncodeError:
            pass  # an integer beyond 53 bits, or a surrogate: found below, with its place
    try:
        return _by_rfc8785(value)
    except UnicodeEncodeError:
        raise ValueRefused(
            "a string holds a lone surrogate, which UTF-8 cannot carry",
            rule="canonical/surrogate",
            remedy="send the bytes, or replace the surrogates",
        ) from None


def parse(data: bytes) -> JsonValue:
    """Return the value that JSON bytes *data* say.

    Raises:
        WrongError: *data* is not JSON.

    """
    try:
        value: JsonValue = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise WrongError(str(error), rule="canonical/json") from None
    return value


def parse_canonical(data: bytes) -> JsonValue:
    """Return the value of *data*, which must be its own canonical form.

    Duplicate members, ``1.0`` for ``1``, spaces and every other difference between
    parsers end here: what is signed has exactly one spelling.

    Raises:
        WrongError: *data* is not JSON, or not in canonical form.

    """
    value = parse(data)
    try:
        same = canonical(value) == data
    except ValueRefused as error:
        raise WrongError(error.message, rule=error.rule, place=error.place) from None
    if not same:
        raise WrongError("not in canonical form (RFC 8785)", rule="canonical/form")
    return value


def sha256_tag(data: bytes) -> str:
    """Return ``sha256:<hex>``: a digest always carries its algorithm."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _is_plain(value: object, depth: int) -> bool:
    """Tell whether orjson writes *value* as RFC 8785 does, or refuses it.

    The hot path of every append and of every verification, hence plain loops; no
    path is built here, `_refuse_foreign` finds it again when something is refused.
    """
    kind: type[object] = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return True
    if kind is float:
        number = cast("float", value)
        return _DECIMAL_FROM <= abs(number) < _EXPONENT_FROM and not number.is_integer()
    if depth < MAX_DEPTH:
        if kind is dict:
            return _is_plain_object(cast("dict[object, object]", value), depth + 1)
        if kind is list:
            return _is_plain_list(cast("list[Any]", value), depth + 1)
    return False


def _is_plain_list(items: list[Any], depth: int) -> bool:
    """Tell it of many items without a call for each: most lists hold one kind."""
    kinds: set[type[object]] = set(map(type, items))
    if kinds <= _AS_THEY_ARE:
        return True
    if kinds == {float}:
        # What has a fraction is smaller than 2^53; NaN and infinities are not finite.
        return (
            all(map(isfinite, items))
            and not any(map(float.is_integer, items))
            and bool(min(map(float.__abs__, items)) >= _DECIMAL_FROM)
        )
    return all(_is_plain(item, depth) for item in items)


def _is_plain_object(value: dict[object, object], depth: int) -> bool:
    for key, item in value.items():
        if type(key) is not str or not key.isascii():
            return False
        kind: type[object] = type(item)
        if kind is str:
            continue
        if kind is dict and depth < MAX_DEPTH:
            if not _is_plain_object(item, depth + 1):  # type: ignore[arg-type]
                return False
        elif not _is_plain(item, depth):
            return False
    return True


def _by_rfc8785(value: JsonValue) -> bytes:
    _refuse_foreign(value, "$", 0)
    import rfc8785  # noqa: PLC0415 - only values with floats or non-ASCII keys need it

    return rfc8785.dumps(value)


def _refuse_foreign(value: object, place: str, depth: int) -> None:
    """Walk *value* as `_is_plain` does, naming what no canonical form can hold."""
    kind = type(value)
    if kind is str:
        value.encode()  # type: ignore[attr-defined]
    elif kind is bool or value is None:
        pass
    elif kind is int:
        if abs(value) > MAX_INTEGER:  # type: ignore[arg-type]
            _refuse("integer", "an integer beyond ±(2^53 - 1)", place)
    elif kind is float:
        if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
            _refuse("float", f"the number {value} has no JSON form", place)
        if MAX_INTEGER < abs(value) < _EXPONENT_FROM:  # type: ignore[arg-type]
            _refuse("integer", "a float that would be read as a large integer", place)
    elif kind is dict or kind is list:
        if depth >= MAX_DEPTH:
            _refuse("depth", f"nested deeper than {MAX_DEPTH}", place[:80])
        _refuse_inside(value, place, depth + 1)  # type: ignore[arg-type]
    else:
        _refuse("type", f"a {kind.__name__} is not a JSON value", place)


def _refuse_inside(
    value: dict[object, object] | list[object], place: str, depth: int
) -> None:
    if isinstance(value, list):
        for position, item in enumerate(value):
            _refuse_foreign(item, f"{place}[{position}]", depth)
        return
    for key, item in value.items():
        if type(key) is not str:
            _refuse("key", f"a member name is a {type(key).__name__}", place)
        key.encode()  # type: ignore[attr-defined]
        _refuse_foreign(item, f"{place}.{key}", depth)


def _refuse(rule: str, message: str, place: str) -> None:
    raise ValueRefused(
        message,
        rule=f"canonical/{rule}",
        place=place,
        remedy="muniment.values encodes Python values that JSON lacks",
    )
