"""A graph whose calls nobody could check is not begun: no model is asked for nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from agent_tools import ALLOWED, calls, read, tools
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    tool_define,
    tool_registry,
    workflow_execute,
)
from workflow_stages import Document, chain, stage

Scripts = Callable[..., Ledger]
SCRIPT = {1: calls(("read", {"path": "a"})), 2: "Done."}


def connect() -> Any:
    """Return what would connect to a server."""
    raise AssertionError("nobody connects")


def looping(**more: Any) -> Document:
    """Return a stage that loops."""
    policy = {"model": "test:a"}
    said: dict[str, Any] = {"kind": "stage", "mode": "agent", "prompt": "Read."}
    return {**said, "model_policy": policy, "approval_policy": ALLOWED, **more}


LOOP = looping(tools=tools())
EACH = {**LOOP, "kind": "map", "map_policy": {"items": ["a", "b"]}}
ITEMS = {"kind": "map", "map_policy": {"items": ["a"]}, "body": LOOP}
CHILD = {"kind": "subagent", "graph": {**chain(deep=LOOP)}}
ASKS: dict[str, Any] = {"kind": "stage", "mode": "llm", "prompt": "Say."}
ASKS |= {"model_policy": {"model": "test:a"}}

GRAPHS: dict[str, tuple[Document, str]] = {
    "a stage": (chain(act=LOOP), "nodes.act.tools"),
    "behind a model": (chain(say=ASKS, act=LOOP), "nodes.act.tools"),
    "each item": (chain(act=EACH), "nodes.act.tools"),
    "the body of a map": (chain(act=ITEMS), "nodes.act.body.tools"),
    "a child": (chain(act=CHILD), "nodes.deep.tools"),
    "servers": (chain(act=looping(tool_servers=[connect])), "nodes.act.tool_servers"),
    "a handler": (chain(act=stage("says", tools=tools())), "nodes.act.tools"),
}


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process have no jsonschema."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_not_begun_without_what_checks_arguments(
    name: str, scripted: Scripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever in it the tools are: nothing is asked, there is no run, the exit is 3."""
    graph, place = GRAPHS[name]
    ledger = scripted(SCRIPT)
    without(monkeypatch)
    with pytest.raises(CannotTellError, match="jsonschema") as refused:
        workflow_execute(ledger, "a task", graph)
    assert (refused.value.rule, refused.value.exit_code) == ("workflow/needs", 3)
    assert refused.value.place.endswith(place)
    assert refused.value.remedy
    assert not [*ledger.runs()]
    assert not [one for one in ledger.events() if one.type.startswith("llm.")]


def test_tools_without_parameters_need_nothing(
    scripted: Scripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not checked has to be there for nobody."""
    said = {"handler": read, "policy": {"side_effect_level": "read_only"}}
    plain = tool_define(tool_registry(), "read", "read something", said)
    without(monkeypatch)
    done = workflow_execute(scripted(SCRIPT), "a task", chain(act=looping(tools=plain)))
    assert done.status == "completed", done.error


def test_with_it_the_graphs_run(scripted: Scripts) -> None:
    """The same graph runs where it is there."""
    done = workflow_execute(scripted(SCRIPT), "a task", GRAPHS["a stage"][0])
    assert done.status == "completed", done.error


def test_a_resume_asks_for_it_first(
    scripted: Scripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on elsewhere is held to the same before anything is asked."""
    ledger = scripted({1: ConnectionError("no route to host")})
    done = workflow_execute(ledger, "a task", chain(act=LOOP))
    asked = len([*ledger.events(type="llm.requested")])
    assert done.status == "failed"
    without(monkeypatch)
    with pytest.raises(CannotTellError, match="jsonschema"):
        ledger.resume(done.run_id)
    assert len([*ledger.events(type="llm.requested")]) == asked
