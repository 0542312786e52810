"""Calls of tools with names and arguments of any type: each refusal is what it should be."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.errors import RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import tool_define, tool_registry, workflow_execute

READS = {"side_effect_level": "read_only"}
ODD: list[Any] = [None, 5, 0, True, 1.5, "", "nope", ["t"], {"t": 1}, b"t", "x" * 5000]


def reading(path: str, n: int = 1) -> str:
    """Return what it is called with."""
    return f"{path} {n}"


def calling(*calls: tuple[Any, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return a graph that makes *calls*, and a list of what each of them came to."""
    came: list[Any] = []

    def act(run: Any, stage: Any) -> None:
        del run
        for name, arguments in calls:
            try:
                came.append(stage.tool(name, arguments))
            except (RefusedError, UsageError) as error:
                came.append(error)

    tools = tool_define(
        tool_registry(),
        "t",
        "T",
        {
            "parameters": {"path": {"type": "string"}, "n": {"type": "integer"}},
            "handler": reading,
            "policy": READS,
        },
    )
    return {"nodes": {"act": {"handler": act, "tools": tools}}}, came


@pytest.mark.parametrize("name", ODD)
def test_a_name_that_is_none(name: Any, book: Ledger) -> None:
    """Whatever a model gives as a name is a recorded denial, and no bug."""
    graph, came = calling((name, {}))
    done = workflow_execute(book, "t", graph)
    assert done.status == "completed"
    (error,) = came
    assert (type(error), error.rule) == (RefusedError, "workflow/tool-unknown-tool")
    (fact,) = book.events(run=done.run_id, type="tool.denied")
    assert fact.data["code"] == "unknown_tool"
    assert isinstance(fact.data["tool"], str)
    assert len(str(fact.data["tool"])) <= 200


@pytest.mark.parametrize("arguments", ["x", "", 5, 0, True, False, [], ["path"], b""])
def test_arguments_that_are_no_object(arguments: Any, book: Ledger) -> None:
    """They are a mistake of the handler, also where Python takes them for nothing."""
    graph, came = calling(("t", arguments))
    workflow_execute(book, "t", graph)
    assert [(type(one), one.rule) for one in came] == [
        (UsageError, "workflow/tool-arguments")
    ]


def test_what_the_function_has_a_default_for_may_be_left_out(book: Ledger) -> None:
    """The short form requires what the function requires."""
    graph, came = calling(
        ("t", {"path": "a"}), ("t", {"path": "a", "n": 2}), ("t", {"n": 2})
    )
    workflow_execute(book, "t", graph)
    assert came[:2] == ["a 1", "a 2"]
    assert came[2].place == "act"
    assert "'path' is a required property" in came[2].message


@pytest.mark.parametrize(
    ("row", "required"),
    [({}, False), ({"required": True}, True), ({"default": 3}, False)],
)
def test_what_is_written_comes_before_the_default(
    row: dict[str, Any], required: bool
) -> None:
    """`required: true` holds, whatever the function could do without."""
    parameters = {"n": {"type": "integer", **row}, "path": {"type": "string"}}
    options = {"parameters": parameters, "handler": reading, "policy": READS}
    tools = tool_define(tool_registry(), "t", "T", options)
    schema: Any = tools.tools["t"].parameters
    assert ("n" in schema["required"]) == required
    assert "path" in schema["required"]
