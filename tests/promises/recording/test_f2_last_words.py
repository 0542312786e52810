"""What a program said before it went is in its record, if it can be told nothing more.

A program that stops waiting closes its connection while answers are on their way to it.
Each write that fails there must not cost what the program said before.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from muniment_plugins.providers.recorder.inside import stops
from recording import PYTHON, Desk

DEAF = r"""
import json, os, select, socket, sys
def packed(frame, parts=()):
    data = json.dumps({**frame, "parts": [len(one) for one in parts]}).encode()
    return len(data).to_bytes(4, "big") + data + b"".join(parts)
token, _, place = os.environ["MUNIMENT_RECORDER"].partition("@")
ask = {"method": "GET", "url": "http://somewhere/", "headers": []}
line = socket.socket(socket.AF_UNIX)
line.connect(place)
line.shutdown(socket.SHUT_RD)  # nothing can be written to it any more
line.sendall(packed({"token": token, "ask": ask}, [b""]))
*before, [last] = json.loads(sys.argv[1])
last["unread"] = "x" * (1 << 21)  # some is under way when a write fails
for frame, *parts in [*before, [last]]:
    line.sendall(packed(frame, [one.encode() for one in parts]))
heard = select.poll()
heard.register(line, 0)
assert heard.poll(30_000)  # until the recorder closes its end
"""
HEAD = {"status": 200, "headers": [], "fault": None, "reason": "OK", "protocol": None}
STREAM: list[Any] = [{"came": {**HEAD, "streams": True}}]
WHOLE: list[Any] = [{"came": {**HEAD, "streams": False}}, "one", "two"]
BEGUN: list[list[Any]] = [STREAM, [{}, "one"]]
FAILED = ["ReadError", "reset"]
CANCELLED = {"name": "CancelledError", "message": ""}
PRESSED, EXITED = stops.told(KeyboardInterrupt()), stops.told(SystemExit("time is up"))


@pytest.mark.parametrize(
    ("said", "chunks", "how"),
    [
        ([], None, {"stopped": CANCELLED, "had": -1}),
        ([], None, {"stopped": PRESSED, "had": -1}),
        ([STREAM], None, {"stopped": CANCELLED, "had": -1}),
        ([STREAM], [], {"stopped": CANCELLED, "had": 0}),
        (BEGUN, None, {"stopped": CANCELLED, "had": -1}),
        (BEGUN, [], {"stopped": EXITED, "had": 0}),
        (BEGUN, ["one"], {"stopped": CANCELLED, "had": 1}),
        ([*BEGUN, [{}, "two"]], ["one"], {"stopped": CANCELLED, "had": 1}),
        (BEGUN, [], {"left": True, "had": 0}),
        (BEGUN, ["one"], {"left": True, "had": 1}),
        (BEGUN, ["one"], {"end": None, "had": 1}),
        (BEGUN, ["one"], {"end": FAILED, "had": 1}),
        ([STREAM], [], {"end": None, "had": 0}),
        ([WHOLE], ["one", "two"], {"end": None, "had": 2}),
        ([WHOLE], None, {"stopped": CANCELLED, "had": -1}),
    ],
)
def test_what_was_said_last_is_recorded_although_no_answer_arrives(
    desk: Desk, said: list[list[Any]], chunks: list[str] | None, how: dict[str, Any]
) -> None:
    """How the call ended, and what the program had of it, is what it said."""
    heard_last(desk, said, chunks, how)


@pytest.mark.parametrize(
    ("said", "chunks", "how"),
    [
        (BEGUN, ["one"], {"left": True, "had": 1}),
        ([WHOLE], None, {"stopped": CANCELLED, "had": -1}),
    ],
)
def test_so_it_is_on_a_loop_without_readers(
    desk: Desk, said: list[list[Any]], chunks: list[str] | None, how: dict[str, Any]
) -> None:
    """A loop as Windows has it tells in its own way that a write failed."""
    desk.has_no_readers()
    heard_last(desk, said, chunks, how)


def heard_last(
    desk: Desk, said: list[list[Any]], chunks: list[str] | None, how: dict[str, Any]
) -> None:
    """Record a program that says this, and compare with the record."""
    desk.write("deaf.py", DEAF)
    done = desk.record(PYTHON, "deaf.py", json.dumps([*said, [how]]))
    assert done.code == 0, done.err
    failed = desk.data(done.run, "http.failed")
    completed = desk.data(done.run, "http.completed")
    assert len(failed) + len(completed) == 1
    if "stopped" in how or how.get("end"):
        (one,) = failed
        assert one.get("reason") == ("cancelled" if "stopped" in how else None), one
        assert (one.get("data") or {}).get("chunks") == chunks
        return
    (one,) = completed
    value = one["value"]
    assert value["chunks"] == chunks
    assert value.get("closed", False) is ("left" in how)
