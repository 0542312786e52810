"""Declared data: its fields, and reading the plain ones.

    class NoteAdded(PlainData):
        text: Annotated[str, LARGE]
        details: Annotated[object, BLOB] = None

    Plain(NoteAdded).read({"text": "hm"})     {'text': 'hm', 'details': None}
    Plain(NoteAdded).read({"text": 1})        None: pydantic says what is wrong

Rules:

- A plain field is a ``str``, ``int``, ``float``, ``bool``, ``object``, a literal text,
  a list or a mapping by text of these, or one of them or None.
- The result is what pydantic would return in strict mode. Only exact types are read
  here; pydantic decides about all others.
- So a program that writes valid data never waits for pydantic to load.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from enum import Enum
from itertools import chain
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, cast

from muniment.errors import UsageError

__all__ = [
    "BLOB",
    "LARGE",
    "PUBLIC",
    "TEXT",
    "UNSURE",
    "VEILED",
    "VOLATILE",
    "Check",
    "Mark",
    "Plain",
    "PlainData",
    "check_of",
    "fields_of",
]


class Mark(Enum):
    """A property of a field of an event's data, beyond its Python type."""

    BLOB = "blob"
    LARGE = "large"
    TEXT = "text"
    PUBLIC = "public"
    VOLATILE = "volatile"
    VEILED = "veiled"


BLOB, LARGE, TEXT, PUBLIC, VOLATILE, VEILED = Mark


class PlainData:
    """The base of declarations of plain fields: an `EventData` that loads faster.

    It only declares and is never instantiated. Values are as strict and fields as
    closed as in `EventData`.
    """


class _Unsure(Enum):
    """The answer of a check if pydantic has to decide."""

    UNSURE = "unsure"


UNSURE = _Unsure.UNSURE
"""The answer of a `Check` about a value that is not exactly of its type."""

Check: TypeAlias = Callable[[Any], Any]
"""Takes a value; returns the value as read, or `UNSURE`."""

_EXACT_INTEGERS = 2**53
"""Up to here a float represents every integer exactly."""


def fields_of(declared: type[PlainData]) -> dict[str, Any]:
    """Return the annotation of each field of *declared*, in its order."""
    return typing.get_type_hints(declared, include_extras=True)


class Plain:
    """Reads the data that a `PlainData` declares."""

    __slots__ = ("_fields",)

    def __init__(self, declared: type[PlainData]) -> None:
        """Analyse the fields of *declared* once.

        Raises:
            UsageError: a field is not plain.

        """
        self._fields: dict[str, tuple[Check, object]] = {
            name: (
                check_of(kind, f"{declared.__qualname__}.{name}"),
                getattr(declared, name, UNSURE),
            )
            for name, kind in fields_of(declared).items()
        }

    def read(self, given: Mapping[str, object]) -> dict[str, object] | None:
        """Return the value of every field, defaults included; None when unsure."""
        values: dict[str, object] = {}
        for name, (check, default) in self._fields.items():
            value = check(given.get(name, default))
            if value is UNSURE:
                return None
            values[name] = value
        return values if given.keys() <= values.keys() else None


def check_of(kind: Any, place: str) -> Check:
    """Return the check that reads values of the annotation *kind*."""
    if kind in _CHECKS:
        return _CHECKS[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated and all(isinstance(one, Mark) for one in arguments[1:]):
        return check_of(arguments[0], place)
    if origin is list:
        return _list_of(check_of(arguments[0], place))
    if origin is dict and arguments[0] is str:
        return _dict_of(check_of(arguments[1], place))
    if origin is Literal and all(type(one) is str for one in arguments):
        return _one_of(arguments)
    if origin is UnionType and len(arguments) == 2 and arguments[1] is type(None):  # noqa: PLR2004 - it or None
        return _or_none(check_of(arguments[0], place))
    raise UsageError(
        f"{kind} is not plain",
        rule="event/plain",
        place=place,
        remedy="let the declaration be an EventData",
    )


def _anything(value: object) -> object:
    return value


def _exactly(kind: type) -> Check:
    def check(value: object) -> object:
        return value if type(value) is kind else UNSURE

    return check


def _float(value: object) -> object:
    if type(value) is int and abs(value) <= _EXACT_INTEGERS:
        return float(value)
    return value if type(value) is float else UNSURE


def _one_of(texts: tuple[str, ...]) -> Check:
    def check(value: object) -> object:
        return value if type(value) is str and value in texts else UNSURE

    return check


def _or_none(inner: Check) -> Check:
    def check(value: object) -> object:
        return None if value is None else inner(value)

    return check


def _list_of(inner: Check) -> Check:
    def check(value: object) -> object:
        if type(value) is not list:
            return UNSURE
        read: list[object] = []
        for one in cast("list[object]", value):
            found = inner(one)
            if found is UNSURE:
                return UNSURE
            read.append(found)
        return read

    return check


def _rows(value: object) -> object:
    """Read a list of mappings of anything, all of them at once: there may be many."""
    if type(value) is not list:
        return UNSURE
    rows = cast("list[dict[str, object]]", value)
    if not {*map(type, rows)} <= {dict}:
        return UNSURE
    if not {*map(type, chain.from_iterable(rows))} <= {str}:
        return UNSURE
    return [{**row} for row in rows]


def _dict_of(inner: Check) -> Check:
    def check(value: object) -> object:
        if type(value) is not dict:
            return UNSURE
        read: dict[object, object] = {}
        for key, item in cast("dict[object, object]", value).items():
            read[key] = one = inner(item)
            if type(key) is not str or one is UNSURE:
                return UNSURE
        return read

    return check


_CHECKS: Mapping[Any, Check] = {
    str: _exactly(str),
    int: _exactly(int),
    bool: _exactly(bool),
    float: _float,
    object: _anything,
    list[dict[str, object]]: _rows,
}
