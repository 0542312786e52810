"""Capability policies: what a run, a node or a tool call may do at most.

    {"tools": ["read", "edit"], "capabilities": {"workspace": ["read_text"]},
     "workspace_roots": ["src"], "side_effect_level": "workspace_write",
     "recursion_limit": 2, "tool_arg_constraints": [{"tool": "run", "arg_key": "command",
     "arg_patterns": ["git status"]}], "tool_annotations": {"edit": {"kind": "edit"}}}

Rules:

- **A member that is absent limits nothing; a list that is empty allows nothing.** ``{}``
  limits nothing at all, ``{"tools": []}`` allows no tool, ``{"capabilities": {}}`` none
  of the operations, ``{"workspace_roots": []}`` no path. Both are kept apart in memory
  (None and empty), in documents and in digests.
- Where capabilities are stated, one that is not among them has no operation; ``["*"]``
  is every operation of one.
- ``recursion_limit`` is how many levels of nested runs are left: 0 allows none.
- Constraints and annotations are no lists of what is allowed: empty ones say nothing, and
  normal form leaves them out.
- Roots are relative to a base that whoever runs the graph states. Links are followed
  where a call is made, in roots as in paths.
- ``also_roots`` are further lists of roots: a path is in one root of each list. An
  intersection keeps the lists of both sides there, since a root below another one by its
  text may be a link that leads out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeAlias, cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Choice,
    Entries,
    Items,
    ObjectShape,
    Text,
    Whole,
)
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import RefusedError
from muniment_plugins.workflow.ceilings.annotations import (
    ANNOTATIONS,
    CAPABILITIES,
    ToolAnnotations,
    capability_document,
    capability_names,
    read_annotations,
)
from muniment_plugins.workflow.ceilings.constraints import (
    ARG_CONSTRAINT,
    ArgConstraint,
    read_constraint,
)
from muniment_plugins.workflow.ceilings.levels import (
    SIDE_EFFECT_LEVELS,
    SideEffectLevel,
)
from muniment_plugins.workflow.ceilings.names import (
    TOOL_NAME,
    TOOL_PATTERN,
    normal_patterns,
)
from muniment_plugins.workflow.ceilings.paths import (
    absolute_base,
    meet_roots,
    normal_root,
    widest,
)

__all__ = [
    "CAPABILITY_POLICY",
    "CapabilityPolicy",
    "PolicyLike",
    "policy_of",
]

Object = Mapping[str, JsonValue]

CAPABILITY_POLICY = ObjectShape(
    {},
    {
        "tools": Items(TOOL_PATTERN, unique=True),
        "capabilities": CAPABILITIES,
        "workspace_roots": Items(Text(), unique=True),
        "also_roots": Items(Items(Text(), unique=True)),
        "side_effect_level": Choice(SIDE_EFFECT_LEVELS),
        "recursion_limit": Whole(),
        "tool_arg_constraints": Items(ARG_CONSTRAINT),
        "tool_annotations": Entries(ANNOTATIONS),
    },
)
"""The shape of a policy."""


@dataclass(frozen=True, slots=True)
class CapabilityPolicy:
    """What may be done at most; None where nothing is limited."""

    tools: tuple[str, ...] | None = None
    """Patterns of names, in normal form."""
    capabilities: frozenset[tuple[str, str]] | None = None
    """Operations, each with its capability; ``*`` for all of a capability."""
    workspace_roots: tuple[str, ...] | None = None
    also_roots: tuple[tuple[str, ...], ...] = ()
    """The lists of roots that ``workspace_roots`` is met from, if they are several."""
    side_effect_level: SideEffectLevel | None = None
    recursion_limit: int | None = None
    """How many levels of nested runs are left."""
    tool_arg_constraints: tuple[ArgConstraint, ...] = ()
    tool_annotations: Mapping[str, ToolAnnotations] = field(
        default_factory=dict[str, ToolAnnotations]
    )

    @classmethod
    def from_document(
        cls, value: object, place: str = "policy", base: str | None = None
    ) -> CapabilityPolicy:
        """Return the policy in *value*, which messages call *place*.

        Args:
            value: a JSON object.
            place: the file, or the key path in a graph.
            base: the absolute folder that relative roots begin at; without one they
                stay relative.

        Raises:
            UsageError: it has a mistake; one line, with the key path.

        """
        at = At(place, "workflow")
        CAPABILITY_POLICY.check(cast("JsonValue", value), at)
        return _made(cast("Object", value), at, base)

    def document(self) -> dict[str, JsonValue]:
        """Return the policy as a JSON object in normal form."""
        made: dict[str, JsonValue] = {}
        if self.tools is not None:
            made["tools"] = [*self.tools]
        if self.capabilities is not None:
            made["capabilities"] = capability_document(self.capabilities)
        if self.workspace_roots is not None:
            made["workspace_roots"] = [*self.workspace_roots]
        if self.also_roots:
            made["also_roots"] = [[*one] for one in self.also_roots]
        if self.side_effect_level is not None:
            made["side_effect_level"] = self.side_effect_level
        if self.recursion_limit is not None:
            made["recursion_limit"] = self.recursion_limit
        if self.tool_arg_constraints:
            rows = [one.document() for one in self.tool_arg_constraints]
            made["tool_arg_constraints"] = [*rows]
        labels = {name: one.document() for name, one in self.tool_annotations.items()}
        if any(labels.values()):
            made["tool_annotations"] = {
                name: labels[name] for name in sorted(labels) if labels[name]
            }
        return made

    @property
    def digest(self) -> str:
        """The hash of the canonical document."""
        return sha256_tag(canonical(self.document()))

    def based(self, base: str) -> CapabilityPolicy:
        """Return the policy with its relative roots below the absolute folder *base*.

        Raises:
            UsageError: *base* is no plain absolute path.

        """
        start, at = absolute_base(base), At("base", "workflow")
        lists = [
            widest(normal_root(one, start, at) for one in roots)
            for roots in self.root_lists
        ]
        return self.with_roots(lists)

    @property
    def root_lists(self) -> tuple[tuple[str, ...], ...]:
        """Lists of roots: a path is in one root of each list. None limits no path."""
        if self.workspace_roots is None:
            return ()
        return self.also_roots or (self.workspace_roots,)

    def with_roots(self, lists: Iterable[tuple[str, ...]]) -> CapabilityPolicy:
        """Return the policy with these lists of roots, each in normal form."""
        found = tuple(sorted({*lists}))
        if not found:
            return replace(self, workspace_roots=None, also_roots=())
        also = found if len(found) > 1 else ()
        return replace(self, workspace_roots=reduce(meet_roots, found), also_roots=also)

    def descended(self) -> CapabilityPolicy:
        """Return the policy one level of nested runs further down.

        Raises:
            RefusedError: no level is left.

        """
        if self.recursion_limit == 0:
            raise RefusedError(
                "no nested run is allowed here",
                rule="workflow/recursion-limit",
                remedy="raise recursion_limit, or nest less deeply",
            )
        if self.recursion_limit is None:
            return self
        return replace(self, recursion_limit=self.recursion_limit - 1)

    def label_of(self, tool: str) -> ToolAnnotations:
        """Return what the policy states about *tool*."""
        return self.tool_annotations.get(tool, ToolAnnotations())

    def allows_operation(self, capability: str, operation: str) -> bool:
        """Tell whether a tool may need the operation."""
        if self.capabilities is None:
            return True
        return bool({(capability, operation), (capability, "*")} & self.capabilities)


PolicyLike: TypeAlias = CapabilityPolicy | Mapping[str, object]
"""A policy, or its document."""


def policy_of(
    value: PolicyLike | None, place: str = "policy", base: str | None = None
) -> CapabilityPolicy:
    """Return the policy that *value* is or says; None limits nothing.

    Raises:
        UsageError: it has a mistake.

    """
    if value is None:
        return CapabilityPolicy()
    if isinstance(value, CapabilityPolicy):
        return value if base is None else value.based(base)
    return CapabilityPolicy.from_document(value, place, base)


def _made(said: Object, at: At, base: str | None) -> CapabilityPolicy:
    tools = cast("list[str] | None", said.get("tools"))
    allowed = said.get("capabilities")
    made = CapabilityPolicy(
        tools=None if tools is None else normal_patterns(tools, at.key("tools")),
        capabilities=None
        if allowed is None
        else all_or_some(capability_names(allowed)),
        side_effect_level=cast("SideEffectLevel | None", said.get("side_effect_level")),
        recursion_limit=cast("int | None", said.get("recursion_limit")),
        tool_arg_constraints=_constraints(said, at.key("tool_arg_constraints")),
        tool_annotations=_labels(said, at.key("tool_annotations")),
    ).with_roots(_root_lists(said, base, at))
    return made if base is None else made.based(base)


def all_or_some(names: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return *names* without the operations beside a ``*`` of their capability."""
    whole = {capability for capability, operation in names if operation == "*"}
    return frozenset(one for one in names if one[0] not in whole or one[1] == "*")


def _root_lists(said: Object, base: str | None, at: At) -> list[tuple[str, ...]]:
    also = cast("list[list[str]]", said.get("also_roots") or [])
    there = at.key("also_roots")
    lists = [_roots(one, base, there.item(n)) for n, one in enumerate(also)]
    own = cast("list[str] | None", said.get("workspace_roots"))
    if own is None:
        return lists
    roots = _roots(own, base, at.key("workspace_roots"))
    if lists and reduce(meet_roots, lists) == roots:
        return lists
    return [*lists, roots]


def _roots(roots: list[str], base: str | None, at: At) -> tuple[str, ...]:
    return widest(
        normal_root(one, base, at.item(number)) for number, one in enumerate(roots)
    )


def _constraints(said: Object, at: At) -> tuple[ArgConstraint, ...]:
    rows = cast("list[JsonValue]", said.get("tool_arg_constraints") or [])
    found = {read_constraint(one, at.item(n)) for n, one in enumerate(rows)}
    return tuple(sorted(found))


def _labels(said: Object, at: At) -> dict[str, ToolAnnotations]:
    rows = cast("Object", said.get("tool_annotations") or {})
    for name in rows:
        TOOL_NAME.check(name, at.key(name))
    found = {name: read_annotations(one, at.key(name)) for name, one in rows.items()}
    return {name: one for name, one in found.items() if one.document()}
