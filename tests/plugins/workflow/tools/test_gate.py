"""The check at the call: what is allowed, denied, or must be approved."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest

from muniment.errors import CannotTellError, UsageError
from muniment_plugins.workflow.ceilings.intersection import intersect
from muniment_plugins.workflow.tools.gate import ToolGate, check_call
from muniment_plugins.workflow.tools.registry import ToolRegistry, registry_of

Document = dict[str, Any]
TOOLS: list[Any] = [
    {
        "name": "read",
        "parameters": {"path": {"type": "string"}},
        "policy": {
            "kind": "read",
            "side_effect_level": "read_only",
            "path_params": ["path"],
            "arg_aliases": {"file": "path"},
        },
    },
    {
        "name": "edit",
        "policy": {
            "kind": "edit",
            "side_effect_level": "workspace_write",
            "path_params": ["changes.path", "path"],
        },
    },
    {
        "name": "run",
        "parameters": {"command": {"type": "string"}},
        "policy": {
            "kind": "execute",
            "side_effect_level": "process_exec",
            "capabilities": {"process": ["exec"]},
        },
    },
    {"name": "bare"},
]


def tools() -> ToolRegistry:
    """Return a few tools."""
    return registry_of(copy.deepcopy(TOOLS))


def said(
    name: str, arguments: Any = None, depth: int = 0, **given: Any
) -> tuple[str, str]:
    """Return outcome and code of a call in ``/repo``."""
    given.setdefault("approvals", {"default": "allow"})
    gate = ToolGate(tools(), base="/repo", **given)
    found = gate.check(name, arguments, depth=depth)
    return found.outcome, found.code


ROOTS = {"workspace_roots": ["src"]}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("src/a.py", "by_default"),
        ("/repo/src/a.py", "by_default"),
        ("src/./b/../a.py", "by_default"),
        ("../../etc/passwd", "path_outside_roots"),
        ("src/../../etc/passwd", "path_outside_roots"),
        ("/etc/passwd", "path_outside_roots"),
        ("//etc/passwd", "path_outside_roots"),
        ("srcs/a", "path_outside_roots"),
        ("SRC/a", "path_outside_roots"),
        (".", "path_outside_roots"),
        ("~/x", "path_invalid"),
        ("src/~/x", "path_invalid"),
        ("src\\..\\..\\x", "path_invalid"),
        ("src/a\x00.py", "path_invalid"),
        ("", "path_invalid"),
        ("src/\uff0e\uff0e/\uff0e\uff0e/x", "path_invalid"),
        ("file:///repo/src/a", "path_invalid"),
        ("src/%2e%2e/%2e%2e/x", "path_invalid"),
        ("src/a ", "path_invalid"),
    ],
)
def test_paths(path: str, code: str) -> None:
    """A path is held against the roots, and what is no plain path is refused."""
    assert said("read", {"path": path}, policy=ROOTS)[1] == code


@pytest.mark.parametrize(
    "arguments",
    [
        {"changes": [{"path": "src/a"}, {"path": "lib/b"}]},
        {"changes": {"path": ["src/a", "/x"]}},
        {"changes": {"path": "src/a"}, "path": "lib"},
        {"changes.path": "lib/b"},
        {"changes": [[{"path": "lib"}]]},
        {"path": {"path": "src"}},
        {"path": 3},
        {"path": ["src", None]},
        {},
    ],
)
def test_nested_paths(arguments: Document) -> None:
    """Paths in objects and lists are held alike; a tool that gets none works on the base."""
    assert said("edit", arguments, policy=ROOTS)[0] == "denied"


def test_nested_paths_inside() -> None:
    """What lies in the roots goes on, nested or not."""
    inside = {"changes": [{"path": "src/a"}, {"path": "src/b"}], "path": None}

    assert said("edit", inside, policy=ROOTS)[0] == "allowed"


def test_execution_policy_rejects_process_exec_when_read_only() -> None:
    """A process under a read-only policy is denied, whatever approves it."""
    policy = {"side_effect_level": "read_only"}

    assert said("run", {"command": "ls"}, policy=policy) == ("denied", "level_exceeded")
    assert said("read", {"path": "a"}, policy=policy)[0] == "allowed"
    assert said("bare", {}, policy=policy) == ("denied", "level_exceeded")


def test_execution_policy_rejects_unlisted_tool() -> None:
    """A tool that is not listed, or not there, is denied with what was meant."""
    found = ToolGate(tools()).check("raed")

    assert said("run", {"command": "a"}, policy={"tools": ["read"]}) == (
        "denied",
        "tool_not_allowed",
    )
    assert (found.code, found.arguments) == ("unknown_tool", {})
    assert "did you mean read" in found.message


def test_execution_policy_rejects_operations_and_depth() -> None:
    """Needed operations and levels of nested runs are held too."""
    lacking = {"capabilities": {"workspace": ["*"]}}

    assert said("run", {"command": "a"}, policy=lacking)[1] == "capability_not_allowed"
    assert said("bare", {}, policy={"recursion_limit": 1}, depth=2)[1] == (
        "depth_exceeded"
    )
    assert said("bare", {}, policy={"recursion_limit": 1}, depth=1)[0] == "allowed"


def test_approvals() -> None:
    """Approvals are asked after the policy; nobody's approvals deny what writes."""
    asks = {"require_approval": ["run"]}
    command = {"command": "ls"}

    assert said("run", command, approvals=asks) == (
        "needs_approval",
        "approval_required",
    )
    assert said("run", command, approvals=None) == ("denied", "by_default")
    assert said("read", {"path": "a"}, approvals=None)[0] == "allowed"
    assert said(
        "run", command, approvals={"auto_approve": ["run"]}, policy={"tools": []}
    )[0] == ("denied")


def test_a_call_is_made_with_what_was_checked() -> None:
    """Aliases become the tool's own names; two values for one argument are refused."""
    gate = ToolGate(tools(), base="/repo", policy=ROOTS)
    found = gate.check("read", {"file": "src/a"})

    assert found.outcome == "allowed"
    assert found.arguments == {"path": "src/a"}
    assert gate.check("read", {"file": "/x"}).code == "path_outside_roots"
    both = gate.check("read", {"file": "src/a", "path": "src/b"})
    assert (both.code, both.place) == ("argument_ambiguous", "path")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        "x",
        {"path": 1},
        {},
        {"path": "a", "more": 1},
        {"path": float("inf")},
        {"path": None},
    ],
)
def test_arguments_fit(arguments: Any) -> None:
    """Arguments that do not fit the schema are denied before any policy is asked."""
    assert said("read", arguments) == ("denied", "argument_invalid")


def test_nothing_is_changed() -> None:
    """The same call has the same answer, and what was given stays as it was."""
    arguments = {"file": "src/a"}
    gate = ToolGate(tools(), base="/repo", policy=ROOTS)

    assert gate.check("read", arguments) == gate.check("read", arguments)
    assert arguments == {"file": "src/a"}


def test_one_tool() -> None:
    """One tool is checked by its definition or its document alike."""
    document = TOOLS[0]
    for tool in (document, tools().tools["read"]):
        found = check_call(ROOTS, None, tool, {"path": "../x"}, base="/repo")
        assert found.document()["code"] == "path_outside_roots"
    inside = check_call(ROOTS, None, document, {"path": "src/x"}, base="/repo")
    assert inside.outcome == "allowed"


def test_the_host_describes_its_tools() -> None:
    """A bare tool is what the host states; a request adds nothing milder."""
    host = {
        "side_effect_level": "read_only",
        "tool_annotations": {"bare": {"kind": "read"}},
    }
    harmless = {"tool_annotations": {"bare": {"kind": "read"}}}
    mine = intersect({"side_effect_level": "read_only"}, harmless).result

    assert said("bare", {}, policy=host, host=host, approvals=None)[0] == "allowed"
    assert said("bare", {}, policy=mine)[1] == "level_exceeded"
    assert said("bare", {}, policy=harmless, approvals=None) == ("denied", "by_default")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose arguments cannot be checked is an error, never allowed."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)

    with pytest.raises(CannotTellError, match="jsonschema"):
        said("read", {"path": "a"})


def test_the_base_is_absolute() -> None:
    """A gate whose relative paths begin somewhere relative is no gate."""
    for base in ("repo", "", "~", "/a\\b"):
        with pytest.raises(UsageError):
            ToolGate(tools(), base=base)
    assert ToolGate(tools(), base="/repo/./x/").base == "/repo/x"


def test_answers_quote_no_arguments() -> None:
    """What goes into an event has no value of an argument, and no endless name."""
    gate = ToolGate(tools(), base="/repo", policy=ROOTS)
    secret = gate.check("read", {"path": "/secret/token"})
    endless = gate.check("edit", {"path": "src/a", "PATH" + "-" * 5000: "x"})

    assert "secret" not in str(secret.document())
    assert secret.document() == {
        "outcome": "denied",
        "code": "path_outside_roots",
        "place": "workspace_roots: path",
    }
    assert len(endless.place) <= 200
