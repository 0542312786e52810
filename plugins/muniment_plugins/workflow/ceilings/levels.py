"""Side effect levels, tool kinds and mutation classes, each from least to most.

    none < read_only < workspace_write < process_exec < network

Rules:

- A kind has one class: ``read``, ``search``, ``think`` and ``fetch`` read, ``edit``
  writes, ``move`` and ``delete`` destroy, ``execute`` may do anything; ``other`` is never
  taken for reading.
- A mutation classification is a word of the tool's author: ``read_only``,
  ``apply_workspace``, ``destructive``, ``ambient_side_effect``; ``workspace_write`` and
  ``apply_worktree`` are other words for the second.
- Several statements about one tool are each true at least: the highest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

__all__ = [
    "CLASSIFICATIONS",
    "CLASSIFICATION_ALIASES",
    "MUTATION_CLASSES",
    "SIDE_EFFECT_LEVELS",
    "TOOL_KINDS",
    "MutationClass",
    "SideEffectLevel",
    "ToolKind",
    "class_of_classification",
    "class_of_kind",
    "class_of_level",
    "classification_rank",
    "highest_class",
    "highest_level",
    "level_of_capability",
    "level_of_classification",
    "level_of_kind",
    "level_rank",
    "lowest_level",
]

SideEffectLevel: TypeAlias = Literal[
    "none", "read_only", "workspace_write", "process_exec", "network"
]
ToolKind: TypeAlias = Literal[
    "think", "read", "search", "fetch", "edit", "move", "delete", "execute", "other"
]
MutationClass: TypeAlias = Literal[
    "read_only", "workspace_write", "destructive", "ambient_side_effect", "other"
]

SIDE_EFFECT_LEVELS: tuple[SideEffectLevel, ...] = get_args(SideEffectLevel)
TOOL_KINDS: tuple[ToolKind, ...] = get_args(ToolKind)
MUTATION_CLASSES: tuple[MutationClass, ...] = get_args(MutationClass)

_KINDS: Mapping[str, tuple[MutationClass, SideEffectLevel | None]] = MappingProxyType(
    {
        "think": ("read_only", "none"),
        "read": ("read_only", "read_only"),
        "search": ("read_only", "read_only"),
        "fetch": ("read_only", "read_only"),
        "edit": ("workspace_write", "workspace_write"),
        "move": ("destructive", "workspace_write"),
        "delete": ("destructive", "workspace_write"),
        "execute": ("ambient_side_effect", "process_exec"),
        "other": ("other", None),
    }
)
_CLASSIFICATIONS: Mapping[str, tuple[MutationClass, SideEffectLevel]] = (
    MappingProxyType(
        {
            "read_only": ("read_only", "read_only"),
            "apply_workspace": ("workspace_write", "workspace_write"),
            "destructive": ("destructive", "workspace_write"),
            "ambient_side_effect": ("ambient_side_effect", "process_exec"),
        }
    )
)
CLASSIFICATIONS = tuple(_CLASSIFICATIONS)
"""The words of ``mutation_classification``, from least to most."""
CLASSIFICATION_ALIASES: Mapping[str, str] = MappingProxyType(
    {"apply_worktree": "apply_workspace", "workspace_write": "apply_workspace"}
)
"""Other words for some of them."""
_BY_LEVEL: Mapping[str, MutationClass] = MappingProxyType(
    {
        "none": "read_only",
        "read_only": "read_only",
        "workspace_write": "workspace_write",
        "process_exec": "ambient_side_effect",
        "network": "ambient_side_effect",
    }
)
_BY_CAPABILITY: Mapping[tuple[str, str], SideEffectLevel] = MappingProxyType(
    {
        ("workspace", "read_text"): "read_only",
        ("workspace", "list"): "read_only",
        ("workspace", "write_text"): "workspace_write",
        ("workspace", "apply_edit"): "workspace_write",
        ("workspace", "delete"): "workspace_write",
        ("workspace", "*"): "workspace_write",
        ("process", ""): "process_exec",
        ("network", ""): "network",
    }
)
"""The least level of a tool that needs an operation; empty for any other of these."""


def level_rank(level: SideEffectLevel) -> int:
    """Return how far *level* is from ``none``, from 0."""
    return SIDE_EFFECT_LEVELS.index(level)


def highest_level(
    levels: Iterable[SideEffectLevel | None],
) -> SideEffectLevel | None:
    """Return the highest that is stated among *levels*, or None."""
    ranks = [level_rank(one) for one in levels if one is not None]
    return SIDE_EFFECT_LEVELS[max(ranks)] if ranks else None


def lowest_level(
    levels: Iterable[SideEffectLevel | None],
) -> SideEffectLevel | None:
    """Return the lowest that is stated among *levels*, or None."""
    ranks = [level_rank(one) for one in levels if one is not None]
    return SIDE_EFFECT_LEVELS[min(ranks)] if ranks else None


def highest_class(classes: Iterable[MutationClass | None]) -> MutationClass:
    """Return the strictest that is stated among *classes*, or ``other``."""
    ranks = [MUTATION_CLASSES.index(one) for one in classes if one is not None]
    return MUTATION_CLASSES[max(ranks)] if ranks else "other"


def class_of_kind(kind: ToolKind) -> MutationClass:
    """Return the mutation class of *kind*."""
    return _KINDS[kind][0]


def class_of_classification(word: str) -> MutationClass:
    """Return the mutation class that *word*, one of CLASSIFICATIONS, stands for."""
    return _CLASSIFICATIONS[word][0]


def class_of_level(level: SideEffectLevel) -> MutationClass:
    """Return the mutation class of a tool of which only the *level* is known."""
    return _BY_LEVEL[level]


def classification_rank(word: str) -> int:
    """Return how far *word* is along CLASSIFICATIONS, from 0."""
    return CLASSIFICATIONS.index(word)


def level_of_kind(kind: ToolKind) -> SideEffectLevel | None:
    """Return the least level of a tool of *kind*; None for ``other``."""
    return _KINDS[kind][1]


def level_of_classification(word: str) -> SideEffectLevel:
    """Return the least level of a tool that is classified by *word*."""
    return _CLASSIFICATIONS[word][1]


def level_of_capability(capability: str, operation: str) -> SideEffectLevel | None:
    """Return the least level of a tool that needs the operation, if it is known."""
    known = _BY_CAPABILITY.get((capability, operation))
    return known or _BY_CAPABILITY.get((capability, ""))
