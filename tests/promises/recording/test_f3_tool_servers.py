"""A tool server that answers on a stream of its own is recorded, and replays without it.

The answers to what a program posts come on a stream that it opened before: handed on at
once in a replay, they would answer nothing, and the program would wait for ever.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import async_http_client
from recording import PYTHON, Desk

sse: Any = pytest.importorskip("mcp.client.sse")
mcp: Any = pytest.importorskip("mcp")

SERVER = """
import socket, uvicorn
from mcp.server import MCPServer

server = MCPServer("shop")

@server.tool()
def add(a: int, b: int) -> int:
    "Add."
    return a + b

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
config = uvicorn.Config(server.sse_app(), log_level="error")
uvicorn.Server(config).run(sockets=[listening])
"""
AGENT = """
import asyncio, os
from mcp import ClientSession
from mcp.client.sse import sse_client

async def main():
    async with sse_client(os.environ["SHOP"]) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            print([one.name for one in (await session.list_tools()).tools])
            for a in range(3):
                done = await session.call_tool("add", {"a": a, "b": 2})
                print(done.content[0].text)

asyncio.run(main())
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Give the address of a server of tools, and its process."""
    file = tmp_path / "shop.py"
    file.write_text(SERVER)
    with subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/sse", process
        process.kill()


@pytest.mark.slow
def test_a_recorded_program_calls_tools(
    desk: Desk, shop: tuple[str, subprocess.Popen[str]]
) -> None:
    """Its calls and their answers are compared, with the server gone."""
    address, server = shop
    desk.variables["SHOP"] = address
    desk.write("agent.py", AGENT)
    done = desk.record(PYTHON, "agent.py")
    assert (done.code, done.out) == (0, "['add']\n2\n3\n4\n"), done.err
    server.kill()
    server.wait()
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert again.code == 0, again.out
    assert "['add']\n2\n3\n4\n" in again.err

    desk.write("agent.py", AGENT.replace('"b": 2', '"b": 3'))
    other = desk.replay(done.run, PYTHON, "agent.py")
    assert other.code == 1, other.out
    assert "arguments" in other.out


def test_a_client_of_the_run_calls_tools(
    ledger: Ledger, shop: tuple[str, subprocess.Popen[str]]
) -> None:
    """The same where a program hands the recording client to the package."""
    address, server = shop

    async def program(run: Run) -> list[str]:
        def client(**options: Any) -> Any:
            return async_http_client(run, library="httpx2", **options)

        async with (
            sse.sse_client(address, httpx_client_factory=client) as streams,
            mcp.ClientSession(*streams) as session,
        ):
            await session.initialize()
            asked = [await session.call_tool("add", {"a": a, "b": 2}) for a in (1, 2)]
            return [one.content[0].text for one in asked]

    done = asyncio.run(ledger.aexecute(program))
    assert done.result == ["3", "4"]
    server.kill()
    server.wait()
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
