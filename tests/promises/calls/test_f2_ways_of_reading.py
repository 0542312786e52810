"""Each way of reading a body with aiohttp gives the same sequence, live and replayed.

The server is a socket that sends HTTP chunks whole, in halves, many at once, large, packed,
or a body without any; the program reads all of them at a time, each in the same way, and
prints each item that it gets, in order. In another, each way waits in a body, and is struck.
"""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
from typing import cast

import pytest

from held_calls import BODIES as BODIES_HELD
from held_calls import HELD_WAYS, Holding
from reading_ways import READING
from recording import PYTHON, Desk
from servers import Answering
from thrice import thrice

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LINES = [b"one\n", b"two and ", b"a half\nthr", b"ee\n", b"\n", b"end"]


def chunk(data: bytes) -> bytes:
    """Return *data* as an HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def halves(data: bytes) -> list[bytes]:
    """Return *data* in two parts."""
    return [data[: len(data) // 2], data[len(data) // 2 :]]


PACKED = gzip.compress(b"hello " * 50 + b"\nworld\n", mtime=0)
LARGE = b"l" * 90_000 + b"\n" + b"m" * 60_000
BODIES: dict[str, list[bytes]] = {
    "whole": [CHUNKED, *map(chunk, LINES), b"0\r\n\r\n"],
    "end-with-the-last": [CHUNKED, chunk(b"one\n"), chunk(b"two") + b"0\r\n\r\n"],
    "at-once": [CHUNKED + b"".join(map(chunk, LINES)) + b"0\r\n\r\n"],
    "two-at-once": [CHUNKED, chunk(b"a") + chunk(b"b\n"), chunk(b"c"), b"0\r\n\r\n"],
    "halves": [
        CHUNKED,
        *itertools.chain(*map(halves, map(chunk, LINES))),
        b"0\r\n\r\n",
    ],
    "end-of-chunk-late": [CHUNKED, b"3\r\nabc", b"\r\n2\r\nde", b"\r\n", b"0\r\n\r\n"],
    "large": [CHUNKED, chunk(b"small"), chunk(LARGE), chunk(b"small"), b"0\r\n\r\n"],
    "packed": [
        CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"),
        *map(chunk, halves(PACKED)),
        b"0\r\n\r\n",
    ],
    "empty": [CHUNKED, b"0\r\n\r\n"],
    "without-chunks": [HEAD + b"\r\n", *LINES],
    "sized": [HEAD + b"Content-Length: 29\r\n\r\n", *LINES],
    "cut": [CHUNKED, chunk(b"one\n"), b"8\r\ntwo"],
    "no-end": [CHUNKED, chunk(b"one\n"), chunk(b"two")],
}

PROGRAM = (
    """
import asyncio, json, sys, aiohttp
PAUSE = 0.15
"""
    + READING
    + """
async def read(way, name):
    found = []
    try:
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{sys.argv[1]}/{way.__name__}/{name}") as r:
                async for one in way(r.content): found.append(one)
    except Exception as error:
        found.append([type(error).__name__, ascii(str(error)), ascii(error.args)])
    return found
async def main():
    given = sys.modules.get("_muniment_delivery")  # recorded: it is told what is read
    if given: given._UNREAD = 1000.0
    names = sys.argv[2:]
    for way in WAYS:
        for name, found in zip(names, await asyncio.gather(*(read(way, one) for one in names))):
            print(json.dumps([way.__name__, name, found]), flush=True)
asyncio.run(main())
"""
)


def observed(text: str) -> dict[tuple[str, str], list[list[object]]]:
    """Return what was printed, by way and body."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('["')]
    return {(one[0], one[1]): one[2] for one in lines}


def messages(items: list[list[object]]) -> list[object]:
    """Return the HTTP chunks that `iter_chunks` gave in parts, by their lengths."""
    found, length = list[object](), 0
    for size, *_, ends in items:
        length += size if isinstance(size, int) else 0
        if ends and length:
            found.append(length)
            length = 0
    return found


CHUNKS = (
    "whole",
    "end-with-the-last",
    "at-once",
    "halves",
    "end-of-chunk-late",
    "large",
)


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0, 0.01])
def test_each_way_of_reading_gives_the_same(desk: Desk, pause: float) -> None:
    """Whatever reads, and however the body comes: the replay gives the same items.

    The HTTP chunks that `iter_chunks` tells of are those of the server, as they are alone.
    """
    desk.write("agent.py", PROGRAM)
    with Answering(BODIES, pause) as server:
        line = (PYTHON, "agent.py", server.url, *BODIES)
        alone = subprocess.run(
            line,
            cwd=desk.place,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        done = desk.record(*line)
    assert done.code == 0, done.err
    again = desk.replay(done.run, *line)
    known, live, replayed = map(observed, (alone.stdout, done.out, again.err))
    assert len(known) == len(live) == 12 * len(BODIES)
    different = {
        k: (live[k], replayed.get(k)) for k in live if live[k] != replayed.get(k)
    }
    assert different == {}
    assert json.loads(again.out)["verdict"] == "acceptable"
    for name in CHUNKS:
        one = ("by_chunks", name)
        assert messages(live[one]) == messages(known[one]) != [], name


@pytest.mark.slow
def test_nobody_waits_to_see_that_an_answer_was_read(desk: Desk) -> None:
    """Who reads tells, or who wants the end: also where all of it is there at once."""
    desk.write("agent.py", PROGRAM)
    with Answering(BODIES) as server:
        line = (PYTHON, "agent.py", server.url, "at-once")
        done = desk.record(*line)
    again = desk.replay(done.run, *line)
    live, replayed = map(observed, (done.out, again.err))
    assert live == replayed
    assert len(live) == 12


@pytest.mark.slow
def test_each_way_of_reading_is_struck_as_alone(desk: Desk) -> None:
    """By the same error, after the same part of a body: by each timeout, in each way.

    Only in which items it came may differ: recorded, each HTTP chunk is one.
    """
    desk.write("agent.py", HELD_WAYS)
    sent = desk.place / "sent"
    with Holding(sent) as server:
        told = thrice(desk, PYTHON, "agent.py", server.url, str(sent), *BODIES_HELD)
    items = {one for one in told.alone if one[-1] == "items"}
    # `wait_eof` knows neither of the timeouts of `aiohttp`
    assert len(items) == len(told.alone) // 2 == (12 * 5 - 2) * len(BODIES_HELD)
    assert told.recorded == told.replayed
    assert told.verdict == "acceptable"
    different = {
        key: (told.alone[key], saw)
        for key, saw in told.recorded.items()
        if key not in items and saw != told.alone[key]
    }
    assert different == {}
    given, _ = cast("list[object]", told.alone["by_lines", "sock_read", "sized"])
    assert given == "one\n"
