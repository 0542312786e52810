"""Calls that would get past a ceiling: each trick that was tried stays tried."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment_plugins.workflow.ceilings.intersection import intersect
from muniment_plugins.workflow.ceilings.permission import CallFacts, allows
from muniment_plugins.workflow.ceilings.policy import policy_of
from muniment_plugins.workflow.tools.gate import ToolAnswer, ToolGate
from muniment_plugins.workflow.tools.registry import registry_of
from muniment_plugins.workflow.tools.surface import tool_findings

Document = dict[str, Any]
WRITE: Document = {
    "name": "write",
    "policy": {
        "kind": "edit",
        "side_effect_level": "workspace_write",
        "path_params": ["path"],
        "arg_aliases": {"file": "path", "filename": "file"},
    },
}
RUN: Document = {
    "name": "run",
    "policy": {"kind": "execute", "side_effect_level": "process_exec"},
}
CEILING: Document = {
    "workspace_roots": ["src"],
    "side_effect_level": "process_exec",
    "tool_arg_constraints": [
        {"tool": "run", "arg_key": "command", "arg_patterns": ["git *", "ls"]}
    ],
}


def call(
    name: object, arguments: object, *, tools: Any = None, **given: Any
) -> ToolAnswer:
    """Ask a gate in ``/repo`` whose approvals approve everything."""
    given = {"policy": CEILING, "approvals": {"auto_approve": ["*"]}, **given}
    return ToolGate(tools or [WRITE, RUN], base="/repo", **given).check(name, arguments)


@pytest.mark.parametrize(
    "name",
    [
        "Write",
        "WRITE",
        "write ",
        " write",
        "write\x00",
        "write\n",
        "wrіte",  # noqa: RUF001 - Cyrillic
        "w\u200brite",
        "\uff57rite",
        "*",
        "w?ite",
        "[w]rite",
        "write&run",
        "",
        None,
        0,
        ["write"],
        {"name": "write"},
        True,
    ],
)
def test_names_of_tools(name: object) -> None:
    """Only the exact name of a tool is the tool."""
    assert call(name, {"path": "src/a"}).code == "unknown_tool"


@pytest.mark.parametrize(
    "arguments",
    [
        {"Path": "/etc/x"},
        {"PATH": "/etc/x", "path": "src/a"},
        {"pa-th": "/etc/x", "path": "src/a"},
        {"pa_th": "/etc/x", "path": "src/a"},
        {" path": "/etc/x", "path": "src/a"},
        {"\uff50ath": "/etc/x", "path": "src/a"},
        {"pa\u200bth": "/etc/x", "path": "src/a"},
        {"File": "/etc/x", "path": "src/a"},
        {"file": "/etc/x"},
        {"filename": "/etc/x"},
        {"filename": "/etc/x", "path": "src/a"},
        {"file": None, "path": "src/a"},
        {"path": ["src/a", "/etc/x"]},
        {"path": {"path": "/etc/x"}},
        {"path": [["src/a"]]},
        {"path": None},
        {"path": []},
        {"path": ""},
        {"path": True},
        {},
        None,
        [],
        "src/a",
        [{"path": "src/a"}],
    ],
)
def test_names_of_arguments(arguments: object) -> None:
    """No spelling of an argument, and no absence, leads past the roots."""
    assert call("write", arguments).outcome == "denied"


def test_names_of_arguments_that_are_right() -> None:
    """The tool's own name and its aliases, of aliases too, work inside the roots."""
    for name in ("path", "file", "filename"):
        found = call("write", {name: "src/a"})

        assert found.outcome == "allowed"
        assert found.arguments == {"path": "src/a"}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": None},
        {"command": ""},
        {"command": " git x"},
        {"command": "git\nrm"},
        {"command": "git x\rrm"},
        {"command": "git x\x00"},
        {"command": "git x\u2028rm"},
        {"command": "git -C ../.. x"},
        {"command": "git --git-dir=../x y"},
        {"command": "\uff47it x"},
        {"command": ["ls", "rm"]},
        {"command": [["ls"]]},
        {"command": {"ls": "ls"}},
        {"command": "git " + "x" * 70_000},
        {"Command": "rm", "command": "ls"},
        {"com.mand": "rm", "command": "ls"},
    ],
)
def test_constrained_arguments(arguments: Document) -> None:
    """No absence, type, case or hidden character leads past a constraint."""
    assert call("run", arguments).outcome == "denied"


def test_aliases_do_not_lead_past_constraints() -> None:
    """A tool whose author renames the constrained argument away is refused."""
    renamed = {**RUN, "policy": {**RUN["policy"], "arg_aliases": {"command": "note"}}}
    presence = {**RUN, "policy": {**RUN["policy"], "arg_aliases": {"note": "command"}}}
    ring: Document = {
        **RUN,
        "policy": {**RUN["policy"], "arg_aliases": {"a": "b", "b": "a"}},
    }

    assert call("run", {"command": "ls"}, tools=[renamed]).outcome == "denied"
    assert call("run", {"note": "ls"}, tools=[renamed]).outcome == "denied"
    assert call("run", {"note": "rm"}, tools=[presence]).outcome == "denied"
    found = call("run", {"note": "ls"}, tools=[presence])
    assert found.arguments == {"command": "ls"}  # and this is what the tool is given
    assert call("run", {"a": "ls"}, tools=[ring]).code == "argument_ambiguous"


def test_requests_add_no_presence() -> None:
    """An alias that a request states does not stand for a constrained argument."""
    mine = {"tool_annotations": {"run": {"arg_aliases": {"note": "command"}}}}
    policy = intersect(CEILING, mine).result

    assert call("run", {"note": "ls"}, policy=policy).code == "argument_refused"


@pytest.mark.parametrize(
    "label",
    [
        {"kind": "read", "side_effect_level": "none"},
        {"kind": "think"},
        {"side_effect_level": "none"},
        {"mutation_classification": "read_only"},
        {"inline_result": True},
        {"kind": ["read", "think"]},
        {},
    ],
)
def test_labels(label: Document) -> None:
    """Neither a definition nor a request makes a tool of the host harmless."""
    host = {
        "side_effect_level": "read_only",
        "tool_annotations": {"run": {"kind": "execute"}},
    }
    mine = intersect(host, {"tool_annotations": {"run": label}}).result
    relabelled = {"name": "run", "policy": label}

    for tools in ([relabelled], [{"name": "run"}]):
        for policy in (mine, policy_of(host)):
            found = call("run", {}, tools=tools, policy=policy, host=host)
            assert found.code == "level_exceeded"
    unknown = intersect(
        {"side_effect_level": "read_only"}, {"tool_annotations": {"x": label}}
    ).result
    assert call("x", {}, tools=[{"name": "x"}], policy=unknown).outcome == "denied"
    assert call(
        "x", {}, tools=[{"name": "x"}], policy=unknown, approvals=None
    ).outcome == ("denied")


@pytest.mark.parametrize("need", ["exec", "spawn", "*", "anything"])
def test_operations_have_levels(need: str) -> None:
    """A tool that needs processes is no reading tool, whatever the operation is called."""
    policy = {"side_effect_level": "read_only"}
    tool = {"name": "x", "policy": {"capabilities": {"process": [need]}}}

    assert call("x", {}, tools=[tool], policy=policy).code == "level_exceeded"


def test_the_base_is_no_path_to_write() -> None:
    """Wildcards allow what is in the base, not the base: nobody deletes all of it."""
    anywhere = {"write_path_allowlist": ["**", "*", "/**"], "default": "allow"}

    for path in (".", "./", "a/..", "/repo/.", "/"):
        found = call("write", {"path": path}, policy=None, approvals=anywhere)
        assert found.code == "write_path_refused"
    assert call("write", {"path": "a"}, policy=None, approvals=anywhere).outcome == (
        "allowed"
    )


def test_names_of_the_host_are_the_hosts() -> None:
    """A tool that takes the name of one of the host's, with its own handler, is an error."""
    mine = {**WRITE, "handler": "mine:write"}
    found = tool_findings([mine], host_tools=("write",))

    assert "TOOL_SURFACE_SHADOWED_HOST_TOOL" in {
        one.code for one in found if one.severity == "error"
    }


STEPS = (
    *("src", "lib", "..", ".", "", "a", "SRC", "srcs", "work"),
    *("~", "$X", "\\", "..\\", "\x00", " ", ".. ", "C:", "file:", "%2e%2e"),
    *("\uff0e\uff0e", "src\u200b"),
)
TRICKS = st.lists(st.sampled_from(STEPS), min_size=1, max_size=6).map("/".join)


@settings(max_examples=1500, deadline=None)
@given(TRICKS, st.sampled_from(("path", "file", "filename", "Path")))
def test_no_path_leads_out(path: str, name: str) -> None:
    """Whatever is allowed is in the root for somebody who walks it step by step."""
    found = call("write", {name: path})
    if found.outcome != "allowed":
        return

    walked: list[str] = [] if path.startswith("/") else ["work"]
    for step in path.split("/"):
        if step == "..":
            walked = walked[:-1]
        elif step not in ("", "."):
            walked.append(step)
    assert walked[:2] == ["work", "src"]
    assert path.isascii()
    assert found.arguments == {"path": path}


@settings(max_examples=500, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(("command", "Command", "note", "cmd")),
        st.sampled_from(("ls", "rm", "git x", "", None, 1, True)) | st.just(["ls"]),
    ),
    st.dictionaries(
        st.sampled_from(("note", "cmd", "command")),
        st.sampled_from(("command", "other", "cmd2")),
        max_size=2,
    ),
)
def test_what_runs_is_what_was_allowed(
    arguments: dict[str, Any], aliases: dict[str, str]
) -> None:
    """Of whatever a tool is given, the constrained argument is there and matches."""
    label = {
        **RUN["policy"],
        "arg_aliases": {k: v for k, v in aliases.items() if k != v},
    }
    found = call("run", arguments, tools=[{**RUN, "policy": label}])

    if found.outcome == "allowed":
        command = found.arguments["command"]
        words = command if isinstance(command, list) else [command]
        assert words
        assert all(one in ("ls", "git x") for one in words)


def test_a_gate_is_a_ceiling() -> None:
    """What a gate allows, the policy alone allows for the same facts."""
    tools = registry_of([WRITE])
    policy = policy_of(CEILING)

    facts = CallFacts("write", {"path": "src/a"}, tools.tools["write"].label, "/repo")
    assert allows(policy, facts)
    assert call("write", {"path": "src/a"}).outcome == "allowed"
