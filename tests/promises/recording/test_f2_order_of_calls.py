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
before, how, count, closes = json.load(open("said.json"))
lines = [asked(f"/{n}") for n in range(count)]
for line in lines:
    said(line, before)
os.kill(os.getppid(), signal.SIGSTOP)
try:
    for line in lines:
        ended(line, how, closes)
    last = asked("/last")
finally:
    os.kill(os.getppid(), signal.SIGCONT)
said(last, before)
ended(last, how, closes)
"""
HEAD = {"status": 200, "headers": [], "fault": None, "reason": "OK", "protocol": None}
STREAM: list[Any] = [{"came": {**HEAD, "streams": True}}]
WHOLE: list[Any] = [{"came": {**HEAD, "streams": False}}, "one", "two"]
LARGE: list[Any] = [{"came": {**HEAD, "streams": False}}, "x" * (1 << 20)]
BEGUN: list[list[Any]] = [STREAM, [{}, "one"]]
FAILED = ["ReadError", "reset"]


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize(
    ("said", "how"),
    [
        ([], {"end": FAILED, "had": -1}),
        ([], {"stopped": "CancelledError", "had": -1}),
        ([STREAM], {"end": None, "had": 0}),
        (BEGUN, {"end": None, "had": 1}),
        (BEGUN, {"end": FAILED, "had": 1}),
        (BEGUN, {"left": True, "had": 1}),
        (BEGUN, {"stopped": "CancelledError", "had": 1}),
        ([WHOLE], {"end": None, "had": 2}),
        ([LARGE], {"end": None, "had": 1}),
        ([WHOLE], {"stopped": "CancelledError", "had": -1}),
    ],
)
def test_an_end_precedes_the_next_question(
    desk: Desk, said: list[list[Any]], how: dict[str, Any], count: int, closes: bool
) -> None:
    """All that had ended has its outcome in the record when the next call is asked."""
    desk.write("agent.py", PROGRAM)
    desk.write("said.json", json.dumps([said, how, count, closes]))
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done.err
    with desk.open() as ledger:
        events = list(ledger.events(run=done.run))
    kinds = [one.type.removeprefix("http.") for one in events if "http." in one.type]
    types = [kind for kind in kinds if kind != "streamed"]
    outcomes = [one for one in types if one != "requested"]
    assert len(outcomes) == count + 1
    assert types == ["requested"] * count + outcomes[:-1] + ["requested", outcomes[-1]]
