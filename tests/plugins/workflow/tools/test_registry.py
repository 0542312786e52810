"""Registries: the chapter's tools in Python form, values, digests, mistakes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import UsageError
from muniment_plugins.workflow.ceilings.policy import policy_of
from muniment_plugins.workflow.findings import errors_among
from muniment_plugins.workflow.tools.registry import (
    ToolRegistry,
    registry_of,
    tool_define,
    tool_registry,
    tool_select,
)
from muniment_plugins.workflow.tools.surface import tool_findings


def review_tools() -> ToolRegistry:
    """Return the tools of the chapter's first example."""
    tools = tool_registry()
    tools = tool_define(
        tools,
        "read",
        "Read a file",
        {
            "parameters": {"path": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": None,
            "policy": {
                "capabilities": {"workspace": ["read_text"]},
                "side_effect_level": "read_only",
                "path_params": ["path"],
                "mutation_classification": "read_only",
            },
        },
    )
    tools = tool_define(
        tools,
        "edit",
        "Edit a file",
        {
            "parameters": {"path": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": None,
            "policy": {
                "capabilities": {"workspace": ["write_text"]},
                "side_effect_level": "workspace_write",
                "path_params": ["path"],
                "mutation_classification": "apply_workspace",
            },
        },
    )
    return tool_define(
        tools,
        "run",
        "Run a command",
        {
            "parameters": {"command": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": None,
            "policy": {
                "capabilities": {"process": ["exec"]},
                "side_effect_level": "process_exec",
                "mutation_classification": "ambient_side_effect",
            },
        },
    )


def test_the_chapters_tools() -> None:
    """The first example is a registry without errors, and its classes are read."""
    tools = review_tools()

    assert errors_among(tool_findings(tools)) == ()
    classes = {name: one.label.mutation_class for name, one in tools.tools.items()}
    assert classes == {
        "edit": "workspace_write",
        "read": "read_only",
        "run": "ambient_side_effect",
    }
    assert {*tool_select(tools, ["edit", "run"]).tools} == {"edit", "run"}
    assert tool_findings(tools, host_tools=("read", "edit", "run")) == ()


def test_document_reads_back() -> None:
    """A registry comes back from its document, and twice is once."""
    tools = review_tools()
    again = registry_of(tools.document())

    assert again == tools
    assert again.digest == tools.digest
    assert registry_of(again.document()).document() == tools.document()
    rows: Any = tools.document()["tools"]
    assert registry_of(rows) == tools
    assert {*registry_of(rows[0]).tools} == {"edit"}
    assert registry_of(None) == tool_registry()


@given(st.permutations(["a", "b", "c", "d"]))
def test_order_makes_no_digest(names: list[str]) -> None:
    """The order in which tools are defined or selected is no part of the registry."""
    tools = tool_registry()
    for name in names:
        tools = tool_define(tools, name, name)
    same = tool_registry()
    for name in sorted(names):
        same = tool_define(same, name, name)

    assert tools.digest == same.digest
    assert (
        tool_select(tools, names[:2]).digest == tool_select(same, names[1::-1]).digest
    )


def test_registries_are_values() -> None:
    """Nothing that was given is changed, and changing it later changes nothing."""
    options: dict[str, Any] = {"parameters": {"a": {"type": "string"}}, "policy": {}}
    before = copy.deepcopy(options)
    empty = tool_registry()
    tools = tool_define(empty, "a", "", options)
    digest = tools.digest
    options["parameters"]["a"]["type"] = "integer"
    tool_define(tools, "b")
    tool_select(tools, [])

    assert empty.tools == {}
    assert before["parameters"] == {"a": {"type": "string"}}
    assert tools.digest == digest
    assert {*tools.tools} == {"a"}


def handled(path: str) -> str:
    """Stand for a handler."""
    return path


def test_handlers_are_kept_apart() -> None:
    """A callable stays beside the document, which names it; a text and None stay."""
    tools = tool_define([], "a", "", {"handler": handled})
    tools = tool_define(tools, "b", "", {"handler": "package.module:function"})
    tools = tool_define(tools, "c")

    assert tools.handlers == {"a": handled}
    named = {name: one.handler for name, one in tools.tools.items()}
    assert named == {
        "a": f"{__name__}:handled",
        "b": "package.module:function",
        "c": None,
    }
    assert tool_select(tools, ["b"]).handlers == {}
    assert registry_of(tools.document()).handlers == {}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a", {"parameter": {}}, "did you mean parameters"),
        ("a", {"policy": {"side_efect_level": "none"}}, "did you mean side_effect"),
        ("a", {"annotations": {}}, "nothing reads this key"),
        ("a", {"handler": "no colon"}, "form"),
        ("a", {"handler": 3}, "not a text"),
        ("a", {"parameters": []}, "no object"),
        ("a", {"parameters": {"type": "string"}}, "parameters are an object"),
        ("a", {"parameters": {"p": "string"}}, "no schema"),
        ("a", {"parameters": {"p": {"required": 1}}}, "true or false"),
        ("a", {"parameters": {"p": {"$ref": "http://x/y"}}}, "not in this schema"),
        ("a", {"returns": {"$ref": "other.json"}}, "not in this schema"),
        ("a", {"parameters": {"p": {"const": float("nan")}}}, "plain JSON"),
        ("a b", {}, "form"),
        ("", {}, "empty"),
        ("rеad", {}, "form"),  # noqa: RUF001 - Cyrillic
        ("[a]", {}, "form"),
        ("a*", {}, "form"),
        ("a\n", {}, "form"),
        (
            "a",
            {"policy": {"side_effect_level": "read_only", "kind": "execute"}},
            "is not of the level",
        ),
        (
            "a",
            {
                "policy": {
                    "side_effect_level": "process_exec",
                    "mutation_classification": "read_only",
                }
            },
            "is not read_only",
        ),
    ],
)
def test_mistakes(name: str, options: dict[str, Any], message: str) -> None:
    """Each mistake is refused where it is defined, with its place."""
    with pytest.raises(UsageError, match=message) as caught:
        tool_define(tool_registry(), name, "", options)

    assert caught.value.place.startswith("tool ")


def test_names_are_taken_once() -> None:
    """A name is there once, in whatever spelling people confuse with it."""
    tools = tool_define(tool_registry(), "read_file")

    with pytest.raises(UsageError, match="already"):
        tool_define(tools, "read_file")
    for name in ("Read_File", "read-file", "READ.FILE", "read:file"):
        with pytest.raises(UsageError, match="differ only in case"):
            tool_define(tools, name)
    with pytest.raises(UsageError, match="already"):
        registry_of([{"name": "a"}, {"name": "a"}])


def test_select_refuses() -> None:
    """Unknown names are refused with what was meant, names that are there twice too."""
    tools = review_tools()

    with pytest.raises(UsageError, match="did you mean read"):
        tool_select(tools, ["raed"])
    with pytest.raises(UsageError, match="there twice"):
        tool_select(tools, ["run", "run"])
    with pytest.raises(UsageError, match="it is a text"):
        tool_select(tools, "run")


def test_b9_a_process_tool_under_a_read_only_ceiling() -> None:
    """A registry with a process tool under a read-only ceiling is an error (B9)."""
    ceiling = policy_of({"side_effect_level": "read_only"})
    for tools in (review_tools(), review_tools().document()):
        found = errors_among(tool_findings(tools, ceiling=ceiling, place="nodes.act"))

        assert [(one.code, one.place) for one in found] == [
            ("TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED", "nodes.act.tools.edit"),
            ("TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED", "nodes.act.tools.run"),
        ]
        assert all("host ceiling" in one.message for one in found)
