"""A stream that was under way when its process ended replays as it was: it waits for more.

Rules: nobody closed it, and its reader had no error. In a replay what was read is there at
once, and the rest never comes: whoever reads on waits until the process ends, as it did.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from endless_streams import Endless
from recording import PYTHON, Desk

LIBRARIES = {
    "urllib": """
import urllib.request
def lines(url):
    yield from urllib.request.urlopen(url)
""",
    "requests": """
import requests
def lines(url):
    yield from requests.get(url, stream=True).iter_lines(chunk_size=1)
""",
    "httpx": """
import httpx
def lines(url):
    with httpx.stream("GET", url, timeout=60) as answer:
        yield from answer.iter_lines()
""",
}
READING = """
import os, subprocess, sys, threading, time
first = threading.Event()
def read():
    for line in lines(os.environ["UNFINISHED"]):
        first.set()
def ends(how):
    if how == "child":
        read()
    threading.Thread(target=read, daemon=True).start()
    assert first.wait(30)
    time.sleep(0.3)
    print("the end", flush=True)
    if how == "leaves":
        os._exit(3)
def stops(how):
    child = subprocess.Popen([sys.executable, __file__, "child"])
    time.sleep(2)
    getattr(child, how)()
    print("stopped", child.wait(), flush=True)
(stops if sys.argv[1] in ("terminate", "kill") else ends)(sys.argv[1])
"""
ENDS = {"returns": 0, "leaves": 3, "terminate": 0, "kill": 0}
"""How the process of the reader comes to its end → the exit code of the program."""


@pytest.fixture(autouse=True)
def unfinished(desk: Desk) -> Iterator[None]:
    """Give the desk a server whose stream stalls."""
    with Endless() as server:
        desk.variables["UNFINISHED"] = f"{server.url}/stalled"
        yield


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_nobody_read_to_its_end(desk: Desk, library: str, how: str) -> None:
    """The unchanged program is acceptable, and prints what it printed."""
    desk.write("agent.py", LIBRARIES[library] + READING)
    done = desk.record(PYTHON, "agent.py", how)
    assert done.code == ENDS[how], done
    (run,) = json.loads(desk.muniment("runs", "list", "--json").out)
    again = desk.replay(run["id"], PYTHON, "agent.py", how)
    assert (again.code, again.err) == (0, done.out), again
    assert "acceptable" in again.out


def test_who_reads_on_diverges(desk: Desk) -> None:
    """A program that left the stream then, and waits for more now, is another one."""
    text = (
        LIBRARIES["urllib"]
        + "import os\nfor line in lines(os.environ['UNFINISHED']):\n"
    )
    desk.write("agent.py", text + "    break\n")
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done
    (run,) = json.loads(desk.muniment("runs", "list", "--json").out)
    desk.write("agent.py", text + "    pass\n")
    again = desk.replay(run["id"], PYTHON, "agent.py")
    assert (again.code, "value.closed" in again.out) == (1, True), again
