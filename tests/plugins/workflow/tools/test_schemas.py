"""Schemas of parameters: the short form, references, and arguments that do not fit."""

from __future__ import annotations

import importlib
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muniment.documents.places import At
from muniment.errors import CannotTellError, UsageError
from muniment_plugins.workflow.tools.schemas import (
    argument_fault,
    parameters_schema,
    schema_fault,
)

AT = At("tool", "workflow")
NAMES = st.sampled_from(("a", "type_", "path", "id"))


def schema(value: Any) -> Any:
    """Read parameters."""
    return parameters_schema(value, AT)


def test_short_form() -> None:
    """Parameters by name are required unless they say otherwise, and no others fit."""
    assert schema(
        {
            "path": {"type": "string"},
            "limit": {"type": "integer", "required": False},
            "all": {"type": "boolean", "default": False},
            "in": {"type": "object", "required": ["x"]},
        }
    ) == {
        "type": "object",
        "properties": {
            "all": {"type": "boolean", "default": False},
            "in": {"type": "object", "required": ["x"]},
            "limit": {"type": "integer"},
            "path": {"type": "string"},
        },
        "required": ["in", "path"],
        "additionalProperties": False,
    }
    assert schema(None) is None
    assert schema({})["properties"] == {}


@given(
    st.dictionaries(
        NAMES,
        st.fixed_dictionaries(
            {"type": st.sampled_from(("string", "object"))},
            optional={"required": st.booleans(), "default": st.none()},
        ),
    )
)
def test_short_form_twice_is_once(value: Any) -> None:
    """What was made from the short form stays as it is."""
    made = schema(value)

    assert schema(made) == made


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://x/y"}}},
        {"type": "object", "$ref": "file:///etc/passwd"},
        {"type": "object", "allOf": [{"$ref": "x.json"}]},
        {"type": "object", "$dynamicRef": "//x"},
        {"type": "object", "$schema": "http://json-schema.org/draft-04/schema#"},
        {"a": {"items": {"$ref": "urn:x"}}},
    ],
)
def test_remote_references_are_refused(wrong: Any) -> None:
    """No schema leads outside itself, however deep the reference is."""
    with pytest.raises(UsageError, match=r"not in this schema|dialect"):
        schema(wrong)


def below(frames: int, ask: Callable[[], Any]) -> Any:
    """Return what *ask* gives from so many frames further down."""
    return ask() if frames == 0 else below(frames - 1, ask)


@pytest.mark.parametrize("frames", [0, 100, 300])
@pytest.mark.parametrize(
    "circle",
    [
        {"$ref": "#"},
        {"not": {"$ref": "#"}},
        {"anyOf": [{"$ref": "#"}]},
        {"properties": {"a": {"not": {"$ref": "#/properties/a"}}}},
    ],
    ids=str,
)
def test_a_circle_is_refused_wherever_it_is_asked(
    circle: dict[str, Any], frames: int
) -> None:
    """The answer is the same from a deep stack: a replay may stand elsewhere."""
    fault = below(frames, lambda: argument_fault(circle, {"a": 1}))

    assert fault is not None
    assert fault.message == "the schema cannot be followed so deep; it may be a circle"


def test_a_deep_tree_is_followed() -> None:
    """A value as deep as arguments may be is held to a schema that refers to itself."""
    tree: Any = {
        "anyOf": [{"type": "string"}, {"properties": {"in": {"$ref": "#"}}}],
        "type": ["object", "string"],
    }
    deep: Any = "x"
    for _ in range(31):
        deep = {"in": deep}
    wrong: Any = 1
    for _ in range(31):
        wrong = {"in": wrong}

    assert argument_fault(tree, deep) is None
    fault = argument_fault(tree, wrong)
    assert fault is not None
    assert "circle" not in fault.message


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference that was not refused before is not followed either."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket, "socket", refuse)
    fault = argument_fault({"$ref": "http://127.0.0.1:9/x"}, {})

    assert fault is not None
    assert "cannot be followed" in fault.message


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({}, ""),
        ({"path": 1}, "path"),
        ({"path": "a", "extra": 1}, ""),
        ({"path": "a", "in": [{"x": 1}, {"x": "a"}]}, "in.1.x"),
        ({"path": float("nan")}, "path"),
        ([], ""),
        ("path", ""),
        (None, ""),
    ],
)
def test_arguments_that_do_not_fit(arguments: Any, place: str) -> None:
    """The first fault is named by its place."""
    fits = schema(
        {
            "path": {"type": "string"},
            "in": {
                "type": "array",
                "required": False,
                "items": {"properties": {"x": {"type": "integer"}}},
            },
        }
    )
    fault = argument_fault(fits, arguments)

    assert fault is not None
    assert fault.place.endswith(place)
    assert len(fault.message) < 300
    assert argument_fault(fits, {"path": "a", "in": [{"x": 1}]}) is None


@pytest.mark.parametrize(
    "odd",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"type": "strnig"},
        {"pattern": "("},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_odd_schemas_allow_nothing(odd: Any) -> None:
    """A schema that loops, leads nowhere or is none refuses, and does not raise."""
    assert argument_fault(odd, {"a": "x"}) is not None or odd == {"pattern": "("}


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be checked is not allowed; the message says what to install."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)

    with pytest.raises(CannotTellError, match=r"muniment\[workflow\]"):
        argument_fault({}, {})


SLOW = "a" * 400 + "!"


def doubling(levels: int) -> dict[str, Any]:
    """Return a schema whose references double at each level."""
    defs: dict[str, Any] = {"n0": {"type": "string"}}
    for n in range(levels):
        defs[f"n{n + 1}"] = {"allOf": [{"$ref": f"#/$defs/n{n}"}] * 2}
    return {
        "type": "object",
        "properties": {"a": {"$ref": f"#/$defs/n{levels}"}},
        "$defs": defs,
    }


def of_a(schema: Any) -> Any:
    """Return a schema of an object with that *schema* for its member ``a``."""
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (of_a({"pattern": "^(a+)+$"}), SLOW),
        (
            of_a({"patternProperties": {"^(a+)+$": False}, "minProperties": 2}),
            {SLOW: 1},
        ),
        (
            of_a({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}),
            {SLOW: 1},
        ),
        (
            of_a({"$ref": "#/properties/b"})
            | {
                "properties": {
                    "b": {"pattern": "(a*)*$b"},
                    "a": {"$ref": "#/properties/b"},
                }
            },
            SLOW,
        ),
        (of_a({"propertyNames": {"pattern": "(a*)*$b"}}), {SLOW: 1}),
        (doubling(40), "x"),
        (of_a({"uniqueItems": True}), [{"n": n} for n in range(9000)]),
        (of_a({"anyOf": [{"pattern": "(.*)*x"}] * 50}), "y" * 3000),
    ],
)
def test_no_schema_takes_long(schema: Any, value: Any) -> None:
    """A schema of somebody else refuses what does not fit soon, and the same each time."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    began = time.perf_counter()
    first, again = (argument_fault(schema, {"a": value}) for _ in range(2))
    assert first is not None
    assert first == again
    assert time.perf_counter() - began < 40  # a bound for slow machines


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (of_a({"pattern": r"(a)\1"}), "properties.a.pattern"),
        (of_a({"patternProperties": {r"(a)\1": {}}}), "properties.a.patternProperties"),
        (
            of_a(
                {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "pattern": "(a+)+$",
                }
            ),
            "$schema",
        ),
        (
            of_a({"patternProperties": {"a": {}}, "unevaluatedProperties": False}),
            "patternProperties",
        ),
        (of_a({"const": {"pattern": r"(a)\1"}}), ""),
        (of_a({"properties": {"pattern": {"type": "string"}}}), ""),
    ],
)
def test_schemas_without_a_bound(schema: Any, why: str) -> None:
    """What could not be held in bounded time is wrong as a schema; data is no schema."""
    found = schema_fault(schema)
    assert (found.place if found else "").endswith(why)
    assert (found is None) == (not why)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("a", "b", "ab", "$x")), inner, max_size=3)
    ),
    max_leaves=6,
)
SCHEMAS = st.recursive(
    st.booleans()
    | st.sampled_from(
        (
            {"type": "string"},
            {"pattern": "^a*b?$"},
            {"uniqueItems": True},
            {"enum": [1, "a", None]},
            {"minLength": 2},
            {"$ref": "#"},
        )
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(
                st.sampled_from(("a", "ab")), inner, max_size=2
            ),
            "patternProperties": st.dictionaries(
                st.sampled_from(("^a", "b$")), inner, max_size=2
            ),
            "additionalProperties": inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "propertyNames": inner,
        },
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, VALUES)
def test_the_library_agrees(schema: Any, value: Any) -> None:
    """What fits, and the first thing that does not, is what jsonschema says."""
    jsonschema: Any = importlib.import_module("jsonschema")
    found = argument_fault(schema, value)
    if found is not None and "cannot be followed" in found.message:
        return
    try:
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    except BaseException as error:
        assume("Recursion" not in str(error))  # a panic of its resolver: no verdict
        raise
    assert (found is None) == (not errors)
    if found is not None:
        places = [".".join(map(str, one.absolute_path)) for one in errors]
        assert found.place == min(places)
