"""The tools of MCP servers in a loop: offered, held, recorded, and never asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tools import calls, tools
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.providers import tool_server
from muniment_plugins.workflow import (
    agent_aloop,
    agent_records,
    run_record,
    workflow_execute,
)
from muniment_plugins.workflow.tools.unheld_paths import UnheldPathsWarning

QUIET = f"ignore::{UnheldPathsWarning.__module__}.{UnheldPathsWarning.__name__}"
Scripts = Callable[..., Ledger]
ADD = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
SCRIPT = {
    1: calls(
        ("add", {"a": 1, "b": 2}),
        ("add", {"a": "one"}),
        ("refuse", {}),
        ("read", {"path": "x"}),
    ),
    2: "Three.",
}
LABELS = {name: {"side_effect_level": "read_only"} for name in ("add", "refuse")}


class Shop:
    """A server of a tool that adds, and one that always says error."""

    def __init__(self) -> None:
        self.types: Any = pytest.importorskip("mcp.types")
        self.connected = 0
        self.called: list[str] = []

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Shop]:
        """Connect, and count it."""
        self.connected += 1
        yield self

    async def list_tools(self) -> Any:
        """List both."""
        rows = [
            {"name": "add", "description": "Add", "inputSchema": ADD},
            {"name": "refuse", "inputSchema": {"type": "object"}},
            {"name": "peek", "inputSchema": {"type": "object"}},
        ]
        return self.types.ListToolsResult.model_validate({"tools": rows})

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Answer as a session does."""
        self.called.append(name)
        told = "no" if name == "refuse" else str(arguments)
        if name == "add":
            told = str(sum(arguments.values()))
        content = [{"type": "text", "text": told}]
        return self.types.CallToolResult.model_validate(
            {"content": content, "isError": name == "refuse"}
        )


def test_tools_of_servers(scripted: Scripts) -> None:
    """They are called beside others, checked like these; a replay connects to nobody."""
    ledger, shop = scripted(SCRIPT), Shop()

    async def program(run: Run) -> list[str]:
        async with tool_server(shop.connect) as server:
            given: Any = {"servers": [server], "tool_annotations": LABELS}
            done = await agent_aloop(
                run, "1 + 2?", model="test:a", tools=tools(), **given
            )
        return [str(one["content"]) for one in done.messages if one["role"] == "tool"]

    done = asyncio.run(ledger.aexecute(program))
    assert done.status == "completed", done.error
    told: Any = done.result
    assert told[0] == "3"
    assert "argument_invalid" in told[1]
    assert told[2:] == ["error: no", "text of x"]
    assert (shop.connected, sorted(shop.called)) == (1, ["add", "refuse"])
    (record,) = agent_records(ledger, done.run_id)
    statuses = [one["status"] for one in record["turns"][0]["calls"]]
    assert statuses == ["done", "denied", "failed", "done"]
    report = replay(ledger, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert (shop.connected, len(shop.called)) == (1, 2)


def test_nobody_allowed_them(scripted: Scripts) -> None:
    """What a server says about its tools counts for nothing: they are denied by default."""
    ledger, shop = scripted(SCRIPT), Shop()

    async def program(run: Run) -> int:
        async with tool_server(shop.connect) as server:
            given: Any = {"servers": [server]}
            return (await agent_aloop(run, "1 + 2?", model="test:a", **given)).denied

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == 4, done.error
    assert shop.called == []


@pytest.mark.filterwarnings(QUIET)
def test_links_of_a_server(scripted: Scripts, place: Path) -> None:
    """Paths for a server are held to the roots where links lead, as those of others are."""
    (place / "out").symlink_to("/")
    asked = [("peek", {"path": "note"}), ("peek", {"path": "out/etc"})]
    ledger, shop = scripted({1: calls(*asked), 2: "Seen."}), Shop()
    label = {"side_effect_level": "read_only", "path_params": ["path"]}

    async def program(run: Run) -> int:
        async with tool_server(shop.connect) as server:
            given: Any = {
                "servers": [server],
                "tool_annotations": {"peek": label},
                "capability_policy": {"workspace_roots": ["."]},
            }
            return (await agent_aloop(run, "?", model="test:a", **given)).denied

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == 1, done.error
    assert shop.called == ["peek"]
    (record,) = agent_records(ledger, done.run_id)
    codes = [one.get("code") for one in record["turns"][0]["calls"]]
    assert codes == [None, "path_outside_roots"]
    (place / "out").unlink()
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_a_bare_session_is_refused(scripted: Scripts) -> None:
    """A server whose calls nobody records is refused, with what to give instead."""
    ledger, shop = scripted(SCRIPT), Shop()

    async def program(run: Run) -> str:
        given: Any = {"servers": [shop]}
        return (await agent_aloop(run, "x", model="test:a", **given)).text

    done = asyncio.run(ledger.aexecute(program))
    assert "nothing records the calls" in str(done.error)
    assert "tool_server" in str(done.error)


class Paged(Shop):
    """A server that lists its tools one a page; the pages may go on for ever."""

    def __init__(self, *names: str, ends: bool = True) -> None:
        super().__init__()
        self.names, self.ends = names, ends

    async def list_tools(self, *, cursor: str | None = None) -> Any:
        """List one tool."""
        page = int(cursor or 0)
        rows = [{"name": self.names[page], "inputSchema": {"type": "object"}}]
        last = page + 1 == len(self.names)
        more = None if last and self.ends else str((page + 1) % len(self.names))
        return self.types.ListToolsResult.model_validate(
            {"tools": rows, "nextCursor": more}
        )


def offered(ledger: Ledger, *shops: Any, **how: Any) -> tuple[Any, list[str], str]:
    """Return the run of a loop with these servers, what it offered, and its failure."""

    async def program(run: Run) -> str:
        async with AsyncExitStack() as stack:
            servers = [
                await stack.enter_async_context(tool_server(one.connect, **how))
                for one in shops
            ]
            given: Any = {"servers": servers, "tools": tools()}
            return (await agent_aloop(run, "x", model="test:a", **given)).text

    done = asyncio.run(ledger.aexecute(program))
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    asked: list[Any] = [
        ledger.resolve(one)["request"]
        for one in ledger.events(run=done.run_id, type="llm.requested", order="asc")
    ]
    names = [one["name"] for one in asked[0]["tools"]] if asked else []
    return done, [one for one in names if one not in OWN], str(done.error)


OWN = ("read", "edit", "burst")


def test_all_pages_are_offered(scripted: Scripts) -> None:
    """A server may list its tools on several pages; a list without end is an error."""
    done, names, _ = offered(scripted({1: "x"}), Paged("a", "b", "c"))
    assert (done.status, names) == ("completed", ["a", "b", "c"])
    done, _, error = offered(scripted({1: "x"}), Paged("a", "b", ends=False))
    assert done.status == "failed"
    assert error.startswith("servers[0]: its list of tools has no end")
    assert "[workflow/tool-server]" in error


def test_names_that_collide(scripted: Scripts) -> None:
    """Servers with the same names are refused, and told apart by prefixes."""
    done, _, error = offered(scripted({1: "x"}), Paged("a"), Paged("a"))
    assert done.status == "failed"
    assert error.startswith("servers[1]: its tool 'a' cannot be offered")
    assert "prefix=" in error

    ledger, first, second = (
        scripted({1: calls(("a_see", {}), ("b_see", {})), 2: "Seen."}),
        Paged("see"),
        Paged("see", "read"),
    )

    async def program(run: Run) -> str:
        async with (
            tool_server(first.connect, prefix="a_") as one,
            tool_server(second.connect, prefix="b_") as two,
        ):
            given: Any = {
                "servers": [one, two],
                "tools": tools(),
                "approval_policy": {"auto_approve": ["a_see"]},
            }
            return (await agent_aloop(run, "x", model="test:a", **given)).text

    done = asyncio.run(ledger.aexecute(program))
    assert done.status == "completed", done.error
    assert (first.called, second.called) == (["see"], [])
    (record,) = agent_records(ledger, done.run_id)
    said = [(one["tool"], one["status"]) for one in record["turns"][0]["calls"]]
    assert said == [("a_see", "done"), ("b_see", "denied")]
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_only_some_are_offered(scripted: Scripts) -> None:
    """What nobody could offer, or wants, is left out; a name that is none is refused."""
    shop = Paged("read", "b", "an odd name")
    done, names, _ = offered(scripted({1: "x"}), shop, only=["b"])
    assert (done.status, names) == ("completed", ["b"])
    done, _, error = offered(scripted({1: "x"}), shop, only=["bb"])
    assert done.status == "failed"
    assert "servers[0]: only: the server has no tool 'bb'" in error


SHOP: list[Shop] = []


def connect() -> Any:
    """Return what connects to the only shop, and records what it is asked."""
    return tool_server(SHOP[0].connect)


def bare() -> Any:
    """Return what records nothing."""
    return SHOP[0].connect()


def graph(servers: list[Any], **policy: Any) -> dict[str, Any]:
    """Return a graph of one loop with these servers."""
    node = {
        "mode": "agent",
        "tools": tools(),
        "tool_servers": servers,
        "model_policy": {"model": "test:a", **policy},
    }
    return {"nodes": {"act": node}}


def test_servers_of_a_node(scripted: Scripts) -> None:
    """A node's servers are connected for its visit; a replay connects to nobody."""
    ledger = scripted(SCRIPT)
    SHOP[:] = [Shop()]
    options = {"ceiling": {"tool_annotations": LABELS}}
    needs = {"require_successful_tools": ["add"]}
    done = workflow_execute(ledger, "1 + 2?", graph([connect], **needs), (), options)
    assert done.status == "completed", done.error
    assert done.artifacts[-1].text == "Three."
    (row,) = run_record(ledger, done.run_id)["stages"]
    statuses = [one["status"] for one in row["agent"]["turns"][0]["calls"]]
    assert statuses == ["done", "denied", "failed", "done"]
    assert replay(ledger, done.run_id).verdict == "acceptable"
    assert (SHOP[0].connected, len(SHOP[0].called)) == (1, 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (graph([bare]), "nothing records the calls"),
        (
            graph([connect], require_successful_tools=["adds"]),
            "there is no tool 'adds'",
        ),
    ],
)
def test_servers_that_cannot_be(scripted: Scripts, given: Any, says: str) -> None:
    """A server that records nothing, or lacks a tool that is wanted, fails the node."""
    SHOP[:] = [Shop()]
    done = workflow_execute(scripted(SCRIPT), "1 + 2?", given)
    assert done.status == "failed"
    assert says in str(done.error)
    assert SHOP[0].called == []


def test_what_is_stated_about_nobody(scripted: Scripts) -> None:
    """A misspelt name in ``tool_annotations`` is refused, and says which was meant."""
    ledger, shop = scripted({1: "Done."}), Shop()

    async def program(run: Run, name: str = "paek") -> str:
        async with tool_server(shop.connect) as server:
            given: Any = {"servers": [server], "tool_annotations": {name: {}}}
            return (await agent_aloop(run, "?", model="test:a", **given)).text

    done = asyncio.run(ledger.aexecute(program))
    assert "tool_annotations: paek: there is no tool 'paek'" in str(done.error)
    assert "did you mean peek" in str(done.error)


def test_roots_that_hold_nothing(scripted: Scripts) -> None:
    """Where roots hold no argument of a tool, a loop says so, also of tools of servers."""
    ledger, shop = scripted({1: "Done."}), Shop()
    SHOP[:] = [shop]

    async def program(run: Run) -> str:
        async with tool_server(shop.connect) as server:
            given: Any = {
                "servers": [server],
                "capability_policy": {"workspace_roots": ["."]},
                "tool_annotations": {"add": {"path_params": ["a"]}},
            }
            return (await agent_aloop(run, "?", model="test:a", **given)).text

    with pytest.warns(UnheldPathsWarning) as told:
        done = asyncio.run(ledger.aexecute(program))
    assert done.result == "Done.", done.error
    said = [str(one.message) for one in told]
    assert [one.split()[4] for one in said] == ["peek", "refuse"]
    assert "path_params" in said[0]
    options = {"ceiling": {"workspace_roots": ["."]}}
    with pytest.warns(UnheldPathsWarning) as told:
        ran = workflow_execute(ledger, "?", graph([connect]), (), options)
    assert [str(one.message).split()[4] for one in told] == ["add", "peek", "refuse"]
    assert ran.status == "completed", ran.error


@pytest.mark.filterwarnings(QUIET)
def test_a_server_gets_the_path_that_was_judged(scripted: Scripts, place: Path) -> None:
    """A path for a server is absolute, wherever the process is when it is called."""
    (place / "ws").mkdir()
    ledger, shop = scripted({1: calls(("peek", {"path": "note"})), 2: "Seen."}), Shop()
    label = {"side_effect_level": "read_only", "path_params": ["path"]}

    async def program(run: Run) -> Any:
        async with tool_server(shop.connect) as server:
            given: Any = {
                "servers": [server],
                "tool_annotations": {"peek": label},
                "capability_policy": {"workspace_roots": ["."]},
                "base": "ws",
            }
            done = await agent_aloop(run, "?", model="test:a", **given)
        return [one["content"] for one in done.messages if one["role"] == "tool"]

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == [str({"path": str(place.resolve() / "ws" / "note")})]
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
