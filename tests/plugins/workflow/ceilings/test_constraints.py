"""Constraints of arguments, one rule each."""

from __future__ import annotations

from typing import Any

import pytest

from muniment_plugins.workflow.ceilings.constraints import values_at
from muniment_plugins.workflow.ceilings.intersection import intersect
from muniment_plugins.workflow.ceilings.permission import CallFacts, allows, denial
from muniment_plugins.workflow.ceilings.policy import policy_of

Document = dict[str, Any]


def allowed(constraint: Document, arguments: Document, tool: str = "run") -> bool:
    """Tell whether a call passes one constraint."""
    policy = policy_of({"tool_arg_constraints": [constraint]})
    return allows(policy, CallFacts(tool, arguments))


GIT: Document = {"tool": "run", "arg_key": "command", "arg_patterns": ["git *", "ls"]}


@pytest.mark.parametrize(
    ("arguments", "whether"),
    [
        ({"command": "git status"}, True),
        ({"command": "ls"}, True),
        ({"command": "ls -la"}, False),
        ({"command": "GIT status"}, False),
        ({}, False),
        ({"command": None}, False),
        ({"command": ""}, False),
        ({"command": []}, False),
        ({"command": ["git a", "git b"]}, True),
        ({"command": ["git a", "rm"]}, False),
        ({"command": ["git a", None]}, False),
        ({"command": {"git": "git a"}}, False),
        ({"command": [["git a"]]}, False),
        ({"command": "git a\nrm -rf /"}, False),
        ({"command": "git \u202ea"}, False),
        ({"command": "git ../../x"}, False),
        ({"Command": "git a"}, False),
        ({"other": "git a"}, False),
    ],
)
def test_arg_constraint_values(arguments: Document, whether: bool) -> None:
    """A constrained argument is there, is text, and matches as a whole."""
    assert allowed(GIT, arguments) is whether


def test_arg_constraint_other_tools_are_free() -> None:
    """A constraint concerns the tools that its pattern matches, no others."""
    assert allowed(GIT, {}, tool="read")
    assert allowed(GIT, {}, tool="Run")
    assert not allowed({**GIT, "tool": "r*"}, {}, tool="read")


def test_arg_constraint_without_patterns_allows_nothing() -> None:
    """No pattern, no call."""
    assert not allowed({"tool": "run", "arg_patterns": []}, {"a": "b"})
    assert not allowed({"tool": "run", "arg_key": "a", "arg_patterns": []}, {"a": "b"})


def test_arg_constraint_without_key_holds_all() -> None:
    """Without a key every argument is held to the patterns, and one must be there."""
    every = {"tool": "run", "arg_patterns": ["a*", "1*", "true"]}

    assert allowed(every, {"x": "ab", "y": 12, "z": True})
    assert not allowed(every, {"x": "ab", "y": "b"})
    assert not allowed(every, {"x": {"a": "a"}})
    assert not allowed(every, {})
    assert not allowed(every, {"x": None})


def test_arg_constraint_brackets_are_plain() -> None:
    """A bracket is a bracket, in patterns and in values."""
    literal = {"tool": "run", "arg_key": "p", "arg_patterns": ["[id].tsx"]}

    assert allowed(literal, {"p": "[id].tsx"})
    assert not allowed(literal, {"p": "i.tsx"})


def test_arg_constraint_both_sides_hold() -> None:
    """Constraints of both policies apply, whoever states them."""
    result = intersect(
        {"tool_arg_constraints": [{**GIT, "arg_patterns": ["git *"]}]},
        {"tool_arg_constraints": [{**GIT, "arg_patterns": ["* status"]}]},
    ).result

    assert allows(result, CallFacts("run", {"command": "git status"}))
    assert not allows(result, CallFacts("run", {"command": "git push"}))
    assert not allows(result, CallFacts("run", {"command": "svn status"}))


def test_arg_constraint_under_an_alias() -> None:
    """The value under an alias must match, and does not stand for the argument."""
    policy = policy_of(
        {
            "tool_arg_constraints": [GIT],
            "tool_annotations": {"run": {"arg_aliases": {"cmd": "command"}}},
        }
    )

    assert not allows(policy, CallFacts("run", {"cmd": "git a"}))
    assert not allows(policy, CallFacts("run", {"command": "git a", "cmd": "rm"}))
    assert allows(policy, CallFacts("run", {"command": "git a", "cmd": "git b"}))


def test_arg_constraint_dotted_key() -> None:
    """A dotted key leads into objects and through lists, each item of which has it."""
    nested = {"tool": "run", "arg_key": "in.path", "arg_patterns": ["a*"]}

    assert allowed(nested, {"in": {"path": "a"}})
    assert allowed(nested, {"in": [{"path": "a"}, {"path": "ab"}]})
    assert not allowed(nested, {"in": [{"path": "a"}, {}]})
    assert not allowed(nested, {"in": [{"path": "a"}, {"path": "b"}]})
    assert not allowed(nested, {"in": {"path": "a"}, "in.path": "b"})
    assert not allowed(nested, {"in": []})
    assert not allowed(nested, {"in": "a"})


def test_values_at() -> None:
    """What a call gives under a name, and whether it is there wherever the name leads."""
    assert values_at({"a": {"b": 1}}, "a.b").values == (1,)
    assert values_at({"a.b": 2}, "a.b").complete
    assert not values_at({"a": [{"b": 1}, {"b": None}]}, "a.b").complete
    assert not values_at({}, "a").complete


def test_denials_name_their_place() -> None:
    """Each denial has a stable code and says which argument it is about."""
    found = denial(policy_of({"tool_arg_constraints": [GIT]}), CallFacts("run", {}))

    assert found is not None
    assert (found.code, found.place) == (
        "argument_refused",
        "tool_arg_constraints: command",
    )
