"""Code that calls `sys.exit` ends itself, and neither thread, task nor run."""

from __future__ import annotations

import argparse
import asyncio
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools import Model, calls
from muniment import Run, replay
from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import (
    StageInput,
    agent_aloop,
    agent_loop,
    agent_records,
    tool_define,
    tool_registry,
    workflow_aexecute,
    workflow_execute,
)
from workflow_stages import chain, stage

MODEL = Model({1: calls(("leave", {"code": 3}), ("parse", {"line": "--no"})), 2: "So."})
CALLED: list[str] = []


@pytest.fixture
def book(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with a model that calls tools."""
    del place
    CALLED.clear()
    plugins = Plugins(("workflow",), extra={"model": MODEL})
    with Ledger.create(tmp_path / "l.db", plugins=plugins) as made:
        yield made


def leave(code: int) -> None:
    """Leave."""
    CALLED.append("leave")
    sys.exit(code)


async def leave_later(code: int) -> None:
    """Leave after others had a turn."""
    await asyncio.sleep(0)
    leave(code)


def parse(line: str) -> None:
    """Read a line as a program does."""
    CALLED.append("parse")
    argparse.ArgumentParser(prog="parse").parse_args(line.split())


def tools(leaves: Callable[..., object] = leave) -> Any:
    """Return tools that leave, and read."""
    made = tool_registry()
    for name, handler in (("leave", leaves), ("parse", parse)):
        parameter: Any = {"code": {}} if name == "leave" else {"line": {}}
        made = tool_define(
            made,
            name,
            options={
                "parameters": parameter,
                "handler": handler,
                "policy": {"side_effect_level": "read_only"},
            },
        )
    return made


@pytest.mark.parametrize("leaves", [leave, leave_later])
def test_tools_of_loops(book: Ledger, leaves: Callable[..., object]) -> None:
    """The model is told of it as of anything that a tool raises; no tool is called again."""
    given: Any = {"model": "test:a", "tools": tools(leaves)}

    async def later(run: Run) -> list[str]:
        return told(await agent_aloop(run, "x", **given))

    def told(done: Any) -> list[str]:
        assert (done.reason, done.failed) == ("answered", 2)
        return [str(one["content"]) for one in done.messages if one["role"] == "tool"]

    if leaves is leave:
        done = book.execute(lambda run: told(agent_loop(run, "x", **given)))
    else:
        done = asyncio.run(book.aexecute(later))
    assert done.result == ["error: SystemExit: 3", "error: SystemExit: 2"], done.error
    (record,) = agent_records(book, done.run_id)
    assert [one["status"] for one in record["turns"][0]["calls"]] == ["failed"] * 2
    assert sorted(CALLED) == ["leave", "parse"]


def exits(given: StageInput) -> str:
    """Leave."""
    leave(5)
    return given.node


async def exits_later(given: StageInput) -> str:
    """Leave, in a task."""
    await asyncio.sleep(0)
    return exits(given)


def exits_in_lane(run: Run, given: StageInput) -> str:
    """Leave, with the lane."""
    del run
    return exits(given)


def tells(run: Run, stage: Any) -> str:
    """Say what a tool came to."""
    del run
    try:
        stage.tool("leave", {"code": 3})
    except EffectFailed as error:
        return f"{error.error_type} {error.message}"
    return "nothing"


@pytest.mark.parametrize("handler", [exits, exits_later, exits_in_lane])
@pytest.mark.parametrize("seconds", [None, 5])
def test_handlers(book: Ledger, handler: Any, seconds: int | None) -> None:
    """A handler that leaves has failed, wherever it runs: an edge may take that."""
    first: dict[str, Any] = {"handler": handler}
    if seconds is not None:
        first["timeout_s"] = seconds
    graph: Any = chain(act=first, end=stage("says"))
    graph["edges"] = [{"from": "act", "to": "end", "branch": "error"}]
    if handler is exits_later:
        done = asyncio.run(workflow_aexecute(book, "t", graph))
    else:
        done = workflow_execute(book, "t", graph)
    assert done.status == "completed", done.error
    (ended, _) = book.events(run=done.run_id, type="node.completed")
    assert (ended.data["branch"], str(ended.data["error"])[-1]) == ("error", "5")
    assert replay(book, done.run_id).verdict == "acceptable"


def test_conditions(book: Ledger) -> None:
    """A condition that leaves fails the run, and does not interrupt it."""
    graph: Any = chain(ask={"kind": "condition", "handler": exits}, end=stage("says"))
    graph["edges"] = [
        {"from": "ask", "to": "end", "branch": one} for one in ("true", "false")
    ]
    done = workflow_execute(book, "t", graph)
    assert done.status == "failed"
    assert "SystemExit" in str(done.error)


def test_tools_of_stages(book: Ledger) -> None:
    """A stage is told of it as of anything that a tool raises."""
    graph = chain(act={"handler": tells, "tools": tools()})
    done = workflow_execute(book, "t", graph)
    assert done.status == "completed", done.error
    assert done.artifacts[-1].text == "SystemExit 3"
    assert replay(book, done.run_id).verdict == "acceptable"


class Handler:
    """A handler of signals that is an object."""

    def __call__(self, number: int, frame: object) -> None:
        """Leave."""
        leave_by(number, frame)

    def method(self, number: int, frame: object) -> None:
        """Leave."""
        leave_by(number, frame)


def leave_by(number: int, frame: object) -> None:
    """Leave as one does that a signal asks to."""
    del frame
    sys.exit(128 + number)


@pytest.mark.parametrize(
    "handler", [leave_by, Handler(), Handler().method, functools.partial(leave_by)]
)
def test_who_ends_the_process_ends_it(
    tmp_path: Path, place: Path, handler: Any
) -> None:
    """A handler of signals that leaves while a tool is at work interrupts the run."""
    del place

    def killed(code: int) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return f"it goes on {code}"

    def program(run: Run) -> str:
        return agent_loop(run, "x", model="test:a", tools=tools(killed)).text

    model = Model({1: calls(("leave", {"code": 3})), 2: "So."})
    plugins = Plugins(("workflow",), extra={"model": model})
    before = signal.signal(signal.SIGTERM, handler)
    try:
        with Ledger.create(tmp_path / "l.db", plugins=plugins) as book:
            with pytest.raises(SystemExit) as caught:
                book.execute(program)
            assert [one.status for one in book.runs()] == ["interrupted"]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.value.code == 128 + signal.SIGTERM
