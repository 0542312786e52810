"""How a call ended is recorded before what the program asked afterwards.

Each call has a connection of its own, and its end is not answered: the program asks for
the next one at once. The recorder is stopped meanwhile, so that it finds both waiting.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from recording import PYTHON, Desk

PROGRAM = r"""
import json, os, signal, socket
token, _, place = os.environ["MUNIMENT_RECORDER"].partition("@")
def say(line, frame, *parts):
    sent = [one.encode() for one in parts]
    data = json.dumps({**frame, "parts": [len(one) for one in sent]}).encode()
    line.sendall(len(data).to_bytes(4, "big") + data + b"".join(sent))
def hear(line):
    size = int.from_bytes(line.recv(4, socket.MSG_WAITALL), "big")
    return json.loads(line.recv(size, socket.MSG_WAITALL))
def asked(path):
    line = socket.socket(socket.AF_UNIX)
    line.connect(place)
    ask = {"method": "GET", "url": f"http://somewhere{path}", "headers": []}
    say(line, {"token": token, "ask": ask}, "")
    return line
def said(line, messages):
    assert "perform" in hear(line)
    for frame, *parts in messages:
        say(line, frame, *parts)
        hear(line)
def ended(line, how, closes):
    say(line, how)
    if closes:
        line.close()
before, how, turns = json.load(open("said.json"))
kept = []
for turn, (count, closes) in enumerate(turns):
    lines = [asked(f"/{turn}/{n}") for n in range(count)]
    kept += lines
    for line in lines:
        said(line, before)
    os.kill(os.getppid(), signal.SIGSTOP)
    try:
        for line in lines:
            ended(line, how, closes)
        last = asked(f"/{turn}/last")
    finally:
        os.kill(os.getppid(), signal.SIGCONT)
    kept.append(last)
    said(last, before)
    ended(last, how, closes)
"""
HEAD = {"status": 200, "headers": [], "fault": None, "reason": "OK", "protocol": None}
STREAM: list[Any] = [{"came": {**HEAD, "streams": True}}]
WHOLE: list[Any] = [{"came": {**HEAD, "streams": False}}, "one", "two"]
LARGE: list[Any] = [{"came": {**HEAD, "streams": False}}, "x" * (1 << 20)]
BEGUN: list[list[Any]] = [STREAM, [{}, "one"]]
FAILED = ["ReadError", "reset"]
CANCELLED = {"name": "CancelledError", "message": ""}


TURNS = [(1, False), (1, True), (5, False), (5, True)]
"""How many calls end at once, and whether their connections are closed then."""


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ([], {"end": FAILED, "had": -1}),
        ([], {"stopped": CANCELLED, "had": -1}),
        ([STREAM], {"end": None, "had": 0}),
        (BEGUN, {"end": None, "had": 1}),
        (BEGUN, {"end": FAILED, "had": 1}),
        (BEGUN, {"left": True, "had": 1}),
        (BEGUN, {"stopped": CANCELLED, "had": 1}),
        ([WHOLE], {"end": None, "had": 2}),
        ([LARGE], {"end": None, "had": 1}),
        ([WHOLE], {"stopped": CANCELLED, "had": -1}),
    ],
)
def test_an_end_precedes_the_next_question(
    desk: Desk, said: list[list[Any]], how: dict[str, Any]
) -> None:
    """All that had ended has its outcome in the record when the next call is asked."""
    in_order(desk, said, how)


@pytest.mark.parametrize(
    ("said", "how"),
    [
        (BEGUN, {"left": True, "had": 1}),
        ([LARGE], {"end": None, "had": 1}),
        ([WHOLE], {"stopped": CANCELLED, "had": -1}),
    ],
)
def test_so_it_does_on_a_loop_without_readers(
    desk: Desk, said: list[list[Any]], how: dict[str, Any]
) -> None:
    """What a loop cannot do that Windows has, the order does not need."""
    desk.has_no_readers()
    in_order(desk, said, how)


def in_order(desk: Desk, said: list[list[Any]], how: dict[str, Any]) -> None:
    """Record calls that end so, and one that is asked then, in turns; compare the order."""
    desk.write("agent.py", PROGRAM)
    desk.write("said.json", json.dumps([said, how, TURNS]))
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    with desk.open() as ledger:
        events = list(ledger.events(run=done.run))
    kinds = [one.type.removeprefix("http.") for one in events if "http." in one.type]
    types = [kind for kind in kinds if kind != "streamed"]
    (outcome,) = {*types} - {"requested"}
    assert types == [
        kind
        for count, _ in TURNS
        for asked in (count, 1)
        for kind in ["requested"] * asked + [outcome] * asked
    ]
