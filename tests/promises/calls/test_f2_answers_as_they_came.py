"""A recorded program gets the answers that it gets alone, and so does its replay.

Each library asks for every odd answer in three processes: alone, recorded, replayed.
Status, reason, headers, body, class and text of errors are compared as the program
prints them.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from model_server import ModelServer
from odd_answers import ANSWERS, GENERATED, PROGRAM, packed
from recording import PYTHON, Desk, new_desk
from servers import Answering

LIBRARIES = ("httpx", "httpx_async", "requests", "urllib", "aiohttp")
CHANGED = {
    "recorded": {("urllib", "chunked-cut")},
    "replayed": {("urllib", "chunked-cut")} | {(one, "cookies") for one in LIBRARIES},
}
"""What the how-to page says is not the same: an error's count of bytes; secrets."""


def observed(text: str) -> dict[tuple[str, str], list[str]]:
    """Return what was printed, by library and answer."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('["')]
    return {(one[0], one[1]): one[2:] for one in lines}


def asked_thrice(desk: Desk, answers: Mapping[str, bytes]) -> list[str]:
    """Return where alone, recorded and replayed differ, beyond what is known."""
    desk.write("agent.py", PROGRAM)
    desk.write("names.json", json.dumps([*answers]))
    with Answering(answers) as server:
        line = (PYTHON, "agent.py", server.url, "names.json")
        known = subprocess.run(
            line,
            cwd=desk.place,
            env=desk.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        done = desk.record(*line)
    assert done.code == 0, done.err
    again = desk.replay(done.run, *line)
    assert desk.holds
    alone, live, replayed = map(observed, (known.stdout, done.out, again.err))
    assert len(alone) == 5 * len(answers)
    said = [
        f"{place}\n  alone    {alone[place]}\n  {how} {found.get(place)}"
        for how, found in (("recorded", live), ("replayed", replayed))
        for place in alone
        if (found.get(place) != alone[place]) != (place in CHANGED[how])
    ]
    verdict = json.loads(again.out)["verdict"]
    return said if verdict == "acceptable" else [*said, again.out]


@pytest.mark.slow
def test_odd_answers_are_handed_on_as_they_came(desk: Desk) -> None:
    """Each library sees of each odd answer what it sees alone, live and in a replay."""
    different = asked_thrice(desk, ANSWERS)
    assert not different, "\n".join(different)


@settings(
    max_examples=1,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
@given(drawn=GENERATED)
def test_generated_answers_are_handed_on_as_they_came(drawn: list[bytes]) -> None:
    """Whatever statuses, reasons, headers, codings and framings come together."""
    answers = {str(number): one for number, one in enumerate(drawn)}
    with tempfile.TemporaryDirectory() as place, ModelServer() as server:
        different = asked_thrice(new_desk(Path(place) / "desk", server), answers)
    assert not different, "\n".join(different)


READS = """
import sys, httpx, requests, urllib.request
for url in sys.argv[1:]:
    print(httpx.get(url).text[:60], requests.get(url).text[:60])
    print(len(urllib.request.urlopen(url).read()))
"""
KEY = "sk-proj-Zq81LmPq0Tn3Yv7Rb2Xc9Wd4Kf6Hj5Gs1Aa"


def test_a_secret_in_a_packed_body_is_found(desk: Desk) -> None:
    """The program gets the packed body; the record has what it says, without the secret.

    A body in which there is none is recorded as it came, and readable beside that.
    """
    told = {"key": gzip.compress(f"my key is {KEY}, yours?".encode())}
    told["open"] = gzip.compress(b"nothing is hidden here")
    answers = {
        f"{name}-{sized}": packed(b"gzip", body, sized=sized)
        for name, body in told.items()
        for sized in (True, False)
    }
    desk.write("agent.py", READS)
    with Answering(answers) as server:
        line = (PYTHON, "agent.py", *(f"{server.url}/{name}" for name in answers))
        done = desk.record(*line)
    assert done.out.count(KEY) == 4, done.err
    assert done.out.count(f"\n{len(told['key'])}\n") == 2
    written = desk.bytes_of_ledger()
    assert KEY.encode() not in written
    assert told["key"] not in written
    assert b"nothing is hidden here" in written
    values = [one["value"] for one in desk.data(done.run, "http.completed")]
    hidden = [one for one in values if one.get("decoded")]
    assert len(hidden) == 6
    names = [name for one in hidden for name, _ in one["headers"]]
    assert "Content-Encoding" not in names
    again = desk.replay(done.run, *line)
    assert "my key is secret_" in again.err, again.err
    assert KEY not in again.err


BOMB = """
import resource, sys, urllib.request
print(len(urllib.request.urlopen(sys.argv[1]).read()))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_what_a_body_unpacks_to_is_bounded(desk: Desk) -> None:
    """A body that unpacks to a thousand times as much is recorded as it came."""
    bomb = gzip.compress(bytes(200_000_000), 9)
    desk.write("agent.py", BOMB)
    with Answering({"bomb": packed(b"gzip", bomb)}) as server:
        line = (PYTHON, "agent.py", f"{server.url}/bomb")
        done = desk.record(*line)
    size, memory = map(int, done.out.split())
    assert size == len(bomb)
    assert memory < 150
    assert len(desk.bytes_of_ledger()) < 4 * len(bomb)
    (completed,) = desk.data(done.run, "http.completed")
    assert completed["value"]["unsearched"].startswith("it unpacks to more than")
    again = desk.replay(done.run, *line)
    assert again.err.splitlines()[0] == str(len(bomb))
