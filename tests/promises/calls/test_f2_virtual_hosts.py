"""Requests to two hosts at one address are two: a ``Host`` other than the URL's counts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.providers.clients.exchange import Exchange, Sent
from recording import PYTHON, Desk

CLIENTS = ("requests", "httpx", "urllib", "aiohttp")
PROGRAM = """
import asyncio, sys, urllib.request
import aiohttp, httpx, requests

url, head = sys.argv[1] + "/echo", {"Host": sys.argv[2]} if sys.argv[2:] else {}

async def ask():
    async with aiohttp.ClientSession() as session:
        async with session.post(url, data=b"{}", headers=head) as answer:
            await answer.read()

requests.post(url, b"{}", headers=head)
httpx.post(url, content=b"{}", headers=head)
urllib.request.urlopen(urllib.request.Request(url, b"{}", head)).read()
asyncio.run(ask())
"""


def recorded(url: str, *hosts: str, volatile: tuple[str, ...] = ()) -> object:
    """Return the headers that are recorded of a request for *hosts* at *url*."""
    head = tuple(("Host", one) for one in hosts)
    return Exchange.of(Sent("GET", url, head), volatile).request["headers"]


@pytest.mark.slow
def test_another_host_is_another_request(desk: Desk) -> None:
    """Each client's is recorded, and a program that asks another one diverges."""
    desk.write("agent.py", PROGRAM)
    url = desk.server.url
    done = desk.record(PYTHON, "agent.py", url, "billing.example")
    plain = desk.record(PYTHON, "agent.py", url)
    assert (done.code, plain.code) == (0, 0), done.err + plain.err
    asked = [one["request"]["headers"] for one in desk.data(done.run, "http.requested")]
    assert [one.get("host") for one in asked] == ["billing.example"] * len(CLIENTS)
    asked = [
        one["request"]["headers"] for one in desk.data(plain.run, "http.requested")
    ]
    assert [one.get("host") for one in asked] == [None] * len(CLIENTS)
    same = desk.replay(done.run, PYTHON, "agent.py", url, "billing.example")
    assert json.loads(same.out)["verdict"] == "acceptable"
    changed = desk.replay(done.run, PYTHON, "agent.py", url, "evil.example")
    assert json.loads(changed.out)["verdict"] != "acceptable"


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z]{2,6})?", fullmatch=True)
PORTS = st.sampled_from(["", ":80", ":443", ":8080"])


@given(st.sampled_from(["http", "https"]), NAMES, PORTS, NAMES, PORTS)
def test_what_another_host_is(
    scheme: str, name: str, port: str, other: str, its_port: str
) -> None:
    """Left out is what the URL says, with its usual port or without, in any case."""
    usual = {"http": ":80", "https": ":443"}[scheme]
    same = (name, port.replace(usual, "", port == usual)) == (
        other,
        its_port.replace(usual, "", its_port == usual),
    )
    url = f"{scheme}://u:p@{name}{port}/"
    told = recorded(url, f"{other}{its_port}")
    assert told == ({} if same else {"host": f"{other}{its_port}"})
    assert recorded(url, f"{name.upper()}{port}") == {}


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://[::1]:80/", "[::1]"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
    ],
)
def test_spellings_of_one_host(url: str, host: str) -> None:
    """A host is the same in brackets, and in the letters of the name system."""
    assert recorded(url, host) == {}


def test_odd_hosts() -> None:
    """Two of them, or an empty one, say something; what is volatile never does."""
    assert recorded("http://h/", "h", "evil") == {"host": "h, evil"}
    assert recorded("http://h/", "") == {"host": ""}
    assert recorded("http://h/", "evil", volatile=("Host",)) == {}
