"""An error is recorded as what it is, whatever library meets it, and comes again.

Each hook meets each kind of error: of the transport, of time, of TLS, of a loop that was
closed, Ctrl-C that the program survives, a body that breaks. The program prints class and
arguments, live and in a replay without a server; both are equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import dedent

import pytest

from endless_streams import Endless
from recording import PYTHON, Desk

HEAD = """
import os, re, signal, sys, threading, time
BASE, KIND = os.environ["STREAMS"], sys.argv[1]
URLS = {
    "refused": "http://127.0.0.1:9/x",
    "held": BASE + "/held",
    "tls": BASE.replace("http:", "https:") + "/plain",
    "cut": BASE + "/cut",
    "interrupted": BASE + "/held",
    "callback": BASE + "/held",
}
class Own(Exception):
    pass
def stop(*_):
    raise KeyboardInterrupt if KIND == "interrupted" else Own("of the program")
def strike():
    while not os.path.exists("asked"):
        time.sleep(0.01)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
if KIND in ("interrupted", "callback") and "MUNIMENT_OFFLINE" not in os.environ:
    signal.signal(signal.SIGALRM, stop)
    threading.Thread(target=strike, daemon=True).start()
def told(error):
    while isinstance(error, BaseException):
        arguments = re.sub(r"0x[0-9a-f]{6,}", "0x", ascii(error.args))
        print(type(error).__name__, arguments, end=" ")
        error = getattr(error, "reason", None) if KIND == "tls" else None
    print()
"""

SYNC = {
    "httpx": """
        import httpx
        def ask():
            with httpx.Client(timeout=TIMEOUT) as client:
                client.get(URL)
    """,
    "httpx2": """
        import httpx2
        def ask():
            with httpx2.Client(timeout=TIMEOUT) as client:
                client.get(URL)
    """,
    "requests": """
        import requests
        def ask():
            requests.get(URL, timeout=TIMEOUT)
    """,
    "urllib3": """
        import urllib3
        def ask():
            urllib3.PoolManager().request("GET", URL, timeout=TIMEOUT, retries=False)
    """,
    "urllib": """
        import urllib.request
        def ask():
            urllib.request.urlopen(URL, timeout=TIMEOUT).read()
    """,
}

ASYNC = {
    "httpx": """
        import httpx
        async def ask():
            async with httpx.AsyncClient(timeout=TIMEOUT) as client:
                await client.get(URL)
    """,
    "aiohttp": """
        import aiohttp
        async def ask():
            limits = aiohttp.ClientTimeout(total=None, sock_read=TIMEOUT)
            async with aiohttp.ClientSession(timeout=limits) as session:
                async with session.get(URL) as answer:
                    await answer.read()
    """,
}

ASK = """
for KIND in sys.argv[1:]:
    URL, TIMEOUT = URLS[KIND], 1 if KIND == "held" else 300
    try:
        ask()
        print("answered")
    except (Exception, KeyboardInterrupt) as error:
        told(error)
    print("went on")
"""

AASK = """
import asyncio
for KIND in sys.argv[1:]:
    URL, TIMEOUT = URLS[KIND], 1 if KIND == "held" else 300
    try:
        asyncio.run(ask())
        print("answered")
    except Exception as error:
        told(error)
    print("went on")
"""

PROGRAMS = {name: HEAD + dedent(text) + ASK for name, text in SYNC.items()}
APROGRAMS = {name: HEAD + dedent(text) + AASK for name, text in ASYNC.items()}

TWO_LOOPS = """
import asyncio, os
import httpx
client = httpx.AsyncClient(timeout=300)
async def ask():
    try:
        answer = await client.get(os.environ["BASE"] + "/echo")
        return answer.status_code
    except Exception as error:
        return f"{type(error).__name__}: {error}"
for _ in range(3):
    print(asyncio.run(ask()))
"""


@pytest.fixture
def streams(desk: Desk) -> Iterator[Endless]:
    """Give the programs a server that keeps them waiting."""
    with Endless(desk.place / "asked") as server:
        desk.variables["STREAMS"] = server.url
        yield server


KINDS = ("refused", "held", "tls", "cut")


def both(desk: Desk, streams: Endless, *kinds: str) -> tuple[str, str, list[str]]:
    """Return what is printed live, what in a replay, and the errors that are recorded."""
    line = (PYTHON, "agent.py", *kinds)
    done = desk.record(*line)
    assert done.code == 0, done.err
    failed = desk.data(done.run, "http.failed")
    streams.__exit__(None, None, None)
    again = desk.replay(done.run, *line)
    assert json.loads(again.out)["verdict"] == "acceptable", again.err + again.out
    assert desk.holds
    assert done.out.count("went on\n") == len(failed) == len(kinds)
    return done.out, again.err, [str(one["error_type"]) for one in failed]


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [KINDS, ("callback",)], ids=" ".join)
@pytest.mark.parametrize("name", SYNC)
def test_errors_of_sync_clients(
    desk: Desk, streams: Endless, name: str, kinds: tuple[str, ...]
) -> None:
    """Each is not a cancellation, and the same class comes again."""
    desk.write("agent.py", PROGRAMS[name])
    live, again, recorded = both(desk, streams, *kinds)
    assert live == again
    assert {*recorded} <= {"ConnectionFailed", "AnswerCutOff"}


@pytest.mark.parametrize("name", ASYNC)
def test_errors_of_async_clients(desk: Desk, streams: Endless, name: str) -> None:
    """The same, awaited."""
    desk.write("agent.py", APROGRAMS[name])
    live, again, recorded = both(desk, streams, *KINDS)
    assert live == again
    assert {*recorded} <= {"ConnectionFailed", "AnswerCutOff"}


def test_errors_on_a_loop_without_readers(desk: Desk, streams: Endless) -> None:
    """So they are where the recorder's loop is as that of Windows."""
    desk.has_no_readers()
    desk.write("agent.py", APROGRAMS["httpx"])
    live, again, recorded = both(desk, streams, *KINDS)
    assert live == again
    assert {*recorded} <= {"ConnectionFailed", "AnswerCutOff"}


@pytest.mark.parametrize("name", SYNC)
def test_ctrl_c_that_a_program_survives(
    desk: Desk, streams: Endless, name: str
) -> None:
    """Nobody presses it in a replay: it comes out of the record, at its place."""
    desk.write("agent.py", PROGRAMS[name])
    live, again, recorded = both(desk, streams, "interrupted")
    assert live == again == "KeyboardInterrupt () \nwent on\n"
    assert recorded == ["KeyboardInterrupt"]


def test_one_client_over_two_loops(desk: Desk) -> None:
    """An error of a closed loop is that error, whose call is replayed as such."""
    desk.write("agent.py", TWO_LOOPS)
    done = desk.record(PYTHON, "agent.py")
    assert "RuntimeError" in done.out, done.out + done.err
    faults = [
        one["data"]["fault"]["name"] for one in desk.data(done.run, "http.failed")
    ]
    assert set(faults) == {"RuntimeError"}
    desk.server_stops()
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert (again.code, again.err) == (0, done.out), again.out
