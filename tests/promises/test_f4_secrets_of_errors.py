"""What an error says and carries holds no secret of the calls that it comes of."""

from __future__ import annotations

import json

import pytest

from model_server import Trouble
from recording import PYTHON, Desk

LONG = "canary-of-twelve-and-more-1f2e3d"
SHORT = "canary7"
ASKED = f"""
import os
KEY, SHORT = "{LONG}", "{SHORT}"
URL = os.environ["BASE"] + "/nothing-here"
ASKED = {{"key": KEY, "token": SHORT, "page": "2"}}
"""
RECORDED = {
    "requests": "import requests\nrequests.get(URL, params=ASKED).raise_for_status()",
    "httpx": "import httpx\nhttpx.get(URL, params=ASKED).raise_for_status()",
    "urllib": (
        "from urllib.parse import urlencode\nfrom urllib.request import urlopen\n"
        "try:\n    urlopen(URL + '?' + urlencode(ASKED))\n"
        "except Exception as error:\n    raise ValueError(URL, ASKED) from error"
    ),
}
CARRIED = """
from muniment_plugins.providers import http_client

class Refused(Exception):
    def __init__(self, message, data):
        super().__init__(message)
        self.data = data

def asked(run):
    with http_client(run) as client:
        return client.get(URL, params=ASKED)
"""
RAISED = {
    "status": "def main(run):\n    asked(run).raise_for_status()\n",
    "effect": (
        "def main(run):\n"
        "    answer = asked(run)\n"
        "    run.effect('tool', {'name': 'x'}, lambda _: answer.raise_for_status())\n"
    ),
    "data": (
        "def main(run):\n"
        "    answer = asked(run)\n"
        "    def refuse(_):\n"
        "        url = str(answer.url)\n"
        "        raise Refused(url, {'url': url, KEY: [KEY, (url, 1)], 'n': 1.5})\n"
        "    run.effect('tool', {'name': 'x'}, refuse)\n"
    ),
}


def unwritten(desk: Desk) -> bool:
    """Tell whether no canary is in what the ledger wrote."""
    written = desk.bytes_of_ledger()
    return not [one for one in (LONG, SHORT) if one.encode() in written]


@pytest.mark.parametrize("library", RECORDED)
def test_a_recorded_program_that_fails(desk: Desk, library: str) -> None:
    """The URL in the error of a library is in no event, and the failure replays."""
    desk.server.fail(Trouble(404))
    desk.write("agent.py", ASKED + RECORDED[library])
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 1, done.err
    assert unwritten(desk)
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert json.loads(again.out)["verdict"] == "acceptable", again.out


@pytest.mark.parametrize("raised", RAISED)
def test_a_program_that_fails(desk: Desk, raised: str) -> None:
    """Neither message nor data of an error has them, and the failure replays."""
    desk.server.fail(Trouble(404))
    desk.write("program.py", ASKED + CARRIED + RAISED[raised])
    ran = desk.muniment("run", "program.py:main", "--json")
    run = json.loads(ran.out)["run"]
    assert json.loads(ran.out)["status"] == "failed", ran.out
    assert unwritten(desk)
    again = desk.muniment("replay", run, "--no-record", "--json", "--env", "BASE")
    assert json.loads(again.out)["verdict"] == "acceptable", again.out + again.err
