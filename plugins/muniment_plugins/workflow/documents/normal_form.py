"""The normal form of a graph document, so that equal graphs have one digest.

    {"act": {…}, "verify": {"command": "make test"}}      short for act → verify
    {"_type": "workflow_graph", "version": 1, "name": "workflow", "entry": "act",
     "nodes": {"act": {"kind": "stage", …}, …}, "edges": [{"from": "act", …}]}

Rules:

- What is ``null`` is not there. ``_type``, ``version``, ``name``, ``entry`` and the kinds
  of nodes are written out; nothing else is added.
- A function that is given as such is written as its import path; a second one of that
  path, such as another lambda, as ``module:<lambda><2>``.
- Members are in the order of their names, as a record has them: a run that is live and
  its replay go through them alike. Edges keep their order: branches are merged in it.
- The normal form of a normal form is the same.
- What a file says that it was made of is no part of the graph (`edits.lineage`).
- A graph that Python gives is held to what a file can hold: keys are texts, numbers are
  those of JSON up to 2^53 - 1, and nothing nests deeper than 32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, cast

from muniment.documents.nesting import DEEPEST, too_deep
from muniment.documents.places import At
from muniment.documents.shapes import Entries, Items, ObjectShape, OneOf, Shaped
from muniment.encoding.canonical import JsonValue, canonical, parse
from muniment.errors import UsageError
from muniment.programs.references import Function, is_same, named, path_of
from muniment_plugins.workflow.artifacts.context.assembled import assembly_options
from muniment_plugins.workflow.artifacts.context.context_policy import context_policy
from muniment_plugins.workflow.ceilings.approvals import ToolApprovalPolicy
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy
from muniment_plugins.workflow.documents.shapes import GRAPH, LETTER, NAME, NODE
from muniment_plugins.workflow.documents.shorthand import written_out
from muniment_plugins.workflow.tools.registry import (
    RegistryLike,
    ToolRegistry,
    registry_of,
)

__all__ = ["normal_form", "without_functions"]

_POLICIES: Mapping[str, Callable[[JsonValue, str], JsonValue]] = {
    "capability_policy": lambda one, place: CapabilityPolicy.from_document(
        one, place
    ).document(),
    "approval_policy": lambda one, place: ToolApprovalPolicy.from_document(
        one, place
    ).document(),
    "context_policy": lambda one, place: context_policy(
        one, At(place, "workflow")
    ).to_json(),
    "context_assembler": lambda one, place: assembly_options(
        one, At(place, "workflow")
    ).to_json(),
    "tools": lambda one, place: registry_of(
        cast("RegistryLike", one), place
    ).document(),
}
"""Key → what brings its value into its normal form."""

_FIRST = "act"
_GRAPH = At("the graph", "workflow")
_Edge: TypeAlias = Mapping[str, JsonValue]


def without_functions(
    value: object,
    found: dict[str, Function] | None = None,
    at: At = _GRAPH,
    depth: int = 0,
) -> tuple[JsonValue, dict[str, Function]]:
    """Return *value* with import paths in place of functions, and these by path.

    Raises:
        UsageError: it nests deeper than `DEEPEST`, as what is in itself does.

    """
    functions = {} if found is None else found
    if isinstance(value, ToolRegistry):
        for name, handler in value.handlers.items():
            path, function = str(value.tools[name].handler), named(handler)
            if not is_same(functions.setdefault(path, function), function):
                raise At(f"tool {name}", "workflow").wrong(
                    f"another function of the graph is called {path}",
                    "handler",
                    "give each a name of its own",
                )
        return value.document(), functions
    if isinstance(value, Mapping | list | tuple) and depth >= DEEPEST:
        raise too_deep(at)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {
            key: cast("JsonValue", one)
            if isinstance(one, str)
            else without_functions(one, functions, at.key(str(key)), depth + 1)[0]
            for key, one in members.items()
        }, functions
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        return [
            without_functions(one, functions, at.item(number), depth + 1)[0]
            for number, one in enumerate(items)
        ], functions
    if callable(value):
        known = next((p for p, one in functions.items() if is_same(one, value)), None)
        if known is not None:
            return known, functions
        function = named(value)
        path = _own_path(function, functions)
        functions[path] = function
        return path, functions
    return cast("JsonValue", value), functions


def _own_path(function: Function, known: Mapping[str, Function]) -> str:
    """Return the path of *function*, with a number if another of those *known* has it.

    Lambdas of one place have one path, and so have the closures that a function makes.
    """
    path = path_of(named(function).described)
    paths = (path, *(f"{path}<{number}>" for number in range(2, len(known) + 3)))
    return next(
        one for one in paths if one not in known or is_same(known[one], function)
    )


def normal_form(value: JsonValue, at: At) -> dict[str, JsonValue]:
    """Return the normal form of the graph in *value*.

    Raises:
        UsageError: it is not the document of a graph.

    """
    if not isinstance(value, dict):
        raise at.wrong("a graph is an object", "type", "write its nodes and edges")
    said = cast("dict[str, JsonValue]", _without_nulls(written_out(value), GRAPH))
    GRAPH.check(said, at)
    nodes = cast("dict[str, dict[str, JsonValue]]", said["nodes"])
    for name, node in nodes.items():
        NAME.check(name, at.key("nodes").key(name))
        if node.pop("id", name) != name:
            there = at.key("nodes").key(name).key("id")
            raise there.wrong(f"it is not {name}", "node-id", "leave it out")
        node.setdefault("kind", "stage")
        _normal_node(node, name, at.key("nodes").key(name))
    _normal_policies(said, at)
    _normal_mailbox(said, at.key("mailbox"))
    said.setdefault("edges", [])
    said.setdefault("name", "workflow")
    said.setdefault("version", 1)
    said["_type"] = "workflow_graph"
    if "entry" not in said:
        said["entry"] = _first(nodes, cast("list[_Edge]", said["edges"]))
    return cast("dict[str, JsonValue]", parse(canonical(said)))


def _normal_mailbox(said: dict[str, JsonValue], at: At) -> None:
    """Bring the names of letters in *said* into their order."""
    box = said.get("mailbox")
    if not isinstance(box, dict):
        return
    updates = box.get("updates")
    for name in updates if isinstance(updates, dict) else ():
        LETTER.check(name, at.key("updates").key(name))
    if isinstance(signals := box.get("signals"), list):
        box["signals"] = sorted(signals, key=str)


def _first(nodes: Mapping[str, object], edges: Iterable[_Edge]) -> str:
    """Return the node that is first where the graph does not say it."""
    if _FIRST in nodes:
        return _FIRST
    sources = nodes.keys() - {str(one["to"]) for one in edges}
    return sources.pop() if len(sources) == 1 else min(nodes, default=_FIRST)


def _normal_node(node: dict[str, JsonValue], name: str, at: At) -> None:
    """Bring into its normal form what is in a *node*: policies, a body, a graph."""
    _normal_policies(node, at)
    body, graph = node.get("body"), node.get("graph")
    if isinstance(body, dict):
        inner = cast("dict[str, JsonValue]", _without_nulls(body, NODE))
        NODE.check(inner, at.key("body"))
        _normal_node(inner, "body", at.key("body"))
        node["body"] = inner
    if isinstance(graph, dict):
        said = {key: value for key, value in graph.items() if value is not None}
        normal = normal_form({"name": name, **said}, at.key("graph"))
        normal.pop("made_of", None)
        node["graph"] = normal


def _normal_policies(said: dict[str, JsonValue], at: At) -> None:
    """Bring the policies and tools in *said* into their own normal forms."""
    for key, normal in _POLICIES.items():
        if key in said:
            place = at.key(key)
            name = f"{place.file}: {place.path}"
            try:
                said[key] = normal(said[key], name)
            except UsageError as error:
                error.place = error.place.replace(f"{name}: ", f"{name}.", 1)
                raise


def _without_nulls(value: JsonValue, shape: Shaped) -> JsonValue:
    """Return a copy of *value* without the nulls that its *shape* allows."""
    if isinstance(shape, OneOf):
        shape = shape.members
    if isinstance(shape, ObjectShape) and isinstance(value, dict):
        members = {**shape.required, **shape.optional}
        return {
            name: _without_nulls(one, members[name]) if name in members else one
            for name, one in value.items()
            if one is not None or name in shape.required or name not in members
        }
    if isinstance(shape, Entries) and isinstance(value, dict):
        return {name: _without_nulls(one, shape.shape) for name, one in value.items()}
    if isinstance(shape, Items) and isinstance(value, list):
        return [_without_nulls(one, shape.shape) for one in value]
    return value
