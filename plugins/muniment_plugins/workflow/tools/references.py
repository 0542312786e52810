"""References in a JSON Schema that lead to nothing.

    {"$ref": "#/$defs/none"}        SchemaFault("$ref", "'#/$defs/none' is not there")

Rule: a reference is a pointer into its schema, or the name of an anchor in it. Values of
``const``, ``enum``, ``default`` and ``examples`` are data, in which nothing refers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from muniment.encoding.canonical import JsonValue

__all__ = ["SchemaFault", "dangling_reference", "schemas_in"]

_REFERENCES = ("$ref", "$dynamicRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_DATA = frozenset({"const", "enum", "default", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
"""Keywords whose members have names of the author's own."""


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """Why a value does not fit a schema."""

    place: str
    """The way to the value, dotted; empty for the whole."""
    message: str


def dangling_reference(schema: JsonValue) -> SchemaFault | None:
    """Return the first reference in *schema* that leads to nothing; None if all lead."""
    parts = list(schemas_in(schema))
    anchors = {str(one.get(key)) for _, one in parts for key in _ANCHORS}
    if any("$id" in one for way, one in parts if way):
        return None  # pointers may begin there: whoever applies the schema finds out
    for way, one in parts:
        for key in _REFERENCES:
            value = one.get(key)
            if not isinstance(value, str) or not value.startswith("#"):
                continue
            if value[1:] in anchors or _is_there(schema, value[1:]):
                continue
            place = ".".join((*way, key))
            return SchemaFault(place, f"{value!r:.60} is not there")
    return None


def schemas_in(
    value: JsonValue, way: tuple[str, ...] = (), named: bool = False
) -> Iterator[tuple[tuple[str, ...], dict[str, JsonValue]]]:
    """Yield the schemas in *value*, each with the way to it."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from schemas_in(one, (*way, str(number)))
    if not isinstance(value, dict):
        return
    if not named:
        yield way, value
    for key, one in value.items():
        if named or key not in _DATA:
            yield from schemas_in(one, (*way, key), not named and key in _NAMED)


def _is_there(schema: JsonValue, pointer: str) -> bool:
    """Tell whether a *pointer* of JSON (RFC 6901), percent-encoded, leads somewhere."""
    if pointer and not pointer.startswith("/"):
        return False
    found = schema
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return False
    return True
