"""What was not searched for secrets is named: at the end, in the record, by `explain`.

A body is not searched where it unpacks to too much, or nothing here unpacks it. That
holds for what a program sends as for what it is answered.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable

from odd_answers import packed
from recording import PYTHON, Desk
from servers import Answering

READS = """
import sys, urllib.request
for url in sys.argv[1:]:
    print(len(urllib.request.urlopen(url).read()))
"""
SENDS = """
import os, sys, urllib.request
for coding in sys.argv[1:]:
    for name in sorted(os.listdir(coding)):
        body = open(os.path.join(coding, name), "rb").read()
        asked = urllib.request.Request(os.environ["BASE"] + "/gzip?" + name, body)
        asked.add_header("Content-Type", "application/json")
        asked.add_header("Content-Encoding", coding)
        print(urllib.request.urlopen(asked).status)
"""
BOMB = gzip.compress(bytes(30_000_000), 9)
UNSEARCHED = {
    "gzip": (BOMB, "it unpacks to more than "),
    "br": (b"\x0b\x02\x80hello\x03", "nothing here unpacks br"),
    "rot13": (b"uryyb", "nothing here unpacks rot13"),
}
KEY = "sk-proj-Zq81LmPq0Tn3Yv7Rb2Xc9Wd4Kf6Hj5Gs1Aa"


def test_answers_that_were_not_searched_are_named(desk: Desk) -> None:
    """By a warning, a fact of the record, and by `runs explain`; they replay."""
    desk.write("agent.py", READS)
    odd = {
        f"{sized}-{coding}": packed(coding.encode(), body, sized=sized == "whole")
        for coding, (body, _) in UNSEARCHED.items()
        for sized in ("whole", "stream")
    }
    with Answering({**odd, "plain": packed(b"gzip", gzip.compress(b"x"))}) as server:
        base = server.url
        line = (PYTHON, "agent.py", *(f"{base}/{name}" for name in (*odd, "plain")))
        done = desk.record(*line)
    assert done.code == 0, done.err
    (fact,) = desk.data(done.run, "recording.unsearched")
    (warned,) = [one for one in done.err.splitlines() if one.startswith("warning")]
    assert warned.startswith("warning: not searched for secrets: the answer of GET ")
    assert warned.endswith("; 1 more")
    named = {call: (part, why) for part, call, why in fact["bodies"]}
    assert [*named] == [f"GET {base}/{name}" for name in odd]
    for call, (part, why) in named.items():
        assert part == "answer"
        assert why.startswith(UNSEARCHED[call.rpartition("-")[2]][1])
    explained = desk.muniment("runs", "explain", done.run).out
    assert "recording.unsearched" in explained
    assert f"GET {base}/whole-gzip" in explained
    again = desk.replay(done.run, *line)
    assert json.loads(again.out)["verdict"] == "acceptable", again.err
    assert "not searched" not in again.err
    assert desk.holds


def sends(desk: Desk, bodies: dict[tuple[str, str], bytes]) -> tuple[str, ...]:
    """Write *bodies*, by coding and name; return the command that sends them."""
    desk.write("agent.py", SENDS)
    codings = dict.fromkeys(coding for coding, _ in bodies)
    for (coding, name), body in bodies.items():
        (desk.place / coding).mkdir(exist_ok=True)
        (desk.place / coding / name).write_bytes(body)
    return PYTHON, "agent.py", *codings


def test_requests_that_were_not_searched_are_named(desk: Desk) -> None:
    """A packed body that a program sends counts as one that it is answered."""
    bodies = {(coding, coding): body for coding, (body, _) in UNSEARCHED.items()}
    line = sends(desk, bodies)
    done = desk.record(*line)
    assert done.code == 0, done.err
    (fact,) = desk.data(done.run, "recording.unsearched")
    for (part, call, why), (coding, (_, expected)) in zip(
        fact["bodies"], UNSEARCHED.items(), strict=True
    ):
        assert (part, call) == ("request", f"POST {desk.server.url}/gzip?{coding}")
        assert why.startswith(expected)
        assert f"the body of {call} ({why})" in done.err
    again = desk.replay(done.run, *line)
    assert json.loads(again.out)["verdict"] == "acceptable", again.err


def test_a_secret_in_a_packed_request_is_found(desk: Desk) -> None:
    """The server gets the packed body; the record has what it says, without the secret.

    One in which there is none is recorded as it was sent.
    """
    pack: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
    }
    bodies: dict[tuple[str, str], bytes] = {}
    for coding in ("gzip", "deflate", "gzip, deflate"):
        for name, said in (("secret", f"my key is {KEY}"), ("open", "nothing")):
            body = json.dumps({"text": said}).encode()
            for one in coding.split(", "):
                body = pack[one](body)
            bodies[coding, name] = body
    line = sends(desk, bodies)
    done = desk.record(*line)
    assert done.code == 0, done.err
    assert "not searched" not in done.err
    assert desk.data(done.run, "recording.unsearched") == []
    written = desk.bytes_of_ledger()
    assert KEY.encode() not in written
    for (_, name), body in bodies.items():
        assert (base64.b64encode(body) in written) == (name == "open")
    asked = [one["request"]["body"] for one in desk.data(done.run, "http.requested")]
    hidden = [one for one in asked if one.get("decoded")]
    assert hidden == 3 * [{"json": {"text": "my key is [redacted]"}, "decoded": True}]
    sent = [one.body.encode("latin-1") for one in desk.server.calls]
    assert sorted(sent) == sorted(bodies.values())
    again = desk.replay(done.run, *line)
    assert json.loads(again.out)["verdict"] == "acceptable", again.err
