"""Capability policies as documents: shapes, normal form, absent apart from empty."""

from __future__ import annotations

import pytest

from muniment.errors import RefusedError, UsageError
from muniment_plugins.workflow.ceilings.intersection import for_child, intersect
from muniment_plugins.workflow.ceilings.permission import CallFacts, allows
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy, policy_of


def test_absent_is_not_empty() -> None:
    """An absent member limits nothing, an empty one allows nothing; digests differ."""
    call = CallFacts("read", {})

    assert allows(CapabilityPolicy.from_document({}), call)
    assert allows(CapabilityPolicy.from_document({"tools": None}), call)
    assert not allows(CapabilityPolicy.from_document({"tools": []}), call)
    documents: list[dict[str, object]] = [
        {},
        {"tools": []},
        {"capabilities": {}},
        {"workspace_roots": []},
        {"capabilities": {"workspace": []}},
    ]
    digests = {CapabilityPolicy.from_document(one).digest for one in documents}
    # no operation of one capability, and no operation at all, are the same statement
    assert len(digests) == 4


def test_empty_roots_allow_no_path() -> None:
    """No root, no path; a tool without path parameters is not about paths."""
    policy = policy_of(
        {
            "workspace_roots": [],
            "tool_annotations": {"read": {"path_params": ["path"]}},
        }
    )

    assert not allows(policy, CallFacts("read", {"path": "a"}, base="/repo"))
    assert not allows(policy, CallFacts("read", {}, base="/repo"))
    assert allows(policy, CallFacts("think", {"path": "a"}, base="/repo"))


def test_normal_form_is_one() -> None:
    """What says the same has the same document."""
    one = CapabilityPolicy.from_document(
        {
            "tools": ["b", "a", "**x"],
            "capabilities": {"w": ["b", "*"]},
            "workspace_roots": ["/a//b/", "/a/./b", "/c/."],
            "tool_arg_constraints": [],
            "tool_annotations": {"x": {"arg_schema": {"path_params": ["p"]}}, "y": {}},
            "recursion_limit": None,
        }
    )

    assert one.document() == {
        "tools": ["*x", "a", "b"],
        "capabilities": {"w": ["*"]},
        "workspace_roots": ["/a/b", "/c"],
        "tool_annotations": {"x": {"path_params": ["p"]}},
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"tool": []}, "did you mean tools"),
        ({"side_effect_level": "readonly"}, "did you mean read_only"),
        ({"side_effect_level": "NONE"}, "means nothing here"),
        ({"tool_annotations": {"a": {"knd": "read"}}}, "did you mean kind"),
        ({"tool_annotations": {"a b": {}}}, "tool_annotations"),
        ({"tools": ["[a]"]}, "does not have this form"),
        ({"tools": [""]}, "empty"),
        ({"tools": "read"}, "not a list"),
        ({"tools": ["a&b"]}, "matches nothing"),
        ({"tools": ["rеad"]}, "does not have this form"),  # noqa: RUF001 - Cyrillic
        ({"recursion_limit": -1}, "below 0"),
        ({"recursion_limit": True}, "not a whole number"),
        ({"workspace_roots": ["../x"]}, "above its beginning"),
        ({"workspace_roots": ["src/../lib"]}, "may be that of a link"),
        ({"workspace_roots": ["/a/./b/.."]}, "may be that of a link"),
        ({"also_roots": [["a"], ["a/../b"]]}, r"also_roots\[1\]\[0\]"),
        ({"workspace_roots": ["~"]}, "no root"),
        ({"workspace_roots": ["a\\b"]}, "no root"),
        ({"capabilities": ["workspace"]}, "not an object"),
        ({"tool_arg_constraints": [{"tool": "a"}]}, "missing"),
        ({"tool_annotations": {"a": {"arg_aliases": {"x": "x"}}}}, "of itself"),
    ],
)
def test_mistakes_have_places(document: dict[str, object], message: str) -> None:
    """Each mistake is one line with the key path and what was meant."""
    with pytest.raises(UsageError, match=message) as caught:
        policy_of(document)

    assert caught.value.rule.startswith("workflow/")
    assert caught.value.place.startswith("policy: ")


def test_roots_against_a_base() -> None:
    """Relative roots begin at the stated base; without one the two are not compared."""
    relative = policy_of({"workspace_roots": ["src", "../lib"]}, base="/repo/app")

    assert relative.workspace_roots == ("/repo/app/src", "/repo/lib")
    with pytest.raises(UsageError, match="state the base"):
        intersect({"workspace_roots": ["/repo"]}, {"workspace_roots": ["src"]})
    found = intersect(
        {"workspace_roots": ["/repo"]}, {"workspace_roots": ["src"]}, base="/repo"
    )
    assert found.result.workspace_roots == ("/repo/src",)
    with pytest.raises(UsageError, match="not absolute"):
        policy_of({}, base="work").based("work")


def test_depth_is_counted_down() -> None:
    """Each nested run has one level less, and at none there is no nested run (B10)."""
    top = policy_of({"recursion_limit": 2})
    child = for_child(top, {"recursion_limit": 8}).result
    grandchild = for_child(child, None).result

    assert (child.recursion_limit, grandchild.recursion_limit) == (1, 0)
    with pytest.raises(RefusedError, match="no nested run"):
        for_child(grandchild, None)
    assert not allows(grandchild, CallFacts("a", {}, depth=1))
    assert for_child(None, None).result == CapabilityPolicy()
