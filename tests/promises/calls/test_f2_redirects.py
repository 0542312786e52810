"""A recorded program follows the redirects that it follows alone, and no other.

Each way to tell `urllib3` and `requests` how often to ask again or follow, before each
status that redirects: the server gets the same requests as from the program alone, and
the program the same answers, live and in a replay.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from recording import PYTHON, Desk
from servers import HttpServer

PROGRAM = """
import os
import requests, urllib3
from urllib3.util import Retry

BASE, STATUSES = os.environ["PLACE"], (303, 307)
HOST = BASE.removeprefix("http://")
SETTINGS = {
    "none": lambda: None,
    "False": lambda: False,
    "0": lambda: 0,
    "1": lambda: 1,
    "redirect=0": lambda: Retry(redirect=0),
    "redirect=0, returned": lambda: Retry(redirect=0, raise_on_redirect=False),
    "redirect=False": lambda: Retry(redirect=False),
    "redirect=1": lambda: Retry(5, redirect=1),
    "total=1": lambda: Retry(1),
    "total=False": lambda: Retry(False),
    "status": lambda: Retry(2, status_forcelist=[503], allowed_methods=None),
}


def of_the_manager(path, retries):
    with urllib3.PoolManager(retries=retries) as manager:
        return manager.request("POST", BASE + path, body=b"pay")


def of_the_call(path, retries):
    with urllib3.PoolManager() as manager:
        return manager.request("POST", BASE + path, body=b"pay", retries=retries)


def of_both(path, retries):
    with urllib3.PoolManager(retries=retries) as manager:
        return manager.request("POST", BASE + path, body=b"pay", redirect=False)


def of_the_pool(path, retries):
    with urllib3.connection_from_url(BASE, retries=retries) as pool:
        return pool.urlopen("POST", path, body=b"pay")


def by_place(path, retries):
    with urllib3.connection_from_url(BASE) as pool:
        return pool.urlopen("POST", path, b"pay", None, retries, True)


def of_an_adapter(path, retries):
    with requests.Session() as session:
        adapter = requests.adapters.HTTPAdapter(max_retries=retries or 0)
        session.mount("http://", adapter)
        return session.post(BASE + path, data=b"pay").raw


WAYS = (of_the_manager, of_the_call, of_both, of_the_pool, by_place, of_an_adapter)
for way in WAYS:
    for name, setting in SETTINGS.items():
        for path in [*(f"/to/{status}" for status in STATUSES), "/loop", *TROUBLE]:
            call = f"{way.__name__}/{name}{path}"
            try:
                answer = way(f"{path}?{way.__name__}-{name}".replace(" ", ""), setting())
                print(call, answer.status, answer.retries if LIVE else "")
            except Exception as error:
                print(call, type(error).__name__, str(error))
"""

LIVE = 'TROUBLE, LIVE = ["/busy/1", "/busy/2"], True\n'
"""What a pool spent on asking again is not in the record: for live programs only."""
REPLAYED = "TROUBLE, LIVE = [], False\n"


class Redirecting(BaseHTTPRequestHandler):
    """Redirects, after as many refusals as it is asked for."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    server: Redirects

    def do_POST(self) -> None:
        """Read the body, and answer."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer()

    def do_GET(self) -> None:
        """Answer a redirect that changed its method."""
        self._answer()

    def _answer(self) -> None:
        self.server.calls.append(f"{self.command} {self.path}")
        _, what, *rest = self.path.partition("?")[0].split("/")
        status, to = 200, ""
        if what == "to":
            status, to = int(rest[0]), "/there"
        elif what == "loop":
            status, to = 307, self.path
        elif what == "busy":
            busy = self.server.calls.count(f"{self.command} {self.path}")
            status, to = (503, "") if busy <= int(rest[0]) else (307, "/loop")
        self.send_response(status)
        if to:
            self.send_header("Location", to)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


class Redirects(HttpServer):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(Redirecting)
        self.calls: list[str] = []


@pytest.fixture
def redirecting() -> Iterator[Redirects]:
    """Give the test a server that redirects."""
    with Redirects() as server:
        yield server


def alone(desk: Desk) -> str:
    """Return what the program prints without a recorder."""
    return subprocess.run(
        [PYTHON, "agent.py"],
        cwd=desk.place,
        env=desk.environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize("what", ["live", "replayed"])
def test_the_redirects_that_it_follows_alone(
    desk: Desk, redirecting: Redirects, what: str
) -> None:
    """The server is asked what it is asked alone; the answers are the same."""
    place = redirecting.url
    desk.variables["PLACE"] = place
    desk.write("agent.py", (LIVE if what == "live" else REPLAYED) + PROGRAM)
    printed = alone(desk)
    asked = list(redirecting.calls)
    redirecting.calls.clear()
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    assert redirecting.calls == asked
    assert done.out.splitlines() == printed.splitlines()
    redirecting.calls.clear()
    again = desk.replay(done.run, PYTHON, "agent.py")
    if what == "live":  # followed further, which is a difference and never silent
        assert json.loads(again.out)["verdict"] == "unacceptable"
    else:
        assert (again.code, again.err) == (0, printed), again.out
    assert redirecting.calls == []
