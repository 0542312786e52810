"""What a tool works with where a call gives nothing: the defaults of its schema, its function.

    with_defaults({"properties": {"path": {"default": "docs"}}}, {}, ["path"])
    {"path": "docs"}

Rules:

- A default stands for what is absent. What is given as null stays null.
- Names are dotted, and lead through objects, lists and references within the schema. The
  default of an object on the way counts as well.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from muniment.encoding.canonical import JsonValue

__all__ = ["defaults_of", "with_defaults"]

Object = Mapping[str, JsonValue]
_DEEPEST = 32
"""References that are followed for one name."""


def with_defaults(
    schema: JsonValue, arguments: Object, names: Iterable[str]
) -> dict[str, JsonValue]:
    """Return *arguments* with what *schema* states for those of *names* that are absent."""
    made: JsonValue = dict(arguments)
    for name in names:
        made = _filled(schema, schema, made, tuple(name.split(".")))
        if "." in name:  # it may be a name as it is
            made = _filled(schema, schema, made, (name,))
    return cast("dict[str, JsonValue]", made)


def _filled(
    whole: JsonValue, schema: JsonValue, value: JsonValue, names: tuple[str, ...]
) -> JsonValue:
    found = _followed(whole, schema)
    if isinstance(value, list) and names:
        return [_filled(whole, found.get("items"), one, names) for one in value]
    if not isinstance(value, dict) or not names:
        return value
    named = found.get("properties")
    inner = _followed(whole, named.get(names[0]) if isinstance(named, dict) else None)
    if names[0] in value:
        below = value[names[0]]
    elif "default" in inner:
        below = inner["default"]
    else:
        return value
    return {**value, names[0]: _filled(whole, inner, below, names[1:])}


def _followed(whole: JsonValue, schema: JsonValue) -> dict[str, JsonValue]:
    """Return *schema*, what it refers to within *whole* below its own members."""
    found: dict[str, JsonValue] = {}
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            break
        found = {**schema, **found}
        at = schema.get("$ref")
        if not isinstance(at, str) or not at.startswith("#/"):
            break
        schema = whole
        for part in at[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name) if isinstance(schema, dict) else None
    return found


def defaults_of(function: Callable[..., Any] | None) -> dict[str, JsonValue]:
    """Return the paths that *function* takes where nothing is given, by parameter."""
    if function is None:
        return {}
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return {}
    found: dict[str, JsonValue] = {}
    for name, one in known.items():
        given = one.default
        if isinstance(given, str | os.PathLike):
            found[name] = os.fspath(cast("str", given))
        elif isinstance(given, list | tuple) and given:
            found[name] = [str(path) for path in cast("Iterable[object]", given)]
    return found
