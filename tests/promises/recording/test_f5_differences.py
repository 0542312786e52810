"""A difference in a long text is seen, and what may differ can be declared anywhere."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.recorded.divergence import Divergence
from muniment_plugins.providers.clients.exchange import Exchange, Sent
from muniment_plugins.providers.clients.volatile import Volatile
from recording import PYTHON, Desk

LONG = "word " * 400


@example("\x1f\U00011747" * 9, "0", "", "")
@given(st.text(max_size=600), st.text(max_size=40), st.text(max_size=600), st.text())
def test_what_differs_is_in_the_window(
    before: str, was: str, after: str, now: str
) -> None:
    """Two texts that differ never look alike, wherever they do."""
    one, other = before + was + after, before + now + after
    if one == other:
        return
    found = Divergence("effect", "", 1, "request.body", one, other)
    shown, line = found.window, found.difference
    assert shown[0] != shown[1]
    was_shown, now_shown = line.removeprefix("request.body was ").split(", is ", 1)
    assert was_shown != now_shown
    assert len(line) < 300


def test_the_command_shows_where_a_long_prompt_differs(desk: Desk) -> None:
    """The window stands around the first character that differs."""
    text = (
        "import os, requests, sys\n"
        f"word = {LONG!r} + sys.argv[1] + {LONG!r}\n"
        "requests.post(os.environ['BASE'] + '/echo', json={'prompt': word})\n"
    )
    desk.write("agent.py", text)
    done = desk.record(PYTHON, "agent.py", "sooner")
    shown = desk.muniment(
        "replay", done.run, "--no-record", "--", PYTHON, "agent.py", "later"
    )
    lines = {one.split()[0]: one for one in shown.out.splitlines() if one.strip()}
    assert "sooner" in lines["expected"]
    assert "later" in lines["got"]


BODIES = {
    "body.nonce": {"nonce": "1", "prompt": "p"},
    "body.metadata.session": {"metadata": {"session": "1", "kept": 2}},
    "body.items.id": {"items": [{"id": "1"}, {"id": "2", "kept": 1}]},
}


@pytest.mark.parametrize("name", BODIES)
def test_members_of_bodies_are_volatile(name: str) -> None:
    """A member is not recorded, whatever its value; everything else counts."""
    head = (("content-type", "application/json"),)

    def request(body: object, *volatile: str) -> object:
        data = json.dumps(body).encode()
        sent = Sent("POST", "http://a.example/x", head, data)
        return Exchange.of(sent, volatile).request

    other = json.loads(json.dumps(BODIES[name]).replace('"1"', '"other"'))
    assert request(BODIES[name]) != request(other)
    assert request(BODIES[name], name) == request(other, name)
    more = {**other, "more": True}
    assert request(more, name) != request(other, name)
    assert "[volatile]" in json.dumps(request(other, name))


def test_parameters_and_fields_are_volatile() -> None:
    """Of a URL and of a form, in any place."""
    one = Volatile.of(["query.nonce", "body.nonce", "X-Trace"])
    url = "http://a/x?a=1&nonce={}&nonces=2#nonce=3"
    assert one.url(url.format("7")) == url.format("[volatile]")
    assert one.form("nonce=1&b=2") == "nonce=[volatile]&b=2"
    assert one.headers == {"x-trace"}


def test_a_program_with_a_nonce_replays(desk: Desk) -> None:
    """What the option names may differ, live and in a replay."""
    text = (
        "import os, requests, uuid\n"
        "new = lambda: uuid.uuid4().hex\n"
        "url = os.environ['BASE'] + '/echo?nonce=' + new()\n"
        "requests.post(url, json={'metadata': {'session': new()}})\n"
        "requests.post(url, data={'field': new()})\n"
    )
    desk.write("agent.py", text)
    names = ("query.nonce", "body.metadata.session", "body.field")
    options = [part for name in names for part in ("--volatile", name)]
    done = desk.muniment("record", *options, "--", PYTHON, "agent.py")
    assert desk.replay(done.run, PYTHON, "agent.py").code == 0
    bare = desk.record(PYTHON, "agent.py")
    assert desk.replay(bare.run, PYTHON, "agent.py").code == 1
