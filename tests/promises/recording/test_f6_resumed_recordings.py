"""A recorded program is resumed by its command line, whatever secrets it was answered."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from recording import PYTHON, Desk, Ended
from servers import HttpServer

COOKIE = "t0k3n-9a8b7c6d5e4f3a2b"
LINE = (PYTHON, "agent.py")


class Shop(BaseHTTPRequestHandler):
    """Answers everything with a cookie, and a stream that breaks the first time."""

    protocol_version = "HTTP/1.1"
    asked: list[str]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer a request of any method."""
        asked = type(self).asked
        self.rfile.read(int(self.headers.get("content-length", 0)))
        asked.append(f"{self.command} {self.path}")
        if self.path == "/never" and not Path("asked").exists():
            Path("asked").touch()
            self.rfile.read(1)  # until the one who asked is gone
            self.close_connection = True
            return
        if self.path.startswith("/stream"):
            self._stream(len(asked))
            return
        data = json.dumps({"path": self.path}).encode()
        self.send_response(200)
        self.send_header("set-cookie", f"session={COOKIE}{len(asked)}; Path=/")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, number: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for part in range(4):
            data = f"data: {part} of {number}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
            time.sleep(0.02)
        self.wfile.write(b"0\r\n\r\n")

    do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - the names that http.server calls


@pytest.fixture
def shop(desk: Desk) -> Iterator[list[str]]:
    """Give the programs a server; yield what it is asked."""
    asked: list[str] = []
    handler = type("Handler", (Shop,), {"asked": asked})
    with HttpServer(handler) as server:
        desk.variables["SHOP"] = server.url
        yield asked


CLIENT = """
import os, signal, sys, httpx
client = httpx.Client(base_url=os.environ["SHOP"])
def stop():
    if "go" not in os.listdir():
        os.kill(os.getpid(), signal.SIGKILL)
"""


def cut_off(desk: Desk, text: str, *options: str) -> str:
    """Record a program that kills itself, and return the run; then it may go on."""
    desk.write("agent.py", CLIENT + text)
    recorder = desk.started("record", *options, "--", *LINE)
    out, err = recorder.communicate(timeout=300)
    assert recorder.returncode == 128 + signal.SIGKILL, err
    desk.write("go", "")
    return Ended(recorder.returncode, out, err).run


def resumed(desk: Desk, run: str, *options: str) -> Ended:
    """Go on with *run*."""
    return desk.muniment("resume", run, *options, "--", *LINE)


def replays(desk: Desk, run: str) -> None:
    """Hold that the run replays as it ended, and that the ledger verifies."""
    again = desk.replay(run, *LINE)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out + again.err
    assert desk.muniment("verify").code == 0


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_what_only_reads_is_repeated(desk: Desk, shop: list[str], method: str) -> None:
    """A cookie in its answer asks for no option: it is made again, and answers anew."""
    text = f'client.request("{method}", "/a")\nstop()\nclient.get("/b")\n'
    run = cut_off(desk, text)
    done = resumed(desk, run)
    assert done.code == 0, done.err
    assert shop == [f"{method} /a", f"{method} /a", "GET /b"]
    assert COOKIE.encode() not in desk.bytes_of_ledger()
    replays(desk, run)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_what_may_change_something_is_not(
    desk: Desk, shop: list[str], method: str
) -> None:
    """A call that was answered a cookie and may do harm twice is refused unasked."""
    run = cut_off(desk, f'client.request("{method}", "/a")\nstop()\n')
    done = resumed(desk, run)
    assert done.code == 4, done.err
    assert "effect/secret" in done.err
    assert shop == [f"{method} /a"]
    assert resumed(desk, run, "--repeat-doubtful", "http").code == 0
    replays(desk, run)


@pytest.mark.parametrize(("method", "code"), [("GET", 0), ("POST", 4)])
def test_an_unknown_outcome(
    desk: Desk, shop: list[str], method: str, code: int
) -> None:
    """Asked and never answered, what only reads is asked again; the rest is not."""
    text = f"""
import threading, time
def soon():
    while "asked" not in os.listdir():
        time.sleep(0.01)
    stop()
threading.Thread(target=soon, daemon=True).start()
client.request("{method}", "/never")
"""
    run = cut_off(desk, text)
    done = resumed(desk, run)
    assert done.code == code, done.err
    assert shop == [f"{method} /never"] * (1 if code else 2)


def test_another_key_than_the_record_had(desk: Desk, shop: list[str]) -> None:
    """Whoever resumes has a key of their own: what was answered is answered still."""
    text = """
KEY = os.environ["SHOP_API_KEY"]
for path in ("/stream", "/stream?key=" + KEY):
    client.get(path, headers={"authorization": "Bearer " + KEY, "x-shop-token": KEY})
stop()
client.get("/last", headers={"x-api-key": KEY})
"""
    desk.variables["SHOP_API_KEY"] = first = "key-of-the-first-8a7b6c5d"
    run = cut_off(desk, text)
    desk.variables["SHOP_API_KEY"] = second = "key-of-the-second-1f2e3d4c"
    done = resumed(desk, run)
    assert done.code == 0, done.err
    assert [one.partition("?")[0] for one in shop] == [
        *("GET /stream", "GET /stream", "GET /last"),
    ]
    written = desk.bytes_of_ledger()
    assert not [one for one in (first, second) if one.encode() in written]
    desk.variables["SHOP_API_KEY"] = "key-of-the-third-5a5b5c5d"
    replays(desk, run)


def test_a_stream_that_was_cut_off(desk: Desk, shop: list[str]) -> None:
    """What was read of it is answered, and what the program did with it stands."""
    text = """
with client.stream("GET", "/stream") as told:
    parts = told.iter_text()
    print(next(parts).strip(), flush=True)
    client.get("/stream?between")
    stop()
    print("".join(parts).strip())
client.get("/stream?last")
"""
    run = cut_off(desk, text)
    done = resumed(desk, run)
    assert done.code == 1, (
        done.err
    )  # it ended in the middle, and says so to the program
    assert done.out.startswith("data: 0 of 1"), done.out
    assert "httpx" in done.err or "RemoteProtocolError" in done.err, done.err
    assert shop == ["GET /stream", "GET /stream?between"]
    verified = desk.muniment("verify")
    assert verified.code == 0, verified.out


def test_names_are_kept_by_a_resume(desk: Desk, shop: list[str]) -> None:
    """What `--keep` and `--redact` named counts after a resume, and in its replay."""
    text = """
asked = {"signing_key": "harmless-1234567", "nickname": "canary-7654321x"}
client.post("/stream?a", json=asked)
stop()
client.post("/stream?b", json=asked)
"""
    options = ("--keep", "signing_key", "--redact", "nickname")
    run = cut_off(desk, text, *options)
    done = resumed(desk, run)
    assert done.code == 0, done.err
    assert len(shop) == 2
    asked = desk.data(run, "http.requested")
    assert len(asked) == 2
    for one in asked:
        told = one["request"]["body"]["json"]
        assert told == {"signing_key": "harmless-1234567", "nickname": "[redacted]"}
    assert b"canary-7654321x" not in desk.bytes_of_ledger()
    replays(desk, run)
