"""A last answer that is a value: what the model is told about its schema.

Rule: the schema is checked before anything is asked; it refers to nothing outside itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.plain_json import json_text, plain_json
from muniment_plugins.workflow.tools.schemas import require_local, schema_fault

__all__ = ["require_schema", "with_schema"]


def with_schema(
    system: str | None, schema: Mapping[str, JsonValue] | None
) -> str | None:
    """Return what the model is told about itself, and about the form of its last answer."""
    if schema is None:
        return system
    told = (
        "Your last answer is one JSON value that fits this JSON Schema, and nothing "
        f"else:\n{json_text(dict(schema))}"
    )
    return told if system is None else f"{system}\n\n{told}"


def require_schema(schema: Mapping[str, JsonValue] | None, at: At) -> None:
    """Refuse a schema that is none.

    Raises:
        UsageError: it is none.
        CannotTellError: jsonschema is not installed.

    """
    if schema is None:
        return
    if not isinstance(cast("object", schema), Mapping):
        raise at.wrong(
            f"it is a {type(schema).__name__}, not an object",
            "type",
            'write JSON Schema, such as {"type": "object"}',
        )
    plain_json(dict(schema), at)
    require_local(dict(schema), at)
    wrong = schema_fault(dict(schema))
    if wrong is not None:
        raise at.wrong(wrong.message, "schema", "write JSON Schema")
