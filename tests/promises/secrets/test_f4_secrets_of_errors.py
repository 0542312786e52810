"""What an error says and carries holds no secret of the calls that it comes of."""

from __future__ import annotations

import json

import pytest

from model_server import Trouble
from muniment_plugins.providers.secrets.error_texts import without_secrets
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


PLAIN = """
import os, httpx

KNOWN = (LONG, SHORT, LONG.encode().hex())

def asks(url):
    def ask(_):
        httpx.get(url).raise_for_status()
    return ask

def says(text):
    def say(_):
        raise Said(text)
    return say

class Said(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.data = {"said": [text, {text: 1}]}

def main(run):
    for perform in PERFORMED:
        try:
            run.effect("tool", {"name": "x"}, perform)
        except Exception as error:
            run.record("note.added", {"text": str(error)})
            if run.mode == "live":
                assert [one for one in KNOWN if one in str(error.__cause__)]
    run.effect("tool", {"name": "last"}, PERFORMED[0])
"""
PERFORMED = {
    "a key in the query": 'asks(URL + "?api_key=" + SHORT)',
    "a path with a query": 'says("url: /v1/models?page=1&api_key=" + SHORT)',
    "a password in a URL": 'says(f"cannot reach https://ada:{SHORT}@example.org/")',
    "a known shape": 'says("wrong key: sk-" + LONG)',
    "a variable": 'says("refused for " + LONG)',
    "a variable, quoted": 'says("refused for " + LONG.encode().hex())',
}


def run_plainly(desk: Desk, program: str) -> str:
    """Run a program that asks without a recording client, in a process of its own."""
    desk.variables["SERVICE_TOKEN"] = LONG
    known = f'LONG, SHORT, BASE = "{LONG}", "{SHORT}", "{desk.server.url}"\n'
    desk.write("program.py", f'{known}URL = BASE + "/nothing-here"\n{program}')
    ran = desk.muniment("run", "program.py:main", "--json")
    assert json.loads(ran.out)["status"] == "failed", ran.out + ran.err
    return str(json.loads(ran.out)["run"])


@pytest.mark.parametrize("performed", PERFORMED)
def test_an_effect_that_fails_without_a_recording_client(
    desk: Desk, performed: str
) -> None:
    """Its message and data are written without secrets; the program has the error."""
    for _ in range(2):
        desk.server.fail(Trouble(404))
    listed = f"PERFORMED = [{PERFORMED[performed]}]\n"
    run = run_plainly(desk, PLAIN + listed)
    assert unwritten(desk)
    assert LONG.encode().hex().encode() not in desk.bytes_of_ledger()
    messages = [one["message"] for one in desk.data(run, "tool.failed")]
    assert len(messages) == 2
    assert all("[redacted]" in one for one in messages), messages
    again = desk.replay(run)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out + again.err


def test_a_run_that_fails_without_a_recording_client(desk: Desk) -> None:
    """What the program itself raises is written without secrets, and replays."""
    raised = 'raise OSError(f"{LONG} /v1?sig={SHORT} https://a:{SHORT}@b/")'
    run = run_plainly(desk, f"def main(run):\n    {raised}\n")
    assert unwritten(desk)
    (failed,) = desk.data(run, "run.failed")
    mask = "[redacted]"
    assert failed["message"] == f"{mask} /v1?sig={mask} https://a:{mask}@b/"
    again = desk.replay(run)  # in which the variable is withheld
    assert json.loads(again.out)["verdict"] == "acceptable", again.out + again.err


def test_other_words_of_an_error_are_written(desk: Desk) -> None:
    """Short values, ordinary words, places and harmless parameters stay."""
    desk.variables |= {"A_PASSWORD": "short", "SORT_KEY": "customer_number"}
    told = "short, /tmp/x?page_token=7&sort_key=name, customer_number"
    run = run_plainly(desk, f"def main(run):\n    raise OSError({told!r})\n")
    assert desk.data(run, "run.failed")[0]["message"] == told


def test_a_record_from_before_replays(desk: Desk) -> None:
    """An error that was written whole, by whoever had no such plugin, is not a difference."""
    desk.variables["MUNIMENT_PLUGINS"] = "none"
    run = run_plainly(desk, 'def main(run):\n    raise OSError("/v1?sig=" + SHORT)\n')
    assert not unwritten(desk)
    del desk.variables["MUNIMENT_PLUGINS"]
    again = desk.replay(run)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out + again.err


@pytest.mark.parametrize("word", ["a", "key", "a-", "eyJ.", "AKIA"])
def test_a_long_word_costs_no_square(word: str) -> None:
    """A megabyte without a space is searched as fast as any other; what it names is hidden."""
    text = word * (1_000_000 // len(word))
    assert without_secrets(text) == text
    found = without_secrets(f"{text}://ada:{SHORT}@h/?api_key={SHORT}")
    assert found == f"{text}://ada:[redacted]@h/?api_key=[redacted]"
