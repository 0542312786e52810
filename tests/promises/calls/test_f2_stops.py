"""What stops a program in a call, such as `sys.exit` in a signal's handler, comes again.

A replay raises it where it struck: the program ends as it did, with text and exit code.
How each library is struck is in `test_f2_struck_calls`.
"""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from held_calls import Holding
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import http_client
from muniment_plugins.providers.clients.flow import Flow
from recording import PYTHON, Desk

KEY = "canary-of-twelve-and-more-1f2e3d"

ENDING = """
import os, signal, sys, threading, time, urllib.request
URL, SENT, WHAT = sys.argv[1:4]
KEY = "{key}"
class Stop(BaseException):
    def __init__(self, text):
        super().__init__(text, 1)
        self.password, self.number = "c4n4ry9", 15
ENDS = {
    "143": lambda: sys.exit(143),
    "none": lambda: sys.exit(None),
    "text": lambda: sys.exit("refused: " + KEY),
    "list": lambda: sys.exit(["not", "today"]),
}
def stop(*_):
    if what == "own": raise Stop(KEY)
    ENDS[what]()
def strike():
    while not os.path.exists(SENT): time.sleep(0.002)
    os.unlink(SENT)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)
signal.signal(signal.SIGTERM, stop)
for what in ("own", WHAT):
    if "MUNIMENT_OFFLINE" not in os.environ:
        threading.Thread(target=strike, daemon=True).start()
    asked = urllib.request.Request(URL, headers={"Authorization": "Bearer " + KEY})
    try:
        urllib.request.urlopen(asked).read()
    except Stop as error:
        print(len(error.args), error.args[1], error.number)
""".replace("{key}", KEY)


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("143", 143, ""),
        ("none", 0, ""),
        ("text", 1, "refused: "),
        ("list", 1, "['not', 'today']"),
    ],
)
def test_a_program_that_exits_in_a_call_ends_as_it_did(
    desk: Desk, what: str, code: int, said: str
) -> None:
    """Nobody signals it in a replay; what the handler raised has no secret any more."""
    desk.write("agent.py", ENDING)
    sent = desk.place / "sent"
    with Holding(sent) as server:
        line = (PYTHON, "agent.py", f"{server.url}/nothing", str(sent), what)
        done = desk.record(*line)
    assert done.code == code, done.err
    assert said in done.err
    again = desk.replay(done.run, *line)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out + again.err
    assert said in again.err
    assert done.out == "2 1 15\n"
    assert done.out in again.err
    own, exited = desk.data(done.run, "http.failed")
    assert own["error_type"] == "__main__.Stop"
    assert own["data"]["stopped"]["args"] == ["[redacted]", 1]
    assert exited["error_type"] == "SystemExit"
    assert exited["reason"] == "cancelled"
    written = desk.bytes_of_ledger()
    assert not [one for one in (KEY, "c4n4ry9") if one.encode() in written]


TOGETHER = """
import asyncio, os, signal, sys
import aiohttp, httpx
URL, SENT, HOW = sys.argv[1:4]
OFFLINE = "MUNIMENT_OFFLINE" in os.environ
seen, begun = [], 0
async def by_httpx(number):
    async with httpx.AsyncClient(timeout=None) as client:
        async with client.stream("GET", f"{URL}/{number}/chunked-3") as r:
            async for data in r.aiter_bytes(): await has(number, data)
async def by_aiohttp(number):
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{URL}/{number}/chunked-3") as r:
            async for data in r.content.iter_any(): await has(number, data)
async def has(number, data):
    global begun
    begun += 1
    seen.append(f"{number} {data.decode()}")
async def asked(number):
    try:
        await (by_aiohttp if number % 2 else by_httpx)(number)
    except asyncio.CancelledError:
        seen.append(f"{number} cancelled")
        raise
async def main():
    def strike():
        if begun < 4 or OFFLINE: loop.call_later(0.01, strike)
        elif HOW == "signal": signal.raise_signal(signal.SIGINT)
        else: sys.exit(HOW)
    loop = asyncio.get_running_loop()
    strike()
    await asyncio.gather(*map(asked, range(4)))
for _ in range(2):
    begun = 0
    try:
        asyncio.run(main())
    except (SystemExit, KeyboardInterrupt) as error:
        print(sorted(seen), type(error).__name__, error.args, flush=True)
"""


@pytest.mark.parametrize("how", ["signal", "enough"])
def test_a_stop_that_leaves_a_loop_ends_all_its_calls(desk: Desk, how: str) -> None:
    """Once, after each of them was asked for; the program may run the next loop."""
    desk.write("agent.py", TOGETHER)
    with Holding(desk.place / "sent") as server:
        line = (PYTHON, "agent.py", server.url, str(desk.place / "sent"), how)
        done = desk.record(*line)
    assert done.code == 0, done.err
    assert done.out.count("cancelled") == 4 + 8
    again = desk.replay(done.run, *line)
    assert again.err == done.out
    assert json.loads(again.out)["verdict"] == "acceptable", again.out


def stopping(run: Run) -> object:
    """Make a call in which somebody exits."""

    def stop(_: httpx.Request) -> httpx.Response:
        raise SystemExit(7)

    wire = httpx.MockTransport(stop)
    with http_client(run, library="httpx", transport=wire) as client:
        try:
            client.get("http://h.example/x")
        except SystemExit as error:
            return [[*error.args], error.code]
    return None


def test_a_client_of_a_run_is_stopped_alike(tmp_path: Path) -> None:
    """A handler stops calls of `http_client`, too: live and in a replay."""
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        done = ledger.execute(stopping)
        assert done.result == [[7], 7]
        assert replay(ledger, done.run_id, stopping).verdict == "acceptable"


def test_records_with_the_class_alone_replay_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older ones have neither text nor code: the exit is a bare one."""

    def bare(self: Flow, *_: object) -> None:
        self.effect.cancel("SystemExit", None)

    def told(run: Run) -> object:
        found = stopping(run)
        return found if run.mode != "live" else [[], None]

    with Ledger.create(tmp_path / "ledger.db") as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Flow, "interrupt", bare)
            done = ledger.execute(told)
        assert replay(ledger, done.run_id, told).verdict == "acceptable"
