"""A stream is handed on as it comes, and replayed exactly as far as it was read.

Every hook, sync and async, reads streams that never end, end, stall and are cut. The
program sees each line when it comes; the record holds what it saw, and a replay without
a server gives the same lines and the same end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from textwrap import dedent

import pytest

import muniment
from endless_streams import Endless
from muniment.queries.run_summary import RunSummaries
from recording import PYTHON, Desk

READERS = {
    "httpx": """
        import httpx
        def lines(url):
            with httpx.Client(timeout=TIMEOUT) as client:
                with client.stream("GET", url) as answer:
                    yield from answer.iter_lines()
    """,
    "requests": """
        import requests
        def lines(url):
            with requests.get(url, stream=True, timeout=TIMEOUT) as answer:
                for line in answer.iter_lines():
                    yield line.decode()
    """,
    "urllib3": """
        import urllib3
        def lines(url):
            answer = urllib3.PoolManager().request(
                "GET", url, preload_content=False, timeout=TIMEOUT, retries=False
            )
            rest = b""
            for chunk in answer.stream():
                *whole, rest = (rest + chunk).split(b"\\n")
                for line in whole:
                    yield line.decode()
            answer.close()
    """,
    "urllib": """
        import urllib.request
        def lines(url):
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                for line in answer:
                    yield line.decode().rstrip("\\n")
    """,
}

ASYNC_READERS = {
    "httpx": """
        import httpx
        async def lines(url):
            async with httpx.AsyncClient(timeout=TIMEOUT) as client:
                async with client.stream("GET", url) as answer:
                    async for line in answer.aiter_lines():
                        yield line
    """,
    "aiohttp": """
        import aiohttp
        async def lines(url):
            limits = aiohttp.ClientTimeout(total=None, sock_read=TIMEOUT)
            async with aiohttp.ClientSession(timeout=limits) as session:
                async with session.get(url) as answer:
                    async for line in answer.content:
                        yield line.decode().rstrip("\\n")
    """,
}

READ = """
import os, sys
BASE, COUNT, TIMEOUT = os.environ["STREAMS"], int(sys.argv[2]), 300
def main():
    count = 0
    for line in lines(f"{BASE}/{sys.argv[1]}"):
        if line:
            print(line, flush=True)
            count += 1
            if count == COUNT:
                break
try:
    main()
except Exception as error:
    print(type(error).__name__)
"""

AREAD = """
import asyncio, os, sys
from contextlib import aclosing
BASE, COUNT, TIMEOUT = os.environ["STREAMS"], int(sys.argv[2]), 300
async def main():
    count = 0
    async with aclosing(lines(f"{BASE}/{sys.argv[1]}")) as found:
        async for line in found:
            if line:
                print(line, flush=True)
                count += 1
                if count == COUNT:
                    break
try:
    asyncio.run(main())
except Exception as error:
    print(type(error).__name__)
"""

PROGRAMS = {name: dedent(text) + READ for name, text in READERS.items()}
PROGRAMS |= {
    f"{name}-async": dedent(text) + AREAD for name, text in ASYNC_READERS.items()
}


@pytest.fixture
def streams(desk: Desk) -> Iterator[Endless]:
    """Give the programs a server of streams."""
    with Endless() as server:
        desk.variables["STREAMS"] = server.url
        yield server


def said(count: int) -> str:
    """Return the first lines of a stream."""
    return "".join(f"data: {number}\n" for number in range(count))


def replayed(desk: Desk, run: str, *line: str) -> tuple[str, str]:
    """Return verdict and output of a replay."""
    again = desk.replay(run, *line)
    assert again.out, again.err
    return json.loads(again.out)["verdict"], again.err


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_four_lines_of_a_stream_without_end(
    desk: Desk, streams: Endless, name: str
) -> None:
    """The program reads four lines and goes on; a replay gives them, and no server."""
    desk.write("agent.py", PROGRAMS[name])
    line = (PYTHON, "agent.py", "endless", "4")
    done = desk.record(*line)
    assert (done.code, done.out) == (0, said(4)), done.err
    (value,) = (one["value"] for one in desk.data(done.run, "http.completed"))
    assert value["closed"] is True
    streams.__exit__(None, None, None)
    assert replayed(desk, done.run, *line) == ("acceptable", said(4))
    assert desk.holds
    more = desk.replay(done.run, *line[:3], "4000000")
    assert more.code == 1, more.err
    assert json.loads(more.out)["first_divergence"]["field"] == "value.closed"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stream_that_ends_or_is_cut(desk: Desk, streams: Endless, name: str) -> None:
    """The end and the error come at their place, live and in a replay.

    The lines of `urllib` end without an error where the connection does, alone, too.
    """
    desk.write("agent.py", PROGRAMS[name])
    for path, verb in (("whole", "completed"), ("cut", "failed")):
        line = (PYTHON, "agent.py", path, "99")
        done = desk.record(*line)
        if (name, path) != ("aiohttp-async", "cut"):  # it may drop what it had read
            assert done.out.startswith(said(6)), done.err
        assert (done.out == said(6)) == (path == "whole" or name == "urllib")
        assert len(desk.data(done.run, f"http.{verb}")) == 1
        assert replayed(desk, done.run, *line) == ("acceptable", done.out)
    assert len(streams.asked) == 2


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize("name", ["urllib", "aiohttp-async"])
def test_streams_on_a_loop_without_readers(desk: Desk, name: str) -> None:
    """A recorder whose loop is as that of Windows hears what comes when it comes."""
    desk.has_no_readers()
    desk.write("agent.py", PROGRAMS[name])
    for path, most, count in (("whole", "99", 6), ("endless", "4", 4)):
        line = (PYTHON, "agent.py", path, most)
        done = desk.record(*line)
        assert (done.code, done.out) == (0, said(count)), done.err
        assert replayed(desk, done.run, *line) == ("acceptable", done.out)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stream_that_stalls(desk: Desk, streams: Endless, name: str) -> None:
    """Each line is there before the next one comes; the timeout comes again."""
    desk.write("agent.py", PROGRAMS[name].replace("300", "3"))
    line = (PYTHON, "agent.py", "stalled", "99")
    done = desk.record(*line)
    assert done.out.startswith(said(6)), done.err
    assert len(done.out.splitlines()) == 7
    streams.__exit__(None, None, None)
    assert replayed(desk, done.run, *line) == ("acceptable", done.out)


TIMED_OUT = """
async def timed():
    task = asyncio.ensure_future(main())
    while not SIX:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("timed out")
SIX = []
asyncio.run(timed())
"""


@pytest.mark.parametrize("name", ASYNC_READERS)
def test_a_program_that_waits_no_longer(
    desk: Desk, streams: Endless, name: str
) -> None:
    """A task that is cancelled while it waits for a line is cancelled there again."""
    text = PROGRAMS[f"{name}-async"].partition("try:\n    asyncio.run")[0]
    text = text.replace("count += 1", "count += 1; count == 6 and SIX.append(1)")
    desk.write("agent.py", text + TIMED_OUT)
    line = (PYTHON, "agent.py", "stalled", "99")
    done = desk.record(*line)
    assert done.out == said(6) + "timed out\n", done.err
    streams.__exit__(None, None, None)
    assert replayed(desk, done.run, *line) == ("acceptable", done.out)


BETWEEN = """
count = 0
for line in lines(os.environ["STREAMS"] + "/stalled"):
    if line:
        print(line, flush=True)
        count += 1
        if count in (2, 4):
            print(urllib.request.urlopen(BASE + f"/plain?{count}").read(), flush=True)
        if count == 6:
            print("six", flush=True)
"""


@pytest.mark.parametrize("name", READERS)
def test_killed_in_the_middle_of_a_stream(
    desk: Desk, streams: Endless, name: str
) -> None:
    """What something came of is durable, and a resume gives exactly that."""
    text = 'import os, urllib.request\nBASE, TIMEOUT = os.environ["STREAMS"], 300\n'
    desk.write("agent.py", text + dedent(READERS[name]) + BETWEEN)
    recorder = desk.started("record", "--", PYTHON, "agent.py")
    assert recorder.stdout is not None
    while recorder.stdout.readline() != "six\n":
        assert recorder.poll() is None
    os.kill(child_of(recorder), signal.SIGKILL)
    recorder.communicate(timeout=300)
    (run,) = runs(desk)
    told = [part for one in desk.data(run, "http.streamed") for part in one["parts"]]
    assert "".join(told) == said(6).replace("\n", "\n\n")
    assert desk.holds
    streams.asked.clear()
    resumed = desk.muniment("resume", run, "--", PYTHON, "agent.py")
    told_again = [
        one
        for one in (resumed.out + resumed.err).splitlines()
        if one.startswith("data")
    ]
    assert told_again == said(6).splitlines(), resumed.err
    assert streams.asked == []
    assert len(desk.data(run, "http.failed")) == 1
    again = desk.replay(run, PYTHON, "agent.py")
    assert json.loads(again.out)["verdict"] == "acceptable", again.out


def child_of(recorder: subprocess.Popen[str]) -> int:
    """Return the id of the process that is recorded."""
    path = f"/proc/{recorder.pid}/task/{recorder.pid}/children"
    with open(path, encoding="ascii") as file:  # noqa: PTH123 - of the kernel
        return int(file.read().split()[0])


def runs(desk: Desk) -> list[str]:
    """Return the ids of all runs."""
    with muniment.open(desk.ledger, readonly=True) as ledger:
        started = ledger.events(type="run.started")
        found = [ledger.project(RunSummaries, run=str(one.run)) for one in started]
        return [one.id for one in found]


IN_PROCESS = """
import asyncio, sys
import muniment
from muniment import replay
from muniment_plugins.providers import async_http_client, http_client

def reads(run, url):
    found = []
    with http_client(run, library=LIBRARY) as client:
        with client.stream("GET", url) as answer:
            for line in answer.iter_lines():
                found += [line] if line else []
                run.record("note.added", {"text": line})
                if len(found) == 4:
                    break
    return found

async def areads(run, url):
    found = []
    async with async_http_client(run, library=LIBRARY) as client:
        async with client.stream("GET", url) as answer:
            async for line in answer.aiter_lines():
                found += [line] if line else []
                if len(found) == 4:
                    break
    return found

LIBRARY = sys.argv[2]
ledger = muniment.open()
url = {"url": sys.argv[1] + "/endless"}
done = ledger.execute(reads, params=url)
adone = asyncio.run(ledger.aexecute(areads, params=url))
for one, program in ((done, reads), (adone, areads)):
    print(one.result, replay(ledger, one.run_id, program).verdict)
"""


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_recording_clients_hand_on_streams(
    desk: Desk, streams: Endless, library: str
) -> None:
    """The clients for SDKs stream, too, and their programs replay."""
    desk.write("agent.py", IN_PROCESS)
    done = subprocess.run(
        [PYTHON, "agent.py", streams.url, library],
        cwd=desk.place,
        env=desk.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [f"data: {number}" for number in range(4)]
    assert done.stdout == f"{lines} acceptable\n" * 2
    first = runs(desk)[0]
    assert len(desk.data(first, "http.streamed")) > 1
    assert desk.holds
