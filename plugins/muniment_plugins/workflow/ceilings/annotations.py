"""What is stated about a tool: its kind, its level, which arguments are paths.

    {"side_effect_level": "workspace_write", "path_params": ["path"],
     "capabilities": {"workspace": ["write_text"]}, "mutation_classification":
     "apply_workspace"}

Rules:

- Each statement raises what a tool is taken for, none lowers it: of two labels the
  strictest holds, member by member. A tool whose level nobody stated is ``network`` and
  ``other``.
- Members are joined: path parameters, needed capabilities, aliases and required
  arguments of both, the highest level, all kinds. The join is associative, commutative
  and idempotent, so that no order of policies relabels a tool.
- The author of one tool must not contradict himself: `contradiction` says how he does.
- ``arg_schema: {path_params, arg_aliases, required}`` may stand around these members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Choice,
    Entries,
    Flag,
    Items,
    ObjectShape,
    Shaped,
    Text,
)
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.levels import (
    CLASSIFICATION_ALIASES,
    CLASSIFICATIONS,
    SIDE_EFFECT_LEVELS,
    TOOL_KINDS,
    MutationClass,
    SideEffectLevel,
    ToolKind,
    class_of_classification,
    class_of_kind,
    class_of_level,
    classification_rank,
    highest_class,
    highest_level,
    level_of_capability,
    level_of_classification,
    level_of_kind,
    level_rank,
)
from muniment_plugins.workflow.ceilings.names import TOOL_NAME

__all__ = [
    "ANNOTATIONS",
    "CAPABILITIES",
    "OneOrMore",
    "ToolAnnotations",
    "capability_names",
    "contradiction",
    "meanings",
    "read_annotations",
    "strictest",
]

Object = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """A value of a shape, or a list of them."""

    shape: Shaped

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse what is neither."""
        inner = Items(self.shape, least=1, unique=True)
        (inner if isinstance(value, list) else self.shape).check(value, at)


_NAMES = Items(Text(), unique=True)
_WORD = Text(r"[A-Za-z_][A-Za-z0-9_.:-]*|\*", "read_text")
CAPABILITIES = Entries(Items(_WORD, unique=True))
"""The shape of capabilities: their operations by name, ``["*"]`` for all of them."""
_ARGUMENTS: dict[str, Shaped] = {
    "path_params": _NAMES,
    "arg_aliases": Entries(OneOrMore(Text())),
    "required": _NAMES,
}
ANNOTATIONS = ObjectShape(
    {},
    {
        "kind": OneOrMore(Choice(TOOL_KINDS)),
        "side_effect_level": Choice(SIDE_EFFECT_LEVELS),
        "mutation_classification": Choice((*CLASSIFICATIONS, *CLASSIFICATION_ALIASES)),
        **_ARGUMENTS,
        "arg_schema": ObjectShape({}, _ARGUMENTS),
        "capabilities": CAPABILITIES,
        "emits_artifacts": Flag(),
        "result_readers": Items(TOOL_NAME, unique=True),
        "inline_result": Flag(),
    },
)
"""What may be stated about a tool."""


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """What is stated about a tool; what is empty or None is not stated."""

    kinds: frozenset[ToolKind] = frozenset()
    side_effect_level: SideEffectLevel | None = None
    mutation_classification: str | None = None
    path_params: frozenset[str] = frozenset()
    arg_aliases: Mapping[str, frozenset[str]] = field(
        default_factory=dict[str, frozenset[str]]
    )
    """Another name of an argument → the names that it stands for."""
    required: frozenset[str] = frozenset()
    capabilities: frozenset[tuple[str, str]] = frozenset()
    """The operations that a call needs, each with its capability."""
    emits_artifacts: bool | None = None
    result_readers: frozenset[str] = frozenset()
    inline_result: bool | None = None

    @property
    def stated_level(self) -> SideEffectLevel | None:
        """The highest level that follows from a statement, or None."""
        word = self.mutation_classification
        return highest_level(
            [
                self.side_effect_level,
                None if word is None else level_of_classification(word),
                *map(level_of_kind, self.kinds),
                *(level_of_capability(*one) for one in self.capabilities),
            ]
        )

    @property
    def level(self) -> SideEffectLevel:
        """What a call is taken for: ``network`` if nothing is stated."""
        return self.stated_level or "network"

    @property
    def mutation_class(self) -> MutationClass:
        """The strictest class that follows from a statement; ``other`` from none."""
        word, level = self.mutation_classification, self.stated_level
        return highest_class(
            [
                None if word is None else class_of_classification(word),
                None if level is None else class_of_level(level),
                *map(class_of_kind, self.kinds),
            ]
        )

    def settled(self) -> ToolAnnotations:
        """Return the label with what it leaves open stated: ``network`` and ``other``.

        So that no later statement lowers it.
        """
        if self.stated_level is not None:
            return self
        return replace(self, kinds=self.kinds | {"other"}, side_effect_level="network")

    def document(self) -> dict[str, JsonValue]:
        """Return the statements as a JSON object in normal form."""
        kinds = sorted(self.kinds, key=TOOL_KINDS.index)
        made: dict[str, JsonValue] = {
            "kind": _short(kinds) if kinds else None,
            "side_effect_level": self.side_effect_level,
            "mutation_classification": self.mutation_classification,
            "path_params": [*sorted(self.path_params)],
            "arg_aliases": {
                name: _short(sorted(meant)) for name, meant in self.arg_aliases.items()
            },
            "required": [*sorted(self.required)],
            "capabilities": capability_document(self.capabilities),
            "emits_artifacts": self.emits_artifacts,
            "result_readers": [*sorted(self.result_readers)],
            "inline_result": self.inline_result,
        }
        return {name: one for name, one in made.items() if one not in (None, [], {})}


def _short(words: Iterable[str]) -> JsonValue:
    found: list[JsonValue] = [*words]
    return found[0] if len(found) == 1 else found


def capability_names(value: JsonValue) -> frozenset[tuple[str, str]]:
    """Return the operations in *value*, which has the shape CAPABILITIES."""
    rows = cast("Mapping[str, list[str]]", value or {})
    return frozenset((name, one) for name, found in rows.items() for one in found)


def capability_document(names: Iterable[tuple[str, str]]) -> dict[str, JsonValue]:
    """Return operations by the name of their capability, sorted."""
    found: dict[str, list[JsonValue]] = {}
    for capability, operation in sorted(names):
        found.setdefault(capability, []).append(operation)
    return dict(found)


def read_annotations(value: JsonValue, at: At) -> ToolAnnotations:
    """Return what is stated in *value*, at the place *at*.

    Raises:
        UsageError: its shape is another, or a member is there twice.

    """
    ANNOTATIONS.check(value, at)
    said = _lifted(cast("Object", value), at)
    kinds, word = said.get("kind"), cast("str", said.get("mutation_classification"))
    aliases = cast("Mapping[str, str | list[str]]", said.get("arg_aliases") or {})
    for alias, meant in aliases.items():
        if alias in _several(meant):
            raise (
                at.key("arg_aliases")
                .key(alias)
                .wrong("it is another name of itself", "alias", "leave it out")
            )
    return ToolAnnotations(
        kinds=frozenset(cast("list[ToolKind]", _several(kinds))),
        side_effect_level=cast("SideEffectLevel | None", said.get("side_effect_level")),
        mutation_classification=CLASSIFICATION_ALIASES.get(word, word),
        path_params=_names(said, "path_params"),
        arg_aliases={name: frozenset(_several(one)) for name, one in aliases.items()},
        required=_names(said, "required"),
        capabilities=capability_names(said.get("capabilities")),
        emits_artifacts=cast("bool | None", said.get("emits_artifacts")),
        result_readers=_names(said, "result_readers"),
        inline_result=cast("bool | None", said.get("inline_result")),
    )


def _lifted(said: Object, at: At) -> Object:
    """Return the members with those of ``arg_schema`` beside the others."""
    inner = cast("Object", said.get("arg_schema") or {})
    for name in inner:
        if said.get(name) is not None:
            raise (
                at.key("arg_schema")
                .key(name)
                .wrong("it is there twice", "duplicate", "leave one of them out")
            )
    return {**said, **inner}


def meanings(aliases: Mapping[str, frozenset[str]], name: str) -> frozenset[str]:
    """Return every argument that *name* stands for, through aliases of aliases too."""
    found, waiting = set[str](), {*aliases.get(name, ())}
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting |= aliases.get(one, frozenset())
    return frozenset(found)


def _several(value: object) -> list[str]:
    if value is None:
        return []
    return cast("list[str]", value if isinstance(value, list) else [value])


def _names(said: Object, key: str) -> frozenset[str]:
    return frozenset(cast("list[str]", said.get(key) or []))


def strictest(one: ToolAnnotations, other: ToolAnnotations) -> ToolAnnotations:
    """Return the label under which a tool may do only what both labels allow."""
    words = [
        word
        for word in (one.mutation_classification, other.mutation_classification)
        if word is not None
    ]
    return ToolAnnotations(
        kinds=one.kinds | other.kinds,
        side_effect_level=highest_level(
            [one.side_effect_level, other.side_effect_level]
        ),
        mutation_classification=max(words, key=classification_rank, default=None),
        path_params=one.path_params | other.path_params,
        arg_aliases={
            name: one.arg_aliases.get(name, frozenset())
            | other.arg_aliases.get(name, frozenset())
            for name in sorted({*one.arg_aliases, *other.arg_aliases})
        },
        required=one.required | other.required,
        capabilities=one.capabilities | other.capabilities,
        emits_artifacts=_joined(one.emits_artifacts, other.emits_artifacts, True),
        result_readers=one.result_readers | other.result_readers,
        inline_result=_joined(one.inline_result, other.inline_result, False),
    )


def _joined(one: bool | None, other: bool | None, strict: bool) -> bool | None:
    """Return *strict* if one of the two says it, None if neither says anything."""
    said = [flag for flag in (one, other) if flag is not None]
    return strict if strict in said else said[0] if said else None


def contradiction(label: ToolAnnotations) -> str:
    """Return how the statements of one author contradict each other; empty if not."""
    level, word = label.side_effect_level, label.mutation_classification
    for kind in sorted(label.kinds):
        if word is not None and kind != "other" and _differ(kind, word):
            return f"the kind {kind} is not {word}"
        if level is not None and level not in _levels_of_kind(kind):
            return f"a tool of the kind {kind} is not of the level {level}"
    if word is not None and level is not None:
        levels = _levels_of(word, label.kinds)
        if level not in levels:
            return f"a tool of the level {level} is not {word}"
    return _contradicted_capability(label)


def _differ(kind: ToolKind, word: str) -> bool:
    return class_of_kind(kind) != class_of_classification(word)


def _levels_of_kind(kind: ToolKind) -> tuple[SideEffectLevel, ...]:
    least = level_of_kind(kind)
    if least is None:
        return SIDE_EFFECT_LEVELS
    if class_of_kind(kind) == "read_only":
        far = ("network",) if kind in ("fetch", "search") else ()
        return ("none", "read_only", *cast("tuple[SideEffectLevel, ...]", far))
    return SIDE_EFFECT_LEVELS[level_rank(least) :]


def _levels_of(word: str, kinds: frozenset[ToolKind]) -> tuple[SideEffectLevel, ...]:
    if word == "apply_workspace":
        return ("workspace_write",)
    if word == "read_only":
        return _levels_of_kind("fetch" if kinds & {"fetch", "search"} else "read")
    return SIDE_EFFECT_LEVELS[level_rank(level_of_classification(word)) :]


def _contradicted_capability(label: ToolAnnotations) -> str:
    said = label.side_effect_level
    for capability, operation in sorted(label.capabilities):
        least = level_of_capability(capability, operation)
        if said and least and level_rank(said) < level_rank(least):
            return f"{capability}.{operation} is {least}, above the level {said}"
    return ""
