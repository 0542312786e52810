"""JSON Schemas of parameters: the short form, and whether arguments fit.

    {"path": {"type": "string"}, "limit": {"type": "integer", "required": false}}

    {"type": "object", "properties": {"path": {"type": "string"}, "limit": {…}},
     "required": ["path"], "additionalProperties": false}

Rules:

- In the short form a parameter is required unless it says ``required: false`` or has a
  ``default``, here or in the function that is given as the tool's handler; and arguments
  that it does not name are refused. What has ``type: "object"``
  at its top is a schema already, and stays as it is.
- The dialect is 2020-12, and no other one is declared. A reference stays inside its
  schema: nothing is fetched, so a remote one is refused.
- A check takes a bounded number of steps, whoever wrote the schema: `bounded`.
- Checking arguments needs jsonschema: ``pip install 'muniment[workflow]'``.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from typing import Any, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import CannotTellError, ValueRefused
from muniment_plugins.workflow.tools.bounded import TooDeepError, faults_in, unbounded
from muniment_plugins.workflow.tools.patterns import StepsTaken
from muniment_plugins.workflow.tools.references import SchemaFault, dangling_reference

__all__ = [
    "SchemaFault",
    "argument_fault",
    "parameters_schema",
    "properties_of",
    "require_local",
    "require_schemas",
    "schema_fault",
]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LONGEST = 200
"""Characters of a message: more says no more."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def parameters_schema(
    value: JsonValue, at: At, optional: Collection[str] = ()
) -> dict[str, JsonValue] | None:
    """Return the schema that *value* says, in either form; None for None.

    Args:
        value: the parameters.
        at: where they stand.
        optional: those that the tool's function has defaults for, which the short form
            then does not require.

    Raises:
        UsageError: it is no object, or refers to something outside itself.

    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise at.wrong("the parameters are no object", "type", "write {name: {…}}")
    if isinstance(value.get("type"), str):
        if value["type"] != "object":
            raise at.key("type").wrong(
                f"parameters are an object, not {value['type']!r:.40}",
                "schema",
                "write a schema of an object, or {name: {…}}",
            )
        require_local(value, at)
        return value
    made = _from_short_form(value, at, optional)
    require_local(made, at)
    return made


def _from_short_form(
    value: dict[str, JsonValue], at: At, optional: Collection[str]
) -> dict[str, JsonValue]:
    properties: dict[str, JsonValue] = {}
    required: list[JsonValue] = []
    for name, row in sorted(value.items()):
        if not isinstance(row, dict):
            raise at.key(name).wrong(
                "it is no schema", "type", 'write {"type": "string"}'
            )
        flag = row.get("required")
        if not isinstance(flag, bool | list | None):
            raise (
                at.key(name)
                .key("required")
                .wrong("it is not true or false", "type", "write true or false")
            )
        nested = isinstance(flag, list)  # it is about the members of this parameter
        properties[name] = {k: v for k, v in row.items() if k != "required" or nested}
        left_out = flag is False or "default" in row or name in optional
        if flag is True or not left_out:
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def require_local(schema: JsonValue, at: At) -> None:
    """Refuse a schema that refers to something outside itself, or is in another dialect.

    Raises:
        UsageError: it does, or it is no JSON value.

    """
    if isinstance(schema, list):
        for number, one in enumerate(schema):
            require_local(one, at.item(number))
    if not isinstance(schema, dict):
        return
    for name, one in schema.items():
        if name in _REFERENCES and isinstance(one, str) and not one.startswith("#"):
            raise at.key(name).wrong(
                f"{one!r:.60} is not in this schema",
                "remote-reference",
                "put it into $defs, and refer to #/$defs/…",
            )
        if name == "$schema" and one != _DIALECT:
            raise at.key(name).wrong(
                f"{one!r:.60} is another dialect", "dialect", f"write {_DIALECT}"
            )
        require_local(one, at.key(name))


def schema_fault(schema: JsonValue) -> SchemaFault | None:
    """Return what is wrong with a schema itself; None if nothing is.

    Raises:
        CannotTellError: jsonschema is not installed.

    """
    library = _library()
    try:
        library.Draft202012Validator.check_schema(schema)
    except library.SchemaError as error:
        return SchemaFault(_dotted(error.absolute_path), _line(error.message))
    except RecursionError:
        return SchemaFault("", "it is too deep")
    return dangling_reference(schema) or unbounded(schema)


_SAID: Mapping[type[BaseException], str] = {
    StepsTaken: "the schema takes too many steps to hold it to",
    TooDeepError: "the schema cannot be followed so deep; it may be a circle",
}
_PANIC = "PanicException"
"""What parts of jsonschema raise at the end of the stack: no Exception."""


def argument_fault(schema: JsonValue, arguments: JsonValue) -> SchemaFault | None:
    """Return the first thing in *arguments* that does not fit *schema*; None if all does.

    Raises:
        CannotTellError: jsonschema is not installed.

    """
    try:
        canonical(arguments)
    except ValueRefused as error:
        return SchemaFault(error.place, error.message)
    library = _library()
    wrong = schema_fault(schema)
    if wrong is not None:
        return SchemaFault(wrong.place, f"the schema is wrong: {wrong.message}")
    try:
        found = sorted(
            faults_in(library, schema, arguments),
            key=lambda one: (_dotted(one.absolute_path), one.message),
        )
    except BaseException as error:
        name = type(error).__name__
        if not isinstance(error, Exception) and name != _PANIC:
            raise
        said = _SAID.get(type(error), f"the schema cannot be followed: {name}")
        return SchemaFault("", said)  # a loop, a reference to nothing: refused
    if not found:
        return None
    return SchemaFault(_dotted(found[0].absolute_path), _line(found[0].message))


def require_schemas(place: str) -> None:
    """Refuse to begin at *place* with what nobody could check.

    Raises:
        CannotTellError: jsonschema is not installed.

    """
    try:
        _library()
    except CannotTellError as error:
        error.place = place
        raise


def _library() -> Any:
    try:
        return importlib.import_module("jsonschema")
    except ImportError as error:
        raise CannotTellError(
            "arguments cannot be checked without jsonschema",
            rule="workflow/needs",
            remedy="pip install 'muniment[workflow]'",
        ) from error


def _dotted(path: Any) -> str:
    return ".".join(str(one) for one in path)


def _line(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"


def properties_of(schema: JsonValue) -> Mapping[str, JsonValue] | None:
    """Return the parameters that a schema names; None if it leaves others open."""
    if not isinstance(schema, dict):
        return None
    named = cast("Mapping[str, JsonValue]", schema.get("properties") or {})
    return named if schema.get("additionalProperties") is False or named else None
