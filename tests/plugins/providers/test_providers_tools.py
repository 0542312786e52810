"""Tool servers: their calls are effects, and a replay starts none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import tool_server
from muniment_plugins.providers.secrets.redaction import MASK

KEY = "sk-proj-AbCdEfGhIjKlMnOpQrStUvWx"


class Shop:
    """A server with a tool that adds, one that fails, and one that is talkative."""

    def __init__(self) -> None:
        self.types: Any = pytest.importorskip("mcp.types")
        self.connected = 0
        self.called: list[str] = []

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Shop]:
        """Connect, and count it."""
        self.connected += 1
        yield self

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Answer as a session does."""
        self.called.append(name)
        if name == "broken":
            raise ConnectionError(f"no route for {arguments.get('key', 'nobody')}")
        told = f"{sum(arguments.values())}" if name == "add" else f"use {KEY}"
        content = [{"type": "text", "text": told}]
        return self.types.CallToolResult.model_validate({"content": content})

    async def list_tools(self) -> Any:
        """Answer with one tool."""
        tool = {"name": "add", "inputSchema": {"type": "object"}}
        return self.types.ListToolsResult.model_validate({"tools": [tool]})

    async def read_resource(self, uri: str) -> Any:
        """Answer with what nobody makes again."""
        del uri
        return self.types.Implementation.model_validate({"name": "x", "version": "1"})


def test_calls_are_recorded_and_replayed(ledger: Ledger) -> None:
    """Results come again in their classes, without secrets, and nobody is connected."""
    shop = Shop()

    async def program(run: Run) -> list[object]:
        async with tool_server(shop.connect, run) as tools:
            (tool,) = (await tools.list_tools()).tools
            added = await asyncio.gather(
                *(tools.call_tool(tool.name, {"a": n, "b": 1}) for n in range(3))
            )
            told = await tools.call_tool("tell", {"api_key": KEY})
        return [one.content[0].text for one in (*added, told)]

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == ["1", "2", "3", f"use {MASK}"]
    kinds = [event.type for event in ledger.events(type="tool.completed")]
    assert len(kinds) == 4
    report = replay(ledger, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert (shop.connected, len(shop.called)) == (1, 4)
    contents = [ledger.resolve(one) for one in ledger.events(run=done.run_id)]
    assert KEY not in str(contents)


def test_a_server_that_fails_fails_the_effect(ledger: Ledger) -> None:
    """A call without a result is a failed effect, live and again."""
    shop = Shop()

    async def program(run: Run) -> str:
        async with tool_server(shop.connect) as tools:
            with pytest.raises(EffectFailed, match="no route for nobody"):
                await tools.call_tool("broken")
            with pytest.raises(EffectFailed, match=r"ConnectionError: .*\[redacted\]"):
                await tools.call_tool("broken", {"key": KEY})
        return run.mode

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == "live"
    first, second = map(ledger.resolve, ledger.events(type="tool.failed"))
    assert first["error_type"] == "ConnectionError"
    assert KEY not in str(second)
    assert KEY not in str([ledger.resolve(one) for one in ledger.events()])


def test_an_answer_of_another_kind_is_refused(ledger: Ledger) -> None:
    """What is not a result of a call is not taken for one."""
    shop = Shop()

    async def program(_: Run) -> None:
        async with tool_server(shop.connect) as tools:
            with pytest.raises(EffectFailed, match="answered with a Implementation"):
                await tools.read_resource("file:///x")

    assert asyncio.run(ledger.aexecute(program)).status == "completed"


def test_a_server_of_the_package(ledger: Ledger) -> None:
    """The package's own client and server work through it."""
    mcp: Any = pytest.importorskip("mcp")
    served: Any = pytest.importorskip("mcp.server")
    if not hasattr(mcp, "Client"):
        pytest.skip("an older package, without a client in memory")
    server = served.MCPServer("shop")

    @server.tool()  # type: ignore[untyped-decorator] # of a package that may be absent
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def connect() -> AbstractAsyncContextManager[Any]:
        client: AbstractAsyncContextManager[Any] = mcp.Client(server)
        return client

    async def program(run: Run) -> object:
        async with tool_server(connect, run) as tools:
            names = [one.name for one in (await tools.list_tools()).tools]
            return [
                names,
                (await tools.call_tool("add", {"a": 1, "b": 2})).content[0].text,
            ]

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == [["add"], "3"]
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


@asynccontextmanager
async def down() -> AsyncGenerator[object]:
    """Reach nobody, and tell the key."""
    raise ExceptionGroup("tasks", [ConnectionRefusedError(f"no entry with {KEY}")])
    yield


def none_of_them() -> Any:
    """Return what is no connection."""
    return 5


def breaks() -> Any:
    """Fail."""
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("connect", "says"),
    [
        (down, "ConnectionRefusedError: no entry with [redacted]"),
        (none_of_them, "what connects gave a int"),
        (breaks, "division by zero"),
    ],
)
def test_a_server_that_is_not_reached(ledger: Ledger, connect: Any, says: str) -> None:
    """What is asked of it fails, which is recorded without secrets, and replayed."""
    tried = list[object]()

    def counted() -> Any:
        tried.append(connect)
        return connect()

    async def program(run: Run) -> list[str]:
        told = list[str]()
        async with tool_server(counted, run) as tools:
            asks: Any = (tools.list_tools, partial(tools.call_tool, "add"))
            for ask in asks:
                with pytest.raises(EffectFailed) as failed:
                    await ask()
                told.append(failed.value.message)
        return told

    done = asyncio.run(ledger.aexecute(program))
    assert done.status == "completed", done.error
    assert isinstance(done.result, list)
    assert [says in str(one) for one in done.result] == [True, True], done.result
    report = replay(ledger, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert len(tried) == 1
    contents = [ledger.resolve(one) for one in ledger.events(run=done.run_id)]
    assert KEY not in str(contents)


def test_a_run_whose_server_is_down(ledger: Ledger) -> None:
    """The run fails by what it asked, without secrets; so does its replay."""

    async def program(run: Run) -> None:
        async with tool_server(down, run) as tools:
            await tools.list_tools()

    done = asyncio.run(ledger.aexecute(program))
    assert isinstance(done.error, EffectFailed)
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    contents = [ledger.resolve(one) for one in ledger.events(run=done.run_id)]
    assert KEY not in str(contents)


class Grouping:
    """A connection that raises what it gets in a group, or fails to be closed."""

    def __init__(self, session: object) -> None:
        self.session = session

    async def __aenter__(self) -> object:
        return self.session

    async def __aexit__(self, *raised: object) -> None:
        error = raised[1]
        assert error is None or isinstance(error, Exception)
        raise ExceptionGroup("tasks", [error or OSError(f"broken pipe {KEY}")])


@pytest.mark.parametrize("bad", [False, True])
def test_closing_changes_nothing(
    ledger: Ledger, capsys: pytest.CaptureFixture[str], bad: bool
) -> None:
    """The program ends as it does in a replay, whatever a connection makes of its end."""
    shop = Shop()

    async def program(run: Run) -> str:
        async with tool_server(lambda: Grouping(shop), run) as tools:
            await tools.call_tool("broken" if bad else "add")
        return "done"

    done = asyncio.run(ledger.aexecute(program))
    assert done.status == ("failed" if bad else "completed")
    assert not bad or isinstance(done.error, EffectFailed)
    said = capsys.readouterr().err
    assert ("OSError: broken pipe [redacted]" in said) is not bad
    report = replay(ledger, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())


def test_a_dry_run_connects_to_nobody(ledger: Ledger) -> None:
    """It ends where it would ask."""
    shop = Shop()

    async def program(run: Run) -> None:
        async with tool_server(shop.connect, run) as tools:
            await tools.list_tools()

    asyncio.run(ledger.aexecute(program, mode="dry"))
    assert shop.connected == 0


def test_pages(ledger: Ledger) -> None:
    """A page is asked for by its cursor, as this edition of the package does."""
    shop = Shop()
    asked = list[object]()

    class Session(Shop):
        async def list_tools(self, *, params: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            """List by pages, as a session of the package."""
            asked.append(params and params.cursor)
            return await shop.list_tools()

    async def program(run: Run) -> None:
        async with tool_server(Session().connect, run) as tools:
            await tools.list_tools()
            await tools.list_tools(cursor="two")

    done = asyncio.run(ledger.aexecute(program))
    assert done.status == "completed", done.error
    assert asked == [None, "two"]
    requests: list[Any] = [
        ledger.resolve(one)["request"] for one in ledger.events(type="data.requested")
    ]
    assert requests == [
        {"name": "list_tools"},
        {"name": "list_tools", "cursor": "two"},
    ]
