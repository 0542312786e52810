"""Every key of a graph: each wrong type is refused with its place, none is passed over.

The table has one right value for each key; the wrong ones are those of every other type.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from graph_keys import ELSEWHERE, RIGHT
from muniment.documents.shapes import Anything, Entries, Items, ObjectShape, Shaped
from muniment_plugins.workflow import workflow_validate
from muniment_plugins.workflow.documents.shapes import GRAPH, NODE

OF_GRAPHS: dict[str, Any] = {
    "_type": "workflow_graph",
    "id": "x",
    "name": "x",
    "version": 1,
    "entry": "act",
    "nodes": {},
    "edges": [],
    "mailbox": {},
    "made_of": [],
    "metadata": {},
}
SAMPLES: list[Any] = [{"odd": 1}, [{"odd": 1}], "", "  ", 0.25, -7, True, False, 10**6]
"""A value of each type, and some that Python takes for false."""
STATUSES: list[Any] = [[], {}, "0", True, None, 1.5, -1, 256]
NO_TEXTS: list[Any] = [[], {}, 0, True, None, "", 1.5]
BOTH = {"verify.command": (list, str)}
"""Keys that have more than one type."""


def dotted(shape: Shaped, way: str = "") -> Iterator[str]:
    """Yield the keys below *shape*, each with the way to it."""
    if isinstance(shape, ObjectShape):
        for name, one in {**shape.required, **shape.optional}.items():
            yield f"{way}{name}"
            yield from dotted(one, f"{way}{name}.")


def fits(key: str, value: object, right: object) -> bool:
    """Tell whether *value* is of the type that *key* has."""
    if isinstance(right, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    kinds = BOTH.get(key, (type(right),))
    return type(value) in kinds


def wrong(table: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return each key with each value that it cannot have."""
    return [
        (key, one)
        for key, right in table.items()
        for one in SAMPLES
        if not fits(key, one, right)
    ]


def test_the_tables_know_every_key() -> None:
    """A key that is added to a shape gets its line here."""
    assert {*dotted(NODE)} - ELSEWHERE == {*RIGHT}
    top = {*GRAPH.required, *GRAPH.optional} - ELSEWHERE
    assert top == {*OF_GRAPHS}


@pytest.mark.parametrize(("key", "value"), wrong(RIGHT))
def test_a_wrong_type_in_a_node(key: str, value: Any) -> None:
    """It is refused with a code of form, and the place of the key or what is in it."""
    node: dict[str, Any] = {"kind": "stage"}
    part, _, name = key.rpartition(".")
    (node.setdefault(part, {}) if part else node)[name] = copy.deepcopy(value)
    report = workflow_validate({"nodes": {"act": node}})
    found = [(one.code[:5], one.place) for one in report.errors]
    assert found, "it is passed over"
    assert found[0][0] == "FORM_"
    assert found[0][1].startswith(f"nodes.act.{key}")


@pytest.mark.parametrize(("key", "value"), wrong(OF_GRAPHS))
def test_a_wrong_type_in_a_graph(key: str, value: Any) -> None:
    """The same at the top of the document."""
    graph: dict[str, Any] = {"nodes": {"act": {"handler": "a:b"}}, key: value}
    report = workflow_validate(graph)
    found = [(one.code[:5], one.place) for one in report.errors]
    assert found, "it is passed over"
    assert (found[0][0], found[0][1].startswith(key)) == ("FORM_", True)


@pytest.mark.parametrize("key", sorted(ELSEWHERE))
@pytest.mark.parametrize("value", [1, True, False, "x", "", 0, [[]], {"odd": 1}])
def test_a_wrong_type_of_a_policy(key: str, value: Any) -> None:
    """Policies and tools are refused where they stand, also what is false in Python."""
    report = workflow_validate({"nodes": {"act": {"handler": "a:b", key: value}}})
    assert report.errors, "it is passed over"
    assert report.errors[0].place.startswith(f"nodes.act.{key}")


def test_nothing_in_a_shape_takes_anything_by_mistake() -> None:
    """What may be anything is what users say of their own, or is checked elsewhere."""
    free = {
        way
        for way, one in _leaves(NODE)
        if isinstance(one, Anything) and way not in ELSEWHERE
    }
    assert free == {
        "input_contract.schema[]",
        "output_contract.schema[]",
        "map_policy.items[]",
        "verify.checks[].value",
        "body[]",
        "graph[]",
        "metadata[]",
    }


def _leaves(shape: Shaped, way: str = "") -> Iterator[tuple[str, Shaped]]:
    if isinstance(shape, ObjectShape):
        for name, one in {**shape.required, **shape.optional}.items():
            yield from _leaves(one, f"{way}.{name}".lstrip("."))
    elif isinstance(shape, Items | Entries):
        yield from _leaves(shape.shape, f"{way}[]")
    else:
        yield way, shape


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (kind, value)
        for kind in ("text", "identifier", "path", "visible_text_contains")
        for value in NO_TEXTS
    ]
    + [("expect_status", value) for value in STATUSES],
)
def test_a_check_with_a_value_that_nothing_has(kind: str, value: Any) -> None:
    """The value of a check fits its kind, or the check is refused with its place."""
    check = {"kind": kind, "value": value}
    node = {"kind": "verify", "verify": {"command": "true", "checks": [check]}}
    report = workflow_validate({"nodes": {"act": node}})
    assert [(one.code, one.place) for one in report.errors] in (
        [("VERIFY_CHECK_VALUE", "nodes.act.verify.checks[0]")],
        [("FORM_TYPE", "nodes.act.verify.checks[0].value")],
    )


@pytest.mark.parametrize("status", [256, 1000, 10**6])
def test_a_status_that_no_command_has(status: int) -> None:
    """A process ends with 0 to 255."""
    node = {"kind": "verify", "verify": {"command": "true", "expect_status": status}}
    (found,) = workflow_validate({"nodes": {"act": node}}).errors
    place = "nodes.act.verify.expect_status"
    assert (found.code, found.place) == ("VERIFY_CHECK_VALUE", place)
