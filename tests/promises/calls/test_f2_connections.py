"""What a program asks of the connection behind an answer is refused by a rule.

`httpx` hands on the stream to the server beside each answer. A record has none, so a
program is told so while it is recorded, not when its replay fails.
"""

from __future__ import annotations

import asyncio
import io
import json
import subprocess

import pytest

from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.providers import async_http_client, http_client
from recording import MUNIMENT, PYTHON, Desk

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


MANY = """
import asyncio, resource, sys
import httpx
least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
ALL = int(sys.argv[1])
async def main():
    asked, all_asked = [], asyncio.Event()
    async def answer(reader, writer):
        asked.append(await reader.readuntil(b"\\r\\n\\r\\n"))
        if len(asked) == ALL:
            all_asked.set()
        await all_asked.wait()
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
        writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=ALL)
    port = server.sockets[0].getsockname()[1]
    limits = httpx.Limits(max_connections=ALL)
    async with httpx.AsyncClient(timeout=None, limits=limits) as client:
        calls = [client.get(f"http://127.0.0.1:{port}/{n}") for n in range(ALL)]
        print(least, [one.text for one in await asyncio.gather(*calls)].count("ok"))
asyncio.run(main())
"""


def test_a_call_takes_one_descriptor_of_the_recorder(desk: Desk) -> None:
    """All calls of a program at once need not fit twice into what a shell allows."""
    desk.write("agent.py", MANY)
    line = ["-c", 'ulimit -Sn 256; exec "$@"', "sh", MUNIMENT, "record", "--"]
    done = subprocess.run(
        ["/bin/sh", *line, PYTHON, "agent.py", "190"],
        cwd=desk.place,
        env=desk.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "256 190\n"), done.stderr
    assert "190 http" in done.stderr
