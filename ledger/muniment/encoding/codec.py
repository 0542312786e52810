"""Python values in and out of JSON, exactly.

    >>> encode({"n": 3.0, "who": ("a", b"hi"), "$x": {2, 1}})
    {'n': {'$float': '3.0'}, 'who': {'$tuple': ['a', {'$bytes': 'aGk='}]},
     '$$x': {'$set': [1, 2]}}

Rules:

- ``decode(encode(v)) == v`` with equal types at every level, for every value that is
  accepted; all others are refused with their place. Never pickle.
- JSON values stay as they are. Every other value is an object with one member, its tag,
  whose name starts with ``$``. A user's key that starts with ``$`` gets one more.
- Only exact types: a subclass is refused unless it was registered by name.
- A ``dict`` with string keys has no order, like a JSON object; `settle` gives a program
  the order that the record will have. Dicts with other keys keep theirs (``$map``).
- The encoded form is at most 64 containers deep.

Specification: ``docs/spec/values.md``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, cast

from muniment.encoding.arrays import ARRAYS_BY_TAG, array_form
from muniment.encoding.canonical import MAX_DEPTH, JsonValue, canonical, parse, plainly
from muniment.encoding.native import is_plain
from muniment.encoding.registry import ValueType, ValueTypes
from muniment.encoding.scalars import SCALARS_BY_CLASS, SCALARS_BY_TAG, Scalar
from muniment.errors import (
    CannotTellError,
    MunimentError,
    RefusedError,
    ValueRefused,
    WrongError,
)

__all__ = ["ValueType", "ValueTypes", "decode", "encode", "settle", "written"]

_Container: TypeAlias = "dict[Any, Any] | list[Any]"
_Items: TypeAlias = "Iterable[object]"

_NO_TYPES = ValueTypes()


def encode(value: object, types: ValueTypes = _NO_TYPES) -> JsonValue:
    """Return *value* as JSON; plain JSON values as they are, not copied.

    Raises:
        ValueRefused: *value* has no exact form; ``place`` says where, like ``$.a[3]``.

    """
    if is_plain(value, 0):
        return cast("JsonValue", value)
    encoder = _Encoder(types)
    encoded = encoder.value(value, "$", 0)
    if encoder.met_registered:
        _refuse_unless_it_comes_back(encoded, types)
    return encoded


def written(value: object, types: ValueTypes = _NO_TYPES) -> tuple[JsonValue, bytes]:
    """Return *value* as JSON, and the canonical bytes of that.

    Raises:
        ValueRefused: as `encode`.

    """
    data = plainly(value)
    # No name that `encode` would escape. Searching for one byte first is ten times as
    # fast as searching for two.
    if data is not None and (b"$" not in data or b'"$' not in data):
        return cast("JsonValue", value), data
    encoded = encode(value, types)
    return encoded, canonical(encoded)


def decode(value: JsonValue, types: ValueTypes = _NO_TYPES) -> object:
    """Return the Python value that *value* encodes; the inverse of `encode`.

    Raises:
        WrongError: an unknown tag, or one whose content is malformed.
        CannotTellError: a type is not registered here, or its package not installed.

    """
    if is_plain(value, 0):
        return value
    return _Decoder(types).value(value, "$", 0)


def settle(value: object, types: ValueTypes = _NO_TYPES) -> object:
    """Return *value* as it will come out of the record: an equal, independent copy.

    Live code that gets it sees what a replay will see, down to the order of keys.

    Raises:
        ValueRefused: as `encode`.

    """
    return decode(parse(written(value, types)[1]), types)


def _refuse_unless_it_comes_back(encoded: JsonValue, types: ValueTypes) -> None:
    """Refuse a value if its registered classes do not rebuild an equal one."""
    try:
        again = _Encoder(types).value(_Decoder(types).value(encoded, "$", 0), "$", 0)
    except MunimentError as error:
        reason, place = error.message, error.place
    else:
        if canonical(again) == canonical(encoded):
            return
        reason, place = "putting it together again gives another value", "$"
    raise ValueRefused(
        f"a registered type does not come back equal: {reason}",
        rule="value/rebuild",
        place=place,
        remedy="register it with parts=… and build=… that are inverses",
    )


@dataclass(slots=True)
class _Encoder:
    """One walk over one value; `place` and `depth` are those of the encoded form."""

    types: ValueTypes
    met_registered: bool = False

    def value(self, value: object, place: str, depth: int) -> JsonValue:
        kind: type[object] = type(value)
        if kind is dict or kind is list:
            _check_depth(depth, place)
            return self._container(cast("_Container", value), place, depth)
        if is_plain(value, 0):
            return cast("JsonValue", value)
        if kind is str:
            _refuse_surrogate(place)
        _check_depth(depth, place)
        scalar = SCALARS_BY_CLASS.get(kind)
        if scalar is not None:
            return {scalar.tag: _written(scalar, value, place)}
        if kind is tuple:
            return {"$tuple": self._items(cast("_Items", value), place, depth + 1)}
        if kind is set or kind is frozenset:
            items = self._items(cast("_Items", value), place, depth + 1)
            return {f"${kind.__name__}": sorted(items, key=canonical)}
        return self._foreign(value, place, depth)

    def _container(self, value: _Container, place: str, depth: int) -> JsonValue:
        if isinstance(value, list):
            return self._items(value, place, depth)
        if any(type(key) is not str for key in value):
            return self._pairs(value, place, depth)
        encoded: dict[str, JsonValue] = {}
        for key, item in value.items():
            if not is_plain(key, 0):
                _refuse_surrogate(place)
            name = f"${key}" if key.startswith("$") else key
            encoded[name] = self.value(item, f"{place}.{key}", depth + 1)
        return encoded

    def _items(self, items: _Items, place: str, depth: int) -> list[JsonValue]:
        _check_depth(depth, place)
        return [
            self.value(item, f"{place}[{index}]", depth + 1)
            for index, item in enumerate(items)
        ]

    def _pairs(self, value: dict[Any, Any], place: str, depth: int) -> JsonValue:
        _check_depth(depth + 2, place)
        return {
            "$map": [
                [
                    self.value(key, f"{place}[{index}].key", depth + 3),
                    self.value(item, f"{place}[{index}].value", depth + 3),
                ]
                for index, (key, item) in enumerate(value.items())
            ]
        }

    def _foreign(self, value: object, place: str, depth: int) -> JsonValue:
        known = self.types.of(type(value))
        if known is not None:
            self.met_registered = True
            _check_depth(depth + 1, place)
            parts = _taken_apart(known, value, place)
            return {"$object": [known.name, self.value(parts, place, depth + 2)]}
        form = array_form(value)
        if form is None:
            _refuse_type(value, place)
        try:
            return {form.tag: base64.b64encode(form.write(value)).decode()}
        except MunimentError:
            raise
        except Exception as error:  # noqa: BLE001 - many kinds, all meaning: no form
            _refuse("array", str(error), place, "send it as plain values or as bytes")


@dataclass(frozen=True, slots=True)
class _Decoder:
    types: ValueTypes

    def value(self, value: object, place: str, depth: int) -> Any:
        kind: type[object] = type(value)
        if kind is not dict and kind is not list:
            if kind not in (str, int, float, bool, type(None)):
                _wrong("json", f"a {kind.__name__} is not a JSON value", place)
            return value
        if depth >= MAX_DEPTH:
            _wrong("depth", f"nested deeper than {MAX_DEPTH}", place[:80])
        if kind is list:
            return self._items(cast("list[object]", value), place, depth)
        return self._members(cast("dict[str, object]", value), place, depth)

    def _members(self, value: dict[str, object], place: str, depth: int) -> object:
        for key in value:
            if type(key) is not str:
                _wrong("json", f"a member name is a {type(key).__name__}", place)
            if key.startswith("$") and not key.startswith("$$"):
                return self._tagged(value, place, depth)
        return {
            key.removeprefix("$"): self.value(item, f"{place}.{key}", depth + 1)
            for key, item in value.items()
        }

    def _items(self, items: list[object], place: str, depth: int) -> list[Any]:
        return [
            self.value(item, f"{place}[{index}]", depth + 1)
            for index, item in enumerate(items)
        ]

    def _tagged(self, value: dict[str, object], place: str, depth: int) -> object:
        if len(value) != 1:
            _wrong("tag", "a tag stands beside other members", place)
        ((tag, content),) = value.items()
        try:
            return self._content(tag, content, place, depth + 1)
        except (WrongError, CannotTellError):
            raise
        except Exception as error:
            # Readers of many formats, and registered classes: whatever error they
            # raise, the content is not what its tag says.
            raise WrongError(
                f"the content of {tag} is malformed: {str(error)[:200]}",
                rule="value/content",
                place=place,
            ) from error

    def _content(self, tag: str, content: Any, place: str, depth: int) -> object:
        if tag in SCALARS_BY_TAG:
            return _read_scalar(SCALARS_BY_TAG[tag], content)
        if tag in ARRAYS_BY_TAG:
            data = base64.b64decode(content, validate=True)
            _expect(base64.b64encode(data).decode() == content, "base64")
            return ARRAYS_BY_TAG[tag].read(data)
        if tag not in ("$frozenset", "$map", "$object", "$set", "$tuple"):
            _wrong("tag", f"the tag {tag[:40]!r} is unknown", place)
        _expect(type(content) is list, "a list")
        if tag == "$object":
            return self._object(content, place, depth)
        items = self.value(content, place, depth)
        if tag == "$tuple":
            return tuple(items)
        if tag == "$map":
            return _read_map(items)
        keys = [canonical(item) for item in content]
        _expect(keys == sorted(keys), "items in canonical order")
        result = set(items) if tag == "$set" else frozenset(items)
        _expect(len(result) == len(items), "each item once")
        return result

    def _object(self, content: list[Any], place: str, depth: int) -> object:
        name, parts = content
        _expect(type(name) is str, "a name")
        known = self.types.named(name)
        if known is None:
            raise CannotTellError(
                f"no type is registered as {name[:200]!r}",
                rule="value/unregistered",
                place=place,
                remedy="register the class under this name before reading",
            )
        return known.build(self.value(parts, place, depth + 1))


def _read_scalar(scalar: Scalar, content: Any) -> object:
    _expect(type(content) is str, "a string")
    value = scalar.read(content)
    _expect(type(value) is scalar.cls, f"a {scalar.cls.__name__}")
    _expect(
        not is_plain(value, 0) and scalar.write(value) == content, "the one spelling"
    )
    return value


def _read_map(pairs: list[Any]) -> dict[Any, Any]:
    _expect(all(type(pair) is list and len(pair) == 2 for pair in pairs), "pairs")  # noqa: PLR2004 - a pair has two
    result = dict(pairs)
    _expect(len(result) == len(pairs), "each key once")
    _expect(any(type(key) is not str for key in result), "a key that is not a string")
    return result


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")


def _written(scalar: Scalar, value: object, place: str) -> str:
    try:
        text = scalar.write(value)
    except ValueError as error:
        _refuse(scalar.tag[1:], str(error), place, "send another form of it")
    if not is_plain(text, 0):
        _refuse_surrogate(place)
    return text


def _taken_apart(known: ValueType, value: object, place: str) -> object:
    try:
        return known.parts(value)
    except RefusedError:
        raise
    except Exception as error:  # noqa: BLE001 - the registered function's own errors
        _refuse(
            "object",
            f"{known.name} cannot be taken apart: {error}",
            place,
            "register it with parts=… and build=…",
        )


def _check_depth(depth: int, place: str) -> None:
    if depth >= MAX_DEPTH:
        _refuse(
            "depth",
            f"nested deeper than {MAX_DEPTH}, or inside itself",
            place[:80],
            "flatten it, or send parts of it",
        )


def _refuse_surrogate(place: str) -> NoReturn:
    _refuse(
        "surrogate",
        "a string holds a lone surrogate, which UTF-8 cannot carry",
        place,
        "send the bytes, or replace the surrogates",
    )


def _refuse_type(value: object, place: str) -> NoReturn:
    kind = type(value)
    base = kind.__base__
    like = "" if base in (None, object) else f", a kind of {base.__name__},"
    _refuse(
        "type",
        f"{kind.__qualname__}{like} has no exact form",
        place,
        "convert it to a plain value, or register its class",
    )


def _refuse(rule: str, message: str, place: str, remedy: str) -> NoReturn:
    raise ValueRefused(message, rule=f"value/{rule}", place=place, remedy=remedy)


def _wrong(rule: str, message: str, place: str) -> NoReturn:
    raise WrongError(message, rule=f"value/{rule}", place=place)
