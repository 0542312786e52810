"""What is odd about tools, each oddity by its code."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.tools.prompts import prompt_references
from muniment_plugins.workflow.tools.surface import tool_findings

Document = dict[str, Any]
PLAIN: Document = {
    "name": "read",
    "parameters": {"path": {"type": "string"}},
    "policy": {"kind": "read", "side_effect_level": "read_only"},
    "handler": "a.b:c",
}


def codes(*tools: Document, **given: Any) -> list[tuple[str, str]]:
    """Return the codes, without their prefix, and how severe each is."""
    return [
        (one.code.removeprefix("TOOL_SURFACE_"), one.severity)
        for one in tool_findings([*tools], **given)
    ]


def test_nothing_odd() -> None:
    """A tool that says everything has no findings."""
    assert codes(PLAIN) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"parameters": None}, ("MISSING_SCHEMA", "warning")),
        ({"policy": {}}, ("MISSING_ANNOTATIONS", "warning")),
        ({"policy": {"kind": "read"}}, ("MISSING_SIDE_EFFECT_LEVEL", "warning")),
        ({"handler": None}, ("MISSING_EXECUTOR", "warning")),
        (
            {"policy": {**PLAIN["policy"], "result_readers": ["none"]}},
            ("UNKNOWN_RESULT_READER", "warning"),
        ),
        (
            {
                "policy": {
                    "kind": "execute",
                    "side_effect_level": "process_exec",
                    "emits_artifacts": True,
                }
            },
            ("MISSING_RESULT_READER", "error"),
        ),
        (
            {"parameters": {"path": {"type": "strnig"}}},
            ("INVALID_SCHEMA", "error"),
        ),
        ({"returns": {"type": 1}}, ("INVALID_SCHEMA", "error")),
    ],
)
def test_statements(change: Document, code: tuple[str, str]) -> None:
    """What a tool leaves open, or says wrongly, is one finding."""
    assert codes({**PLAIN, **change}) == [code]


def test_readers() -> None:
    """Artifacts of commands that a tool reads, or that are in the result, are fine."""
    policy = {
        "kind": "execute",
        "side_effect_level": "process_exec",
        "emits_artifacts": True,
    }
    run = {**PLAIN, "name": "run", "policy": {**policy, "result_readers": ["read"]}}
    inline = {**PLAIN, "policy": {**policy, "inline_result": True}}

    assert codes(PLAIN, run) == []
    assert codes(inline) == []


ALIASED: Document = {
    **PLAIN,
    "policy": {**PLAIN["policy"], "arg_aliases": {"file": "path"}},
}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"ceiling": {"side_effect_level": "none"}}, "SIDE_EFFECT_CEILING_EXCEEDED"),
        ({"policy": {"side_effect_level": "none"}}, "SIDE_EFFECT_CEILING_EXCEEDED"),
        ({"ceiling": {"tools": ["run"]}}, "TOOL_NOT_IN_CEILING"),
        ({"policy": {"tools": []}}, "TOOL_NOT_IN_CEILING"),
        (
            {"ceiling": {"tool_annotations": {"read": {"path_params": ["path"]}}}},
            "RELABELLED_TOOL",
        ),
        (
            {
                "policy": {
                    "tool_arg_constraints": [{"tool": "x*", "arg_patterns": ["a"]}]
                }
            },
            "UNKNOWN_ARG_CONSTRAINT_TOOL",
        ),
        (
            {
                "policy": {
                    "tool_arg_constraints": [
                        {"tool": "*", "arg_key": "pth", "arg_patterns": ["a"]}
                    ]
                }
            },
            "UNKNOWN_ARG_CONSTRAINT_KEY",
        ),
        (
            {
                "policy": {
                    "tool_arg_constraints": [
                        {"tool": "*", "arg_key": "file", "arg_patterns": ["a"]}
                    ]
                }
            },
            "DEPRECATED_ARG_ALIAS",
        ),
        ({"approvals": {"auto_deny": ["rm*"]}}, "APPROVAL_PATTERN_NO_MATCH"),
        (
            {"approvals": {"auto_approve": ["read"], "require_approval": ["*"]}},
            "APPROVAL_OVERRULED",
        ),
        (
            {"approvals": {"auto_approve": ["re*"], "auto_deny": ["read"]}},
            "APPROVAL_OVERRULED",
        ),
        (
            {"policy": {"tool_annotations": {"raed": {"kind": "read"}}}},
            "UNKNOWN_ANNOTATED_TOOL",
        ),
        ({"prompt": "Use the tool `raed`."}, "UNKNOWN_PROMPT_TOOL"),
        ({"prompt": "Call `read(file: 'a')`."}, "DEPRECATED_ARG_ALIAS"),
        (
            {"ceiling": {"tool_annotations": {"x": CONTRADICTION}}}
            if (CONTRADICTION := {"kind": "read", "side_effect_level": "network"})
            else {},
            "CONTRADICTORY_ANNOTATIONS",
        ),
    ],
)
def test_around_tools(given: Document, code: str) -> None:
    """What policies, approvals and prompts say of tools is held against the tools."""
    found = codes(ALIASED, **given)

    assert [one for one, _ in found] == [code]


def test_capabilities_above() -> None:
    """A tool that needs an operation which the ceiling lacks is an error."""
    needs = {**PLAIN["policy"], "capabilities": {"workspace": ["read_text"]}}

    assert codes({**PLAIN, "policy": needs}, ceiling={"capabilities": {}}) == [
        ("CAPABILITY_CEILING_EXCEEDED", "error")
    ]


def test_prompts_of_tools_that_cannot_be_called() -> None:
    """A prompt that names a tool which no call may use, or which is loaded later."""
    prompt = "Use the tool `read`."

    assert ("PROMPT_TOOL_NOT_IN_POLICY", "warning") in codes(
        PLAIN, prompt=prompt, policy={"tools": ["x"]}
    )
    assert codes({**PLAIN, "defer_loading": True}, prompt=prompt) == [
        ("DEFERRED_TOOL_PROMPT_REFERENCE", "warning")
    ]


def test_a_ceiling_describes_tools_of_the_host() -> None:
    """A tool that says nothing is what the host states; a node's policy adds only."""
    bare = {"name": "read", "handler": "a.b:c", "parameters": {}}
    stated = {"read": {"kind": "read", "side_effect_level": "read_only"}}
    low = {"side_effect_level": "read_only"}

    host = codes(bare, ceiling={**low, "tool_annotations": stated})
    own = codes(bare, ceiling=low, policy={"tool_annotations": stated})
    assert ("SIDE_EFFECT_CEILING_EXCEEDED", "error") not in host
    assert ("SIDE_EFFECT_CEILING_EXCEEDED", "error") in own


def test_prompt_references() -> None:
    """Only names in backticks count, and marks leave lines out."""
    prompt = """\
read the file and `edit` it
Call `edit(path=1, text: 2)`, then the `run` tool.
`bad()` muniment-tool-surface: ignore-line
muniment-tool-surface: ignore-next-line
`bad()`
muniment-tool-surface: ignore-start
`bad()`
muniment-tool-surface: ignore-end
tool `last`
"""

    assert [
        (one.line, one.tool, one.arguments) for one in prompt_references(prompt)
    ] == [
        (2, "edit", ("path", "text")),
        (2, "run", ()),
        (9, "last", ()),
    ]


def test_findings_are_data() -> None:
    """A finding is a JSON object, without a remedy where there is none."""
    one = WorkflowFinding("A_CODE", "warning", "nodes.a", "it is odd")

    assert json.loads(json.dumps(one.document())) == {
        "code": "A_CODE",
        "severity": "warning",
        "place": "nodes.a",
        "message": "it is odd",
    }


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where schemas cannot be checked, that is a finding, and nothing else changes."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)

    assert codes(PLAIN) == [("UNCHECKED_SCHEMA", "warning")]


@pytest.mark.parametrize("level", ["none", "read_only", "workspace_write", "network"])
@pytest.mark.parametrize("stated", [False, True])
def test_tools_whose_paths_nobody_knows(level: str, stated: bool) -> None:
    """Where paths are limited, a tool that touches files and names no path is found."""
    label: dict[str, object] = {"side_effect_level": level}
    if stated:
        label["path_params"] = ["path"]
    tool = {"name": "t", "parameters": {}, "handler": "a:b", "policy": label}
    approvals = {"write_path_allowlist": ["out"], "auto_approve": ["*"]}
    unheld = not stated and level != "none"
    for where in ("policy", "ceiling"):
        found = {
            one.code
            for one in tool_findings(
                [tool],
                approvals=approvals,
                **{where: {"workspace_roots": ["ws"]}},  # type: ignore[arg-type]
            )
        }
        assert ("TOOL_SURFACE_ROOTS_NO_PATHS" in found) == unheld
        writes = unheld and level != "read_only"
        assert ("TOOL_SURFACE_ALLOWLIST_NO_PATHS" in found) == writes
