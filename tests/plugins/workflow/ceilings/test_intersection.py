"""Intersections: what is left, and the rows that say what is not."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.encoding.canonical import canonical
from muniment.errors import RefusedError
from muniment_plugins.workflow.ceilings.intersection import for_child, intersect
from muniment_plugins.workflow.ceilings.permission import CallFacts, allows

Document = dict[str, Any]


def rows(ceiling: Document, requested: Document) -> set[tuple[str, str, str]]:
    """Return all rows of an intersection as triples."""
    found = intersect(ceiling, requested)
    return {
        (one.member, one.what, one.why) for one in (*found.narrowed, *found.refused)
    }


def test_capability_intersection_rejects_privilege_expansion() -> None:
    """What a request names and the ceiling lacks is refused, each thing by name."""
    ceiling = {
        "tools": ["read"],
        "capabilities": {"workspace": ["read_text"]},
        "side_effect_level": "read_only",
        "workspace_roots": ["src"],
    }
    requested = {
        "tools": ["read", "run"],
        "capabilities": {"workspace": ["read_text", "write_text"], "process": ["exec"]},
        "side_effect_level": "process_exec",
        "workspace_roots": ["lib", "src/a"],
    }
    found = intersect(ceiling, requested)

    assert [one.document() for one in found.refused] == [
        {"member": "capabilities", "what": "process.exec", "why": "not_in_ceiling"},
        {
            "member": "capabilities",
            "what": "workspace.write_text",
            "why": "not_in_ceiling",
        },
        {
            "member": "side_effect_level",
            "what": "process_exec",
            "why": "above_ceiling",
        },
        {"member": "tools", "what": "run", "why": "not_in_ceiling"},
        {"member": "workspace_roots", "what": "lib", "why": "outside_roots"},
    ]
    assert found.result.tools == ("read",)
    with pytest.raises(RefusedError, match="host ceiling") as caught:
        found.require()
    assert caught.value.rule == "workflow/ceiling"
    assert canonical(found.document())


@pytest.mark.parametrize(
    ("ceiling", "requested", "row"),
    [
        ({"tools": ["a"]}, {}, ("tools", "tools", "ceiling_applies")),
        ({"tools": ["r*"]}, {"tools": ["*"]}, ("tools", "*", "cut_to_ceiling")),
        ({"tools": []}, {"tools": ["a"]}, ("tools", "a", "not_in_ceiling")),
        (
            {"capabilities": {"w": ["a"]}},
            {"capabilities": {"w": ["*"]}},
            ("capabilities", "w.*", "cut_to_ceiling"),
        ),
        (
            {"workspace_roots": ["src/a"]},
            {"workspace_roots": ["src"]},
            ("workspace_roots", "src", "cut_to_ceiling"),
        ),
        (
            {"recursion_limit": 1},
            {"recursion_limit": 5},
            ("recursion_limit", "5", "cut_to_ceiling"),
        ),
        (
            {"tool_annotations": {"a": {"kind": "execute"}}},
            {"tool_annotations": {"a": {"kind": "read"}}},
            ("tool_annotations", "a", "label_of_ceiling"),
        ),
        (
            {"tool_arg_constraints": [{"tool": "a", "arg_patterns": []}]},
            {},
            (
                "tool_arg_constraints",
                '{"arg_patterns":[],"tool":"a"}',
                "constraint_of_ceiling",
            ),
        ),
    ],
)
def test_rows(ceiling: Document, requested: Document, row: tuple[str, ...]) -> None:
    """Each narrowing is one row: member, what, why."""
    assert rows(ceiling, requested) == {row}


def test_nothing_lost_no_rows() -> None:
    """A request within its ceiling gets what it asks for, and strict mode passes."""
    inside = {"tools": ["a"], "side_effect_level": "none", "workspace_roots": ["src/x"]}
    found = intersect(
        {"tools": ["*"], "side_effect_level": "read_only", "workspace_roots": ["src"]},
        inside,
    )

    also = {"also_roots": [["src"], ["src/x"]]}
    assert found.require(strict=True).document() == inside | also
    with pytest.raises(RefusedError, match="ceiling_applies"):
        intersect({"tools": ["a"]}, {}).require(strict=True)


def test_disjoint_roots_allow_nothing() -> None:
    """Two lists of roots that have nothing in common allow no path at all (B10)."""
    label = {"read": {"path_params": ["path"]}}
    result = intersect(
        {"workspace_roots": ["/a"], "tool_annotations": label},
        {"workspace_roots": ["/b"]},
    ).result

    assert result.workspace_roots == ()
    for path in ("/a/x", "/b/x", "/", "x"):
        assert not allows(result, CallFacts("read", {"path": path}, base="/a"))


def test_nested_runs_never_exceed_their_parent() -> None:
    """Each level is held to the effective policy above it, not to the host's (B10)."""
    host = {"side_effect_level": "network", "recursion_limit": 8}
    narrowed = intersect(host, {"side_effect_level": "read_only", "tools": ["read"]})
    child = for_child(narrowed.result, host)

    assert child.result.side_effect_level == "read_only"
    assert child.result.tools == ("read",)
    assert [one.what for one in child.refused] == ["network"]


def test_a_requester_relabels_nothing() -> None:
    """The strictest label holds, whoever states the milder one."""
    harmless = {"kind": "read", "side_effect_level": "none"}
    ceiling = {
        "side_effect_level": "read_only",
        "tool_annotations": {"run": {"kind": "execute"}},
    }
    result = intersect(ceiling, {"tool_annotations": {"run": harmless}}).result

    assert result.label_of("run").level == "process_exec"
    assert result.label_of("run").mutation_class == "ambient_side_effect"
    assert not allows(result, CallFacts("run", {}))


def test_an_unknown_tool_is_not_made_harmless() -> None:
    """A tool about which nothing is stated stays network, whatever a request states."""
    result = intersect(
        {"side_effect_level": "read_only"},
        {"tool_annotations": {"curl": {"kind": "read", "side_effect_level": "none"}}},
    ).result

    assert not allows(result, CallFacts("curl", {}))
