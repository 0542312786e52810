r"""One JSON value, one byte string (RFC 8785, JSON Canonicalization Scheme).

    >>> canonical({"b": 1, "a": [True, None, "é"]})
    b'{"a":[true,null,"\xc3\xa9"],"b":1}'

Rules:

- Only the JSON types, exactly: ``dict`` with ``str`` keys, ``list``, ``str``, ``int``,
  ``float``, ``bool``, ``None``. No subclass, no tuple, nothing that JSON lacks.
- Refused: NaN and infinities, integers beyond ±(2^53 - 1), lone surrogates, and
  nesting deeper than 64.
- Reading is strict: bytes that are not the canonical form of their value are wrong.

orjson with sorted keys writes the same bytes as RFC 8785 for values whose keys are ASCII
and whose floats have a fraction and need no exponent; other floats and everything else
go through ``rfc8785``. Specification: ``docs/spec/canonical.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, cast

import orjson

from muniment.encoding.scan import MANY, are_fractions, fits
from muniment.errors import ValueRefused, WrongError
from muniment.json_values import JsonValue

__all__ = [
    "MAX_DEPTH",
    "MAX_INTEGER",
    "JsonValue",
    "canonical",
    "parse",
    "parse_canonical",
    "plainly",
    "sha256_tag",
]

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_DECIMAL_FROM = 1e-4
"""Below this, writers differ in where an exponent begins."""

_EXPONENT_FROM = 1e21
"""From here on RFC 8785 writes an exponent, so that a float is not read as an int."""


def canonical(value: JsonValue) -> bytes:
    """Return the RFC 8785 bytes of *value*.

    Raises:
        ValueRefused: *value* has no canonical form; the message names the place.

    """
    data = plainly(value)
    if data is not None:
        return data
    try:
        return _by_rfc8785(value)
    except UnicodeEncodeError:
        raise ValueRefused(
            "a string holds a lone surrogate, which UTF-8 cannot carry",
            rule="canonical/surrogate",
            remedy="send the bytes, or replace the surrogates",
        ) from None


def plainly(value: object) -> bytes | None:
    """Return the RFC 8785 bytes of *value*, or None unless orjson can write them.

    The hot path of every write: each value is checked once and written once. Of a
    million measurements a few are small: only those are formatted one by one.
    """
    spelled: object
    if type(value) is str or _is_plain(value, 0):
        spelled = value
    elif fits([value], MAX_DEPTH, _are_ascii, are_fractions):
        spelled = _spelled(value)
    else:
        return None
    try:
        return orjson.dumps(spelled, option=_OPTIONS)
    except orjson.JSONEncodeError:  # an integer beyond 53 bits, or a surrogate
        return None


def parse(data: bytes) -> JsonValue:
    """Return the value of the JSON bytes *data*.

    Raises:
        WrongError: *data* is not JSON.

    """
    try:
        value: JsonValue = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise WrongError(str(error), rule="canonical/json") from None
    return value


def parse_canonical(data: bytes) -> JsonValue:
    """Return the value of *data*, which must be in canonical form.

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

    The hot path of every append and every verification, hence plain loops. It builds
    no path: `_refuse_foreign` finds the place again when something is refused.
    """
    kind: type[object] = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return True
    known: Any = value  # of one of these types
    if kind is float:
        return _is_decimal(known)
    if depth < MAX_DEPTH:
        if kind is dict:
            return _is_plain_object(known, depth + 1)
        if kind is list:
            if len(known) >= MANY:
                return fits(known, MAX_DEPTH - depth - 1, _are_ascii, _are_decimal)
            return _are_plain(known, depth + 1)
    return False


def _are_plain(items: list[Any], depth: int) -> bool:
    for item in items:
        if type(item) is not str and not _is_plain(item, depth):
            return False
    return True


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


def _is_decimal(number: float) -> bool:
    """Tell whether *number* has a fraction, and all writers write it alike."""
    return _DECIMAL_FROM <= abs(number) < _EXPONENT_FROM and not number.is_integer()


def _are_decimal(floats: Sequence[float]) -> bool:
    large = min(floats) >= _DECIMAL_FROM or min(map(abs, floats)) >= _DECIMAL_FROM
    return large and are_fractions(floats)  # which are smaller than 2^53


def _are_ascii(names: Iterable[str]) -> bool:
    return all(map(str.isascii, names))


def _spelled(value: Any) -> Any:
    """Return *value* with its small floats replaced by their written bytes."""
    kind = cast("type[object]", type(value))
    if kind is float and abs(value) < _DECIMAL_FROM:
        import rfc8785  # noqa: PLC0415 - few values need it

        return orjson.Fragment(rfc8785.dumps(value))
    if kind is list:
        return [
            one if type(one) is float and abs(one) >= _DECIMAL_FROM else _spelled(one)
            for one in value
        ]
    if kind is dict:
        return {name: _spelled(one) for name, one in value.items()}
    return value


def _by_rfc8785(value: JsonValue) -> bytes:
    _refuse_foreign(value, "$", 0)
    import rfc8785  # noqa: PLC0415 - only values with floats or non-ASCII keys need it

    return rfc8785.dumps(value)


def _refuse_foreign(value: object, place: str, depth: int) -> None:
    """Walk *value* as `_is_plain` does; refuse, with its place, what has no form."""
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
        remedy="muniment.encoding.codec encodes Python values that JSON lacks",
    )
