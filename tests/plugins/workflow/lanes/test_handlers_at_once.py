"""Functions of one graph are at once and in time, whether one must be awaited or not.

Rules: in an asynchronous graph whatever is no coroutine function works in a thread, so it
holds up neither the loop nor another branch, and its time is limited. Each handler has a
context of its own.
"""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from muniment import Run, replay
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageInput,
    tool_define,
    tool_registry,
    workflow_aexecute,
    workflow_execute,
    workflow_resume,
)
from workflow_stages import Document, chain, edge, graph_of

SECRET: ContextVar[str] = ContextVar("secret", default="unset")
MEET: list[threading.Barrier] = []
BEGUN, OVER = threading.Event(), threading.Event()


def meets(given: StageInput) -> str:
    """Go on only if as many as are expected are at work at once."""
    del given
    MEET[0].wait(20)
    return "met"


def says(given: StageInput) -> str:
    """Say what the context has."""
    return f"{given.node} {SECRET.get()}"


async def says_later(given: StageInput) -> str:
    """Say the same, in a task."""
    await asyncio.sleep(0)
    return says(given)


def waits(given: StageInput) -> str:
    """Wait for longer than anybody has time."""
    del given
    BEGUN.set()
    OVER.wait(20)
    return "late"


async def waits_later(given: StageInput) -> str:
    """Do so in a task."""
    del given
    BEGUN.set()
    await asyncio.sleep(20)
    return "late"


def slow_tool() -> str:
    """Wait in a tool."""
    OVER.wait(20)
    return "late"


async def calls_tool(run: Run, given: Any) -> object:
    """Call the tool that waits."""
    del run
    return await given.atool("slow")


def own(function: object, **more: object) -> Document:
    """Return a stage with a function of this module."""
    return {"handler": function, **more}


def at_once(**nodes: Document) -> Document:
    """Return a graph of *nodes*, all of them at once."""
    edges = [edge("fork", one) for one in nodes] + [edge(one, "meet") for one in nodes]
    return graph_of(
        {"fork": {"kind": "fork"}, **nodes, "meet": {"kind": "join"}}, *edges
    )


def items(function: object, many: int) -> Document:
    """Return a map over so many items."""
    return own(function, kind="map", map_policy={"items": [*range(many)]})


@pytest.mark.parametrize(
    "graph",
    [
        at_once(a=own(meets), b=own(meets), c=own(meets), d=own(says_later)),
        chain(many=items(meets, 3), after=own(says_later)),
        chain(
            many={
                "kind": "map",
                "map_policy": {"items": [0, 1, 2]},
                "body": {"kind": "verify", "verify": {"handler": meets}},
            },
            after=own(says_later),
        ),
    ],
    ids=["branches", "items", "verifiers"],
)
def test_plain_functions_are_at_once_beside_a_coroutine(
    book: Ledger, graph: Document
) -> None:
    """Three that wait for each other come to an end: none of them holds up the loop."""
    MEET[:] = [threading.Barrier(3)]
    done = workflow_execute(book, "t", graph)

    assert not MEET[0].broken
    assert replay(book, done.run_id).verdict == "acceptable"


def _tools() -> object:
    options = {
        "parameters": {},
        "handler": slow_tool,
        "policy": {"side_effect_level": "read_only"},
    }
    return tool_define(tool_registry(), "slow", "Wait", options)


SLOW: dict[str, Callable[[], Document]] = {
    "function": lambda: own(waits, timeout_s=0.1),
    "coroutine": lambda: own(waits_later, timeout_s=0.1),
    "item": lambda: {**items(waits, 2), "timeout_s": 0.1},
    "tool": lambda: own(calls_tool, timeout_s=0.1, tools=_tools()),
    "verifier": lambda: {
        "kind": "verify",
        "timeout_s": 0.1,
        "verify": {"handler": waits},
    },
    "command": lambda: {
        "kind": "verify",
        "verify": {"command": "sleep 20", "timeout_s": 0.1},
    },
}
"""Everything whose time a node can limit."""


@pytest.mark.parametrize("beside", [says, says_later], ids=["threads", "tasks"])
@pytest.mark.parametrize("what", SLOW)
def test_time_is_limited(
    book: Ledger, what: str, beside: Callable[[StageInput], object]
) -> None:
    """Whatever takes too long has failed in time, in threads and beside a coroutine."""
    OVER.clear()
    began = time.monotonic()
    done = workflow_execute(book, "t", chain(slow=SLOW[what](), after=own(beside)))
    OVER.set()

    assert time.monotonic() - began < 10
    assert done.status == "failed"
    if what != "command":
        failed = {
            str(one.raw.get("error_type"))
            for one in book.events(run=done.run_id)
            if one.type in ("stage.failed", "tool.failed")
        }
        assert failed == {"TimeoutError"}
    assert replay(book, done.run_id).verdict == "acceptable"


def sets(given: StageInput) -> str:
    """Set a variable of the context."""
    SECRET.set(given.node)
    return "set"


async def sets_later(given: StageInput) -> str:
    """Do so in a task, before and after it waited."""
    SECRET.set(given.node)
    await asyncio.sleep(0)
    SECRET.set(f"{given.node} again")
    return says(given)


def sets_in_lane(run: Run, given: StageInput) -> str:
    """Do so as a part of the program."""
    del run
    return sets(given)


async def sets_in_lane_later(run: Run, given: StageInput) -> str:
    """Do so as a part of the program, in a task."""
    del run
    return await sets_later(given)


def holds(given: StageInput) -> bool:
    """Do so in a condition."""
    return bool(sets(given))


def judges(given: StageInput) -> bool:
    """Do so in a verifier."""
    return bool(sets(given))


SETTING: dict[str, Document] = {
    "function": own(sets),
    "coroutine": own(sets_later),
    "in lane": own(sets_in_lane),
    "in lane, awaited": own(sets_in_lane_later),
    "condition": {"kind": "condition", "handler": holds},
    "verifier": {"kind": "verify", "verify": {"handler": judges}},
    "item": items(sets, 2),
    "timed": own(sets, timeout_s=20),
}
"""Every place from which a handler could leave something behind."""


@pytest.mark.parametrize("after", [says, says_later], ids=["function", "coroutine"])
@pytest.mark.parametrize("what", SETTING)
def test_each_handler_has_a_context_of_its_own(
    book: Ledger, what: str, after: Callable[[StageInput], object]
) -> None:
    """A handler sees the context of whoever runs the graph, and nothing of another's."""
    graph = graph_of(
        {"first": SETTING[what], "after": own(after)}, edge("first", "after", "*")
    )
    if what == "condition":
        graph["edges"] = [
            edge("first", "after", "true"),
            edge("first", "after", "false"),
        ]
    token = SECRET.set("outer")
    try:
        done = workflow_execute(book, "t", graph)
        assert SECRET.get() == "outer"
    finally:
        SECRET.reset(token)

    assert done.status in ("completed", "failed")
    assert "after outer" in [one.text for one in done.artifacts]


def test_a_context_is_that_of_the_handler_all_along(book: Ledger) -> None:
    """What a coroutine sets before it waits, it has afterwards."""
    done = workflow_execute(book, "t", chain(act=own(sets_later)))
    assert [one.text for one in done.artifacts] == ["act act again"]


def cancels(given: StageInput) -> str:
    """Raise what a cancelled task raises, though nobody cancelled it."""
    del given
    raise asyncio.CancelledError("by itself")


async def cancels_later(given: StageInput) -> str:
    """Do so in a task."""
    return cancels(given)


async def awaits_cancelled(given: StageInput) -> str:
    """Wait for a task that somebody cancelled."""
    del given
    other = asyncio.ensure_future(asyncio.sleep(20))
    asyncio.get_running_loop().call_soon(other.cancel)
    await other
    return "never"


def cancels_in_lane(run: Run, given: StageInput) -> str:
    """Do so as a part of the program."""
    del run
    return cancels(given)


async def cancels_in_lane_later(run: Run, given: StageInput) -> str:
    """Do so as a part of the program, in a task."""
    del run
    return cancels(given)


def stops(given: StageInput) -> str:
    """Raise what would end a coroutine."""
    raise StopIteration(given.node)


@pytest.mark.parametrize("beside", [says, says_later], ids=["threads", "tasks"])
@pytest.mark.parametrize(
    "function",
    [
        cancels,
        cancels_later,
        awaits_cancelled,
        cancels_in_lane,
        cancels_in_lane_later,
        stops,
    ],
)
def test_what_a_handler_raises_is_an_error_of_its_node(
    book: Ledger, function: object, beside: object
) -> None:
    """A `CancelledError` of its own, or a `StopIteration`, fails the node, not the run."""
    graph = graph_of(
        {"act": own(function), "mend": own(beside)}, edge("act", "mend", "error")
    )
    done = workflow_execute(book, "t", graph)

    assert done.status == "completed"
    (ended,) = [
        one
        for one in book.events(run=done.run_id, type="node.completed")
        if one.data["node"] == "act"
    ]
    wanted = "StopIteration" if function is stops else "CancelledError"
    failed = [one.raw for one in book.events(run=done.run_id, type="stage.failed")]
    said = failed[0]["error_type"] if failed else ended.data["error"]
    assert str(said).startswith(wanted)
    assert replay(book, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("what", [waits, waits_later], ids=["function", "coroutine"])
def test_a_cancelled_run_can_be_resumed(book: Ledger, what: object) -> None:
    """Whoever stops waiting has an interrupted run; a function that began is recorded."""
    OVER.clear()
    BEGUN.clear()
    graph = chain(first=own(says_later), slow=own(what), after=own(says))

    async def main() -> None:
        task = asyncio.create_task(workflow_aexecute(book, "t", graph))
        await asyncio.to_thread(BEGUN.wait, 20)
        task.cancel()
        await asyncio.sleep(0.05)
        OVER.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (run,) = book.runs()
    assert run.status == "interrupted"
    done = [one.scope for one in book.events(run=run.id, type="stage.completed")]
    assert done == (["first.1", "slow.1"] if what is waits else ["first.1"])


def test_a_running_loop_is_refused(book: Ledger) -> None:
    """Within a loop one awaits: the error says so, and nothing is written or left over."""
    head = book.head

    async def main() -> None:
        workflow_execute(book, "t", chain(act=own(says_later)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UsageError, match="workflow_aexecute"):
            asyncio.run(main())
    assert book.head == head


def test_a_running_loop_refuses_a_resume(book: Ledger) -> None:
    """A run that waits is not continued within a loop either, and waits on."""
    ask = {"kind": "escalation", "escalation_policy": {"reason": "fine?"}}
    done = workflow_execute(book, "t", chain(act=own(says_later), ask=ask))
    head = book.head

    async def main() -> None:
        workflow_resume(book, done.run_id)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UsageError, match="aresume"):
            asyncio.run(main())
    assert (done.status, book.head) == ("paused", head)


def test_no_artifacts_are_none(book: Ledger) -> None:
    """None gives a graph nothing to work on."""
    done = workflow_execute(book, "t", chain(act=own(says)), None)
    assert [one.text for one in done.artifacts] == ["act unset"]
