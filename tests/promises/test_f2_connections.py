"""What a program asks of the connection behind an answer is refused by a rule.

`httpx` hands on the stream to the server beside each answer. A record has none, so a
program is told so while it is recorded, not when its replay fails.
"""

from __future__ import annotations

import asyncio
import io
import json

import pytest

from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.providers import async_http_client, http_client
from recording import PYTHON, Desk

PROGRAM = """
import asyncio, io, os, sys
import httpx, httpx2
URL = os.environ["BASE"] + "/echo"
def look(answer):
    stream = answer.extensions["network_stream"]
    for asked in ("server_addr", "ssl_object", "unknown"):
        try:
            print(type(stream.get_extra_info(asked)).__name__)
        except io.UnsupportedOperation as error:
            print(error)
    for name in ("read", "write", "close"):
        try:
            getattr(stream, name)(1)
        except io.UnsupportedOperation:
            print("refused", name)
async def main(library):
    async with library.AsyncClient() as client:
        look(await client.get(URL))
for library in (httpx, httpx2):
    look(library.get(URL))
    with library.stream("GET", URL) as answer:
        look(answer)
    asyncio.run(main(library))
"""


def test_asking_for_the_connection_is_refused(desk: Desk) -> None:
    """Live and in a replay alike, by an error that says why; never by a missing name."""
    desk.write("agent.py", PROGRAM)
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) == 6 * 6
    assert sum("record/connection" in one for one in lines) == 6 * 3
    desk.server_stops()
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert (json.loads(again.out)["verdict"], again.err) == ("acceptable", done.out)


def test_clients_of_a_run_refuse_it_too(desk: Desk, ledger: Ledger) -> None:
    """The clients that a program makes of its run tell the same."""
    url = f"{desk.server.url}/echo"

    async def program(run: Run) -> None:
        with http_client(run) as client:
            one = client.get(url)
        async with async_http_client(run) as clients:
            two = await clients.get(url)
        for answer in (one, two):
            stream = answer.extensions["network_stream"]
            with pytest.raises(io.UnsupportedOperation, match="record/connection"):
                stream.get_extra_info("server_addr")

    asyncio.run(ledger.aexecute(program))
