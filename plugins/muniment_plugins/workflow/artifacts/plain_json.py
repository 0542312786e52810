"""What callers give, as plain JSON of their own: copied, and sound.

    plain_json({"lineage": ("a", "b"), "relevance": 1.0}, At("artifact", "workflow"))
    {"lineage": ["a", "b"], "relevance": 1}

Rules:

- Tuples are lists, other mappings are objects. Anything else that JSON lacks is refused
  with its place: NaN, half a character, integers beyond 2^53 - 1, foreign objects.
- The answer shares nothing with what was given, so that nobody changes it later.
- Objects nest 32 deep at most; what contains itself nests deeper than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue, canonical, parse
from muniment.errors import ValueRefused

__all__ = ["DEEPEST", "json_text", "plain_json", "plain_object"]

DEEPEST = 32
_PLAIN = (str, int, float, bool)


def plain_json(value: object, at: At) -> JsonValue:
    """Return *value* as JSON, without anything that is shared with it.

    Raises:
        UsageError: it has no JSON form; the message names the place.

    """
    try:
        listed = _listed(value, None, 0)
    except _NoJsonError:
        listed = _listed(value, at, 0)  # slower, since it knows where it is
    try:
        return parse(canonical(listed))
    except ValueRefused as error:  # the walk looks at types, this at what they hold
        place = error.place.removeprefix("$").lstrip(".")
        there = at._replace(path=f"{at.path}.{place}".strip(".")) if place else at
        raise there.wrong(error.message, "value", "write it as JSON has it") from None


def plain_object(value: object, at: At) -> dict[str, JsonValue]:
    """Return the object *value* as JSON, without members that are null.

    Raises:
        UsageError: it is no object, or has no JSON form.

    """
    if not isinstance(value, Mapping):
        raise at.wrong(
            f"it is a {type(value).__name__}, not an object", "type", "write an object"
        )
    given = cast("object", value)
    plain = cast("dict[str, JsonValue]", plain_json(given, at))
    return {name: one for name, one in plain.items() if one is not None}


def json_text(value: JsonValue) -> str:
    """Return *value* as the one JSON text that RFC 8785 gives it."""
    return canonical(value).decode()


class _NoJsonError(Exception):
    """Something has no JSON form."""


def _listed(value: object, at: At | None, depth: int) -> JsonValue:
    """Return *value* with its tuples as lists and its mappings as objects."""
    if value is None or type(value) in _PLAIN:
        return cast("JsonValue", value)
    if isinstance(value, Mapping | list | tuple) and depth >= DEEPEST:
        raise _wrong(at, f"it nests deeper than {DEEPEST}", "depth", "make it flatter")
    if isinstance(value, Mapping):
        return {
            _name(key, at): _listed(one, at and at.key(str(key)), depth + 1)
            for key, one in cast("Mapping[object, object]", value).items()
        }
    if isinstance(value, list | tuple):
        return [
            _listed(one, at and at.item(number), depth + 1)
            for number, one in enumerate(cast("list[object]", value))
        ]
    message = f"a {type(value).__name__} is no value of JSON"
    raise _wrong(at, message, "type", "write it as a text")


def _name(key: object, at: At | None) -> str:
    if type(key) is not str:
        raise _wrong(at, f"the key {key!r:.60} is not a text", "type", "use a text")
    return key


def _wrong(at: At | None, message: str, mistake: str, remedy: str) -> Exception:
    return _NoJsonError() if at is None else at.wrong(message, mistake, remedy)
