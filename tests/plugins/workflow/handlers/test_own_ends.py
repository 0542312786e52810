"""Whatever code raises that a run calls fails that call, and not the run.

What passes is not its own: Ctrl-C, and a cancellation that somebody asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_tools import Model, calls
from muniment import Run, current_run, replay
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import (
    StageInput,
    agent_aloop,
    agent_loop,
    tool_define,
    tool_registry,
    workflow_aexecute,
    workflow_execute,
    workflow_mail,
    workflow_update,
)
from workflow_stages import Document, chain, says


class Own(BaseException):
    """Nothing of the kernel's."""


class Silent(BaseException):
    """Something that cannot say what it is."""

    def __str__(self) -> str:
        raise Own


KINDS: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": GeneratorExit,
    "CancelledError": lambda: asyncio.CancelledError("by itself"),
    "Own": lambda: Own("boo"),
    "Silent": Silent,
    "StopIteration": StopIteration,
    "BaseExceptionGroup": lambda: BaseExceptionGroup(
        "all", [ValueError("a"), Own("boo"), SystemExit(1)]
    ),
    "ValueError": lambda: ValueError("boo"),
}
RAISED: list[BaseException] = []
"""What is raised next."""


def throw(*_: object, **__: object) -> object:
    """Raise it."""
    raise RAISED.pop()


async def throw_later(*_: object, **__: object) -> object:
    """Raise it after others had a turn."""
    await asyncio.sleep(0)
    return throw()


async def throw_awaited(*_: object, **__: object) -> object:
    """Wait for something else that raises it."""
    return await asyncio.gather(throw_later())


@pytest.fixture
def desk(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with a model that calls a tool twice."""
    del place
    both = calls(("throw", {}), ("speak", {}))
    model = Model({1: both, 2: "Done."})
    plugins = Plugins(("workflow",), extra={"model": model})
    with Ledger.create(tmp_path / "l.db", plugins=plugins) as made:
        yield made


def speak() -> str:
    """Say something."""
    return "spoken"


def tools(throws: Callable[..., object]) -> Any:
    """Return a tool that raises, and one that does not."""
    made = tool_registry()
    for name, handler in (("throw", throws), ("speak", speak)):
        policy = {"side_effect_level": "read_only"}
        said = {"parameters": {}, "handler": handler, "policy": policy}
        made = tool_define(made, name, "d", said)
    return made


def agent(throws: Callable[..., object]) -> Document:
    """Return a graph of one loop."""
    policy = {"model": "test:a"}
    return chain(a={"mode": "agent", "model_policy": policy, "tools": tools(throws)})


async def afterwards(throws: Callable[..., object], run: Run) -> object:
    """Let a loop that awaits call it."""
    done = await agent_aloop(run, "x", model="test:a", tools=tools(throws))
    return [str(one["content"]) for one in done.messages if one["role"] == "tool"]


def by_tool(desk: Ledger, throws: Callable[..., object]) -> tuple[str, str]:
    """Let a loop of a program call it."""

    def program(run: Run) -> object:
        done = agent_loop(run, "x", model="test:a", tools=tools(throws))
        return [str(one["content"]) for one in done.messages if one["role"] == "tool"]

    done = desk.execute(program)
    result: Any = done.result
    said, spoken = result
    assert spoken == "spoken"
    report = replay(desk, done.run_id, program=program)
    assert report.verdict == "acceptable"
    return done.run_id, str(said).removeprefix("error: ")


def by_awaited_tool(desk: Ledger, throws: Callable[..., object]) -> tuple[str, str]:
    """Let a loop of a program that awaits call it."""
    done = asyncio.run(desk.aexecute(partial(afterwards, throws)))
    result: Any = done.result
    said, spoken = result
    assert spoken == "spoken"
    return done.run_id, str(said).removeprefix("error: ")


def by_node_with_tools(desk: Ledger, throws: Callable[..., object]) -> tuple[str, str]:
    """Let the loop of a node call it."""
    is_later = asyncio.iscoroutinefunction(throws)
    done: Any = (
        asyncio.run(workflow_aexecute(desk, "t", agent(throws)))
        if is_later
        else workflow_execute(desk, "t", agent(throws))
    )
    assert done.status == "completed", done.error
    assert replay(desk, done.run_id).verdict == "acceptable"
    (failed,) = desk.events(run=done.run_id, type="tool.failed")
    told = desk.resolve(failed)
    return done.run_id, f"{told['error_type']}: {told['message']}"


def sends(given: StageInput) -> str:
    """Send the run an update."""
    with pytest.raises(MunimentError):
        workflow_update(SENDERS[-1], current_run().id, "ask", 1, timeout_s=0)
    return given.node


SENDERS: list[Ledger] = []


def by_update(desk: Ledger, throws: Callable[..., object]) -> tuple[str, str]:
    """Let an update call it."""
    graph = {
        **chain(a={"handler": sends}, b={"handler": says}),
        "mailbox": {"updates": {"ask": throws}},
    }
    SENDERS.append(desk)
    done: Any = (
        asyncio.run(workflow_aexecute(desk, "t", graph))
        if asyncio.iscoroutinefunction(throws)
        else workflow_execute(desk, "t", graph)
    )
    assert done.status == "completed", done.error
    (row,) = workflow_mail(desk, done.run_id)
    assert row["state"] == "answered"
    assert replay(desk, done.run_id).verdict == "acceptable"
    return done.run_id, str(row["error"])


def by_handler(desk: Ledger, throws: Callable[..., object]) -> tuple[str, str]:
    """Let a node call it."""
    graph = chain(a={"handler": throws})
    done: Any = (
        asyncio.run(workflow_aexecute(desk, "t", graph))
        if asyncio.iscoroutinefunction(throws)
        else workflow_execute(desk, "t", graph)
    )
    assert done.status == "failed"
    (failed,) = desk.events(run=done.run_id, type="stage.failed")
    told = desk.resolve(failed)
    return done.run_id, f"{told['error_type']}: {told['message']}"


WAYS = {
    "tool": (by_tool, throw),
    "tool in a thread": (by_awaited_tool, throw),
    "awaited tool": (by_awaited_tool, throw_later),
    "tool that awaits": (by_awaited_tool, throw_awaited),
    "tool of a node": (by_node_with_tools, throw),
    "awaited tool of a node": (by_node_with_tools, throw_later),
    "update": (by_update, throw),
    "awaited update": (by_update, throw_later),
    "handler": (by_handler, throw),
    "awaited handler": (by_handler, throw_later),
}


NOT_IN_TASKS = ("SystemExit", "GeneratorExit")
"""What asyncio passes on from one task to another as what ends the loop, or the other."""


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (kind, way)
        for kind in KINDS
        for way in WAYS
        if way != "tool that awaits" or kind not in NOT_IN_TASKS
    ],
)
def test_it_ends_itself(desk: Ledger, kind: str, way: str) -> None:
    """A tool is told as an error, an update refused, a node fails; each run goes on."""
    by, throws = WAYS[way]
    RAISED[:] = [KINDS[kind]()]
    run, said = by(desk, throws)
    # A coroutine that raises it has it turned into an error by Python itself.
    turned = kind == "StopIteration" and throws is not throw
    assert said.startswith("RuntimeError: " if turned else f"{kind}: "), said
    assert not [one for one in desk.runs() if one.status in ("open", "interrupted")]
    assert run


@pytest.mark.parametrize("way", ["tool", "tool of a node", "update", "handler"])
@pytest.mark.parametrize("alone", [True, False])
def test_ctrl_c_passes(desk: Ledger, way: str, alone: bool) -> None:
    """The user who interrupts ends the process, also if that is one of several."""
    by, throws = WAYS[way]
    error = KeyboardInterrupt()
    RAISED[:] = [error if alone else BaseExceptionGroup("all", [Own(), error])]
    with pytest.raises(KeyboardInterrupt if alone else BaseExceptionGroup):
        by(desk, throws)


@pytest.mark.parametrize("way", ["awaited tool", "awaited update", "awaited handler"])
def test_a_real_cancellation_passes(
    desk: Ledger, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cancels the task that waits ends what it waits for; it is no failure."""
    by, _ = WAYS[way]
    run = asyncio.run

    def cancelled(main: Any) -> object:
        async def outer() -> object:
            task = asyncio.ensure_future(main)
            await begun.wait()
            task.cancel()
            return await task

        return run(outer())

    begun = asyncio.Event()

    async def hangs(*_: object, **__: object) -> None:
        begun.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(asyncio, "run", cancelled)
    with pytest.raises(asyncio.CancelledError):
        by(desk, hangs)
    kinds = ("tool.failed", "update.failed", "stage.failed")
    ended = [one for kind in kinds for one in desk.events(type=kind)]
    assert all(one.raw.get("reason") == "cancelled" for one in ended)
