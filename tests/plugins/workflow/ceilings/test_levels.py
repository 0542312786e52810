"""Levels, kinds, classes, and what contradicts what."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.documents.places import At
from muniment_plugins.workflow.ceilings.annotations import (
    ToolAnnotations,
    contradiction,
    read_annotations,
)
from muniment_plugins.workflow.ceilings.levels import (
    SIDE_EFFECT_LEVELS,
    TOOL_KINDS,
    class_of_kind,
    level_rank,
)


def label(document: dict[str, Any]) -> ToolAnnotations:
    """Read a label."""
    return read_annotations(document, At("tool", "workflow"))


def test_rank_order() -> None:
    """The levels are ranked from none to network."""
    assert [level_rank(one) for one in SIDE_EFFECT_LEVELS] == [0, 1, 2, 3, 4]
    assert SIDE_EFFECT_LEVELS[0] == "none"
    assert SIDE_EFFECT_LEVELS[-1] == "network"


def test_class_by_kind() -> None:
    """Each kind has its mutation class, and other never only reads."""
    assert {kind: class_of_kind(kind) for kind in TOOL_KINDS} == {
        "think": "read_only",
        "read": "read_only",
        "search": "read_only",
        "fetch": "read_only",
        "edit": "workspace_write",
        "move": "destructive",
        "delete": "destructive",
        "execute": "ambient_side_effect",
        "other": "other",
    }
    harmless = label({"kind": "other", "side_effect_level": "none"})
    assert harmless.mutation_class == "other"


@pytest.mark.parametrize(
    ("document", "level", "kind"),
    [
        ({}, "network", "other"),
        ({"path_params": ["p"]}, "network", "other"),
        ({"kind": "other"}, "network", "other"),
        ({"kind": "think"}, "none", "read_only"),
        ({"kind": "edit"}, "workspace_write", "workspace_write"),
        ({"side_effect_level": "read_only"}, "read_only", "read_only"),
        ({"side_effect_level": "network"}, "network", "ambient_side_effect"),
        (
            {"mutation_classification": "apply_workspace"},
            "workspace_write",
            "workspace_write",
        ),
        (
            {"capabilities": {"process": ["exec"]}},
            "process_exec",
            "ambient_side_effect",
        ),
    ],
)
def test_what_a_tool_counts_as(document: dict[str, Any], level: str, kind: str) -> None:
    """Level and class follow from whatever is stated, and are the worst from nothing."""
    assert (label(document).level, label(document).mutation_class) == (level, kind)


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "read", "side_effect_level": "workspace_write"},
        {"kind": "edit", "side_effect_level": "read_only"},
        {"kind": "execute", "side_effect_level": "none"},
        {"kind": "execute", "mutation_classification": "read_only"},
        {"side_effect_level": "process_exec", "mutation_classification": "read_only"},
        {
            "side_effect_level": "process_exec",
            "mutation_classification": "apply_workspace",
        },
        {
            "side_effect_level": "read_only",
            "mutation_classification": "ambient_side_effect",
        },
        {"side_effect_level": "network", "mutation_classification": "read_only"},
        {"side_effect_level": "read_only", "capabilities": {"process": ["exec"]}},
    ],
)
def test_contradictions(document: dict[str, Any]) -> None:
    """What one author states about a tool must be true together."""
    assert contradiction(label(document))


@pytest.mark.parametrize(
    "document",
    [
        {
            "kind": "fetch",
            "side_effect_level": "network",
            "mutation_classification": "read_only",
        },
        {"kind": "delete", "side_effect_level": "network"},
        {"kind": "other", "side_effect_level": "read_only"},
        {
            "side_effect_level": "workspace_write",
            "mutation_classification": "apply_worktree",
        },
        {},
    ],
)
def test_no_contradiction(document: dict[str, Any]) -> None:
    """What can be true together is no contradiction."""
    assert contradiction(label(document)) == ""
