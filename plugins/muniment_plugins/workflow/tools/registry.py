"""Registries of tools: what a node may call, each tool with its own policy.

    tools = tool_registry()
    tools = tool_define(tools, "read", "Read a file", {
        "parameters": {"path": {"type": "string"}},
        "returns": {"type": "string"},
        "handler": read_text,
        "policy": {"capabilities": {"workspace": ["read_text"]},
                   "side_effect_level": "read_only", "path_params": ["path"]},
    })
    tools.document()    {"_type": "tool_registry", "tools": [{"name": "read", …}]}
    tools.handlers      {"read": <function read_text>}

Rules:

- A registry is a value: each function returns a new one.
- Its document is a plain JSON object, tools by name, so that the order in which they were
  defined makes no other digest. Callables are kept beside it; the document names them
  ``module:function``. A handler that is null is the host's to perform.
- Names that differ only in case or separators are refused: people and models confuse them.
- A tool's statements about itself must not contradict each other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from muniment.documents.places import At, near
from muniment.documents.shapes import (
    Anything,
    Choice,
    Flag,
    Items,
    ObjectShape,
    Shaped,
    Text,
)
from muniment.encoding.canonical import JsonValue, canonical, parse, sha256_tag
from muniment.errors import ValueRefused
from muniment.programs.references import is_same
from muniment_plugins.workflow.ceilings.annotations import (
    ANNOTATIONS,
    ToolAnnotations,
    contradiction,
    read_annotations,
)
from muniment_plugins.workflow.ceilings.names import TOOL_NAME, folded
from muniment_plugins.workflow.tools.schemas import parameters_schema, require_local

__all__ = [
    "TOOL",
    "TOOL_REGISTRY",
    "RegistryLike",
    "ToolDefinition",
    "ToolHandler",
    "ToolRegistry",
    "registry_of",
    "tool_define",
    "tool_registry",
    "tool_select",
]

Object = Mapping[str, JsonValue]
ToolHandler: TypeAlias = Callable[..., Any]

_OPTIONS: dict[str, Shaped] = {
    "parameters": Anything(),
    "returns": Anything(),
    "handler": Text(r"[^\s:]+:[^\s:]+", "package.module:function"),
    "policy": ANNOTATIONS,
    "defer_loading": Flag(),
}
_DEFINED = ObjectShape({}, _OPTIONS)
TOOL = ObjectShape({"name": TOOL_NAME}, {"description": Text(), **_OPTIONS})
"""The shape of a tool in a document."""
TOOL_REGISTRY = ObjectShape(
    {}, {"_type": Choice(("tool_registry",)), "tools": Items(TOOL)}
)
"""The shape of a registry."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that a node may call."""

    name: str
    description: str = ""
    parameters: dict[str, JsonValue] | None = None
    """A JSON Schema; None if nothing is said about them."""
    returns: JsonValue = None
    handler: str | None = None
    """``module:function``; None if the host performs it."""
    label: ToolAnnotations = field(default_factory=ToolAnnotations)
    """What its author states about it, from ``policy``."""
    defer_loading: bool = False
    """Whether models see it only after they searched for it."""

    def document(self) -> dict[str, JsonValue]:
        """Return the tool as a JSON object in normal form."""
        made: dict[str, JsonValue] = {
            "name": self.name,
            "description": self.description or None,
            "parameters": self.parameters,
            "returns": self.returns,
            "handler": self.handler,
            "policy": self.label.document() or None,
            "defer_loading": self.defer_loading or None,
        }
        return {name: one for name, one in made.items() if one is not None}


@dataclass(frozen=True, slots=True)
class ToolRegistry:
    """Tools by name, in the order of the alphabet, and the callables among them."""

    tools: Mapping[str, ToolDefinition] = field(
        default_factory=dict[str, ToolDefinition]
    )
    handlers: Mapping[str, ToolHandler] = field(
        default_factory=dict[str, ToolHandler], repr=False
    )

    def document(self) -> dict[str, JsonValue]:
        """Return the registry as a JSON object in normal form, without callables."""
        rows = [self.tools[name].document() for name in sorted(self.tools)]
        return {"_type": "tool_registry", "tools": [*rows]}

    @property
    def digest(self) -> str:
        """The hash of the canonical document."""
        return sha256_tag(canonical(self.document()))


RegistryLike: TypeAlias = ToolRegistry | Mapping[str, object] | Sequence[object]
"""A registry, its document, one tool, or a list of tools."""


def tool_registry() -> ToolRegistry:
    """Return a registry without tools."""
    return ToolRegistry()


def tool_define(
    registry: RegistryLike,
    name: str,
    description: str = "",
    options: Mapping[str, object] | None = None,
) -> ToolRegistry:
    """Return *registry* with one more tool.

    Args:
        registry: the tools so far, which stay as they are.
        name: letters, digits and ``_.:/-``.
        description: what models read.
        options: ``parameters`` in the short form or as JSON Schema, ``returns``,
            ``handler`` (a callable, ``module:function`` or None), ``policy`` and
            ``defer_loading``.

    Raises:
        UsageError: a key, a name or a value is wrong, or the name is taken.

    """
    before = registry_of(registry)
    at = At(f"tool {name!r:.60}", "workflow")
    TOOL_NAME.check(name, at.key("name"))
    given = dict(options or {})
    handler = given.get("handler")
    if callable(handler):
        path = _path_of(handler, at.key("handler"))
        given["handler"] = _own_path(handler, path, before)
    said = _plain(given, at)
    _DEFINED.check(said, at)
    given_by_default = _defaults(handler) if callable(handler) else frozenset[str]()
    whole = {"name": name, "description": description or None, **said}
    made = _definition(whole, at, given_by_default)
    _require_new(made.name, before.tools, at)
    handlers = {**before.handlers}
    if callable(handler):
        handlers[name] = handler
    tools = {**before.tools, name: made}
    return ToolRegistry(dict(sorted(tools.items())), handlers)


def tool_select(registry: RegistryLike, names: Iterable[str]) -> ToolRegistry:
    """Return the tools of *registry* that *names* name, in a registry of their own.

    Raises:
        UsageError: there is no such tool, or a name is there twice.

    """
    before = registry_of(registry)
    if isinstance(names, str):
        raise At("names", "workflow").wrong("it is a text", "type", "write a list")
    wanted = list(names)
    for number, name in enumerate(wanted):
        at = At("names", "workflow").item(number)
        if name not in before.tools:
            raise at.wrong(
                f"there is no tool {name!r:.60}",
                "unknown-tool",
                near(str(name), before.tools),
            )
        if name in wanted[:number]:
            raise at.wrong(f"{name} is there twice", "duplicate", "keep one of them")
    return ToolRegistry(
        {name: before.tools[name] for name in sorted(wanted)},
        {name: one for name, one in before.handlers.items() if name in wanted},
    )


def registry_of(value: RegistryLike | None, place: str = "tools") -> ToolRegistry:
    """Return the registry that *value* is or says; None has no tools.

    Raises:
        UsageError: it has a mistake; one line, with the key path.

    """
    if isinstance(value, ToolRegistry):
        return value
    at = At(place, "workflow")
    rows, there = _rows(value, at)
    tools: dict[str, ToolDefinition] = {}
    for number, row in enumerate(rows):
        TOOL.check(row, there.item(number))
        said = _plain(cast("Object", row), there.item(number))
        made = _definition(said, there.item(number))
        _require_new(made.name, tools, there.item(number))
        tools[made.name] = made
    return ToolRegistry(dict(sorted(tools.items())))


def _rows(value: object, at: At) -> tuple[list[JsonValue], At]:
    if value is None:
        return [], at
    if isinstance(value, list):
        return cast("list[JsonValue]", value), at
    said = cast("JsonValue", value)
    if isinstance(said, dict) and "name" in said:
        return [said], at
    TOOL_REGISTRY.check(said, at)
    found = cast("Mapping[str, list[JsonValue]]", said).get("tools")
    return found or [], at.key("tools")


def _defaults(handler: ToolHandler) -> frozenset[str]:
    """Return the parameters that a function has defaults for."""
    try:
        known = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return frozenset()
    return frozenset(one.name for one in known if one.default is not one.empty)


def _definition(said: Object, at: At, optional: Collection[str] = ()) -> ToolDefinition:
    returns = said.get("returns")
    require_local(returns, at.key("returns"))
    label = read_annotations(said.get("policy") or {}, at.key("policy"))
    how = contradiction(label)
    if how:
        raise at.key("policy").wrong(
            how, "contradiction", "state only what is true of the tool"
        )
    return ToolDefinition(
        name=cast("str", said["name"]),
        description=cast("str", said.get("description") or ""),
        parameters=parameters_schema(
            said.get("parameters"), at.key("parameters"), optional
        ),
        returns=returns,
        handler=cast("str | None", said.get("handler")),
        label=label,
        defer_loading=bool(said.get("defer_loading")),
    )


def _plain(value: Mapping[str, object], at: At) -> dict[str, JsonValue]:
    """Return a copy, so that nobody changes a registry by what he gave."""
    try:
        copy = parse(canonical(cast("dict[str, JsonValue]", dict(value))))
    except ValueRefused as error:
        raise at.wrong(error.message, "value", "write plain JSON values") from error
    return cast("dict[str, JsonValue]", copy)


def _require_new(name: str, taken: Iterable[str], at: At) -> None:
    for other in taken:
        if name == other:
            raise at.wrong(f"there is a tool {name} already", "duplicate", "rename one")
        if folded(name) == folded(other):
            raise at.wrong(
                f"{name} and {other} differ only in case or separators",
                "lookalike",
                "give them names that nobody confuses",
            )


def _own_path(handler: ToolHandler, path: str, before: ToolRegistry) -> str:
    """Return *path*, with a number if another function in *before* has it: a lambda."""
    known: dict[str | None, ToolHandler] = {
        before.tools[name].handler: one for name, one in before.handlers.items()
    }
    paths = (path, *(f"{path}<{number}>" for number in range(2, len(known) + 3)))
    return next(
        one for one in paths if one not in known or is_same(known[one], handler)
    )


def _path_of(handler: object, at: At) -> str:
    module = getattr(handler, "__module__", None)
    name = getattr(handler, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        raise at.wrong(
            f"a {type(handler).__name__} has no name", "handler", "give a function"
        )
    return f"{module}:{name}"
