"""A token that one call issues and others send is followed by a name, and never written.

The same value is the same name, in a header, body, URL or base64; another one is a
difference. What is computed from it cannot be told; and no resume answers it.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from recording import PYTHON, Desk
from servers import HttpServer

FIRST = "4f8Kq2/+zPw7xYtR9v"
SECOND = 'öd"8&sU1 <nVb=3mQ%7w'
COOKIE = "c0ok1e-8f7a6b5c4d3e"
CANARIES = (FIRST, SECOND, COOKIE)


class Issuer(BaseHTTPRequestHandler):
    """Issues two tokens and a cookie, and answers everything else with a length."""

    protocol_version = "HTTP/1.1"
    asked: list[str]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        type(self).asked.append(self.path)
        told: dict[str, Any] = {"length": len(body) and 1}
        if self.path == "/login":
            told = {
                "access_token": FIRST,
                "data": {"refreshToken": SECOND},
                "expires": 60,
            }
        data = json.dumps(told).encode()
        self.send_response(200)
        if self.path == "/login":
            self.send_header("set-cookie", f"session={COOKIE}; Path=/")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST  # noqa: N815 - the name that http.server calls


@pytest.fixture
def issuer(desk: Desk) -> Iterator[list[str]]:
    """Give the programs a server that issues tokens; yield what it is asked."""
    asked: list[str] = []
    handler = type("Handler", (Issuer,), {"asked": asked})
    with HttpServer(handler) as server:
        desk.variables["ISSUER"] = server.url
        yield asked


LOGIN = """
import base64, hashlib, html, json, os, signal, sys, httpx
from urllib.parse import quote
BASE = os.environ["ISSUER"]
client = httpx.Client(base_url=BASE)
told = client.post("/login", json={"user": "ada", "password": "short"}).json()
first, second = told["access_token"], told["data"]["refreshToken"]
def post(path, **asked):
    print(client.post(path, **asked).json())
"""

PLACES = {
    "bearer": 'post("/a", headers={"authorization": "Bearer " + first})',
    "basic": 'post("/a", auth=("ada", first))',
    "utf-8 basic": 'post("/a", auth=("ada", second))',
    "own header": 'post("/a", headers={"x-whatever": first})',
    "json": 'post("/a", json={"note": second, "b": [first]})',
    "named json": 'post("/a", json={"token": second, "refresh_token": first})',
    "json in json": 'post("/a", json={"a": json.dumps({"b": second})})',
    "form": 'post("/a", data={"note": second, "other": first})',
    "named form": 'post("/a", data={"token": second, "password": first})',
    "multipart": 'post("/a", files={"note": (None, second), "n": (None, first)})',
    "xml": 'post("/a", content="<a>" + html.escape(second) + "</a>")',
    "path": 'post("/a/" + quote(first, safe="") + "/b")',
    "query": 'post("/a", params={"note": second, "key": first})',
    "hex": 'post("/a", json={"a": first.encode().hex()})',
    "base64": 'post("/a", json={"a": base64.b64encode(second.encode()).decode()})',
    "base64, within": (
        'post("/a", json={"a": base64.b64encode(f"u:{first}:v".encode()).decode()})'
    ),
    "base64, in a URL": (
        'post("/a?x=" + quote(base64.b64encode(f"u:{first}".encode()), safe=""))'
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_a_token_is_sent_again(desk: Desk, issuer: list[str], place: str) -> None:
    """Whatever place and spelling it is sent in, it is recorded by name, and replays."""
    desk.write("agent.py", LOGIN + PLACES[place])
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    written = desk.bytes_of_ledger()
    assert not [one for one in CANARIES if one.encode() in written]
    (request,) = [one["request"] for one in desk.data(done.run, "http.requested")[1:]]
    assert "secret_" in json.dumps(request)
    asked = len(issuer)
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert json.loads(again.out)["verdict"] == "acceptable", again.out
    assert json.loads(again.out)["compared"] == 2
    assert len(issuer) == asked


@pytest.mark.usefixtures("issuer")
@pytest.mark.parametrize("place", ["bearer", "basic", "json", "named json", "query"])
def test_another_token_is_a_difference(desk: Desk, place: str) -> None:
    """A request that sends the other token is not the one that was recorded."""
    desk.write("agent.py", LOGIN + PLACES[place])
    done = desk.record(PYTHON, "agent.py")
    swapped = LOGIN + "first, second = second, first\n"
    desk.write("agent.py", swapped + PLACES[place])
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert again.code == 3, again.out
    assert "replay/secret" in again.out + again.err


@pytest.mark.usefixtures("issuer")
def test_what_is_computed_from_a_token(desk: Desk) -> None:
    """A digest of it differs in a replay: that cannot be told, by exit code 3."""
    signs = 'post("/a", json={"d": hashlib.sha256(first.encode()).hexdigest()})'
    desk.write("agent.py", LOGIN + signs)
    done = desk.record(PYTHON, "agent.py")
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert again.code == 3, again.out
    assert "replay/secret" in again.out + again.err


@pytest.mark.usefixtures("issuer")
def test_what_differs_before_a_token(desk: Desk) -> None:
    """What no secret can have caused is unacceptable, as ever."""
    desk.write("agent.py", LOGIN + PLACES["bearer"])
    done = desk.record(PYTHON, "agent.py")
    desk.write("agent.py", LOGIN.replace("ada", "eve") + PLACES["bearer"])
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert again.code == 1, again.out
    assert json.loads(again.out)["verdict"] == "unacceptable"


STOPS = PLACES["bearer"] + '\nif "go" not in os.listdir(): os.kill(os.getpid(), 9)\n'


def test_a_resume_answers_no_secret(desk: Desk, issuer: list[str]) -> None:
    """It is refused, naming effect and remedy; with that, the call is made again."""
    desk.write("agent.py", LOGIN + STOPS + PLACES["json"])
    command = (PYTHON, "agent.py")
    recorder = desk.started("record", "--", *command)
    _, err = recorder.communicate(timeout=300)
    assert recorder.returncode == 128 + signal.SIGKILL, err
    run = next(line for line in err.splitlines() if line.startswith("run 01"))
    run = run.split()[1].rstrip(":")
    desk.write("go", "")
    refused = desk.muniment("resume", run, "--", *command)
    assert refused.code == 4, refused.err
    said = " ".join((refused.out + refused.err).split())
    assert "http effect answered a secret" in said
    assert "--repeat-doubtful http" in said
    assert issuer == ["/login", "/a"]
    resumed = desk.muniment("resume", run, "--repeat-doubtful", "http", "--", *command)
    assert resumed.code == 0, resumed.err
    assert issuer == ["/login", "/a", "/login", "/a"]
    verified = desk.muniment("verify")
    assert verified.code == 0, verified.out  # two answers to one request, and told so
    again = desk.replay(run, *command)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out
    written = desk.bytes_of_ledger()
    assert not [one for one in CANARIES if one.encode() in written]
