"""The same loop against servers of both wire formats, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer, Trouble
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    agent_loop,
    tool_define,
    tool_registry,
    workflow_execute,
)
from muniment_plugins.workflow.tools.registry import ToolRegistry

MODELS = ["openai:gpt-4o", "anthropic:claude-3"]


def weather(city: str) -> str:
    """Say how the weather is."""
    return f"sunny in {city}"


def tools() -> ToolRegistry:
    """Return the tool that the server's model calls first."""
    options = {
        "parameters": {"city": {"type": "string"}},
        "handler": weather,
        "policy": {"side_effect_level": "read_only"},
    }
    return tool_define(tool_registry(), "weather", "How the weather is", options)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Give a server that speaks both formats."""
    with ModelServer() as made:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{made.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        yield made


@pytest.fixture
def library(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger whose providers are asked over HTTP."""
    del place
    home, plugins = tmp_path / "home", ("workflow", "providers")
    with Ledger.create(tmp_path / "l.db", home=home, plugins=plugins) as made:
        yield made


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_programs(
    library: Ledger, server: ModelServer, model: str, stream: bool
) -> None:
    """The model calls the tool, gets its result, answers; a replay connects to nobody."""
    heard: list[str] = []

    def program(run: Run) -> str:
        given: Any = {"options": {"stream": stream}, "on_text": heard.append}
        return agent_loop(run, "How is it?", model=model, tools=tools(), **given).text

    done = library.execute(program)
    assert (done.status, done.result) == ("completed", "echo: sunny in Zürich")
    assert len(server.calls) == 2
    assert [bool(one.body.get("stream")) for one in server.calls] == [stream] * 2
    assert "".join(heard) == done.result
    assert (len(heard) > 1) is stream
    report = replay(library, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert len(server.calls) == 2


@pytest.mark.parametrize("model", MODELS)
def test_graphs(library: Ledger, server: ModelServer, model: str) -> None:
    """A node does the same; a stream that is cut is asked again, within its effect."""
    server.fail(Trouble(cut=2))
    policy = {"model": model, "stream": True}
    node = {"mode": "agent", "tools": tools(), "model_policy": policy}
    done = workflow_execute(library, "How is it?", {"nodes": {"act": node}})
    assert done.status == "completed", done.error
    assert done.artifacts[0].text == "echo: sunny in Zürich"
    assert len(server.calls) == 3
    assert len(list(library.events(run=done.run_id, type="llm.requested"))) == 2
    assert replay(library, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("model", MODELS)
def test_a_server_that_is_down(
    library: Ledger, server: ModelServer, model: str
) -> None:
    """A refusal fails the loop, with the status; a resume asks again, and only that."""
    node = {"mode": "agent", "tools": tools(), "model_policy": {"model": model}}
    server.fail(Trouble(), Trouble(400))
    done = workflow_execute(library, "How is it?", {"nodes": {"act": node}})
    assert done.status == "failed"
    (ended,) = library.events(run=done.run_id, type="agent.ended")
    assert ended.data["reason"] == "failed"
    again = library.resume(done.run_id)
    assert again.status == "completed", again.error
    assert len(server.calls) == 3
    assert len(list(library.events(run=done.run_id, type="tool.requested"))) == 1
