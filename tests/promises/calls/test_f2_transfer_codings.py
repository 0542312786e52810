"""Bodies that are packed for their way (`Transfer-Encoding: gzip, chunked`).

No library unpacks them; some read the chunks, some leave them in the body, some refuse
the answer. Whatever each does alone, it does recorded and in a replay; and what such a
body says is searched for secrets.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping

import pytest

from recording import PYTHON, Desk
from servers import Answering
from thrice import thrice

PROGRAM = r"""
import asyncio, json, sys, urllib.request
import aiohttp, httpx, httpx2, requests, urllib3
BASE, NAMES = sys.argv[1], json.loads(open(sys.argv[2]).read())
def shown(*parts):
    return [ascii(part) for part in parts]
def by_httpx(url):
    with httpx.Client(trust_env=False) as client:
        r = client.get(url)
        return shown(r.status_code, r.headers.raw, r.content)
async def by_httpx2(url):
    async with httpx2.AsyncClient(trust_env=False) as client:
        r = await client.get(url)
        return shown(r.status_code, r.headers.raw, r.content)
def by_requests(url):
    r = requests.get(url)
    return shown(r.status_code, r.headers, r.content)
def by_requests_raw(url):
    r = requests.get(url, stream=True)
    return shown(r.status_code, r.raw.read(5), r.raw.read(7), r.raw.read())
def by_urllib3(url):
    r = urllib3.PoolManager().request("GET", url, retries=False)
    return shown(r.status, [*r.headers.items()], r.data)
def by_urllib3_stream(url):
    r = urllib3.PoolManager().request("GET", url, retries=False, preload_content=False)
    return shown(r.status, b"".join(r.stream(4)))
def by_urllib(url):
    with urllib.request.urlopen(url) as r:
        return shown(r.status, r.headers.items(), r.read(3), r.read())
async def by_aiohttp(url):
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as r:
            return shown(r.status, r.raw_headers, await r.read())
WAYS = [by_httpx, by_httpx2, by_requests, by_requests_raw, by_urllib3, by_urllib3_stream,
        by_urllib, by_aiohttp]
ENDED_BY_CHUNKS = [by_requests, by_urllib3_stream, by_aiohttp]
with asyncio.Runner() as runner:
    for name in NAMES:
        for way in ENDED_BY_CHUNKS if name.startswith("held") else WAYS:
            try:
                found = way(f"{BASE}/{way.__name__}/{name}")
                found = runner.run(found) if asyncio.iscoroutine(found) else found
            except Exception as error:
                kind = type(error)
                found = ["raised", kind.__module__, kind.__qualname__, ascii(str(error))]
            print(json.dumps([[way.__name__, name], found]), flush=True)
"""


def chunks(data: bytes) -> bytes:
    """Return *data* in two HTTP chunks."""
    at = len(data) // 2
    parts = [part for part in (data[:at], data[at:]) if part]
    return b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in [*parts, b""])


def answer(body: bytes, *coding: bytes, line: bytes = b"200 OK") -> bytes:
    """Return an answer with *body* behind headers that name each *coding*."""
    headers = [b"Transfer-Encoding: " + one for one in coding]
    return b"\r\n".join([b"HTTP/1.1 " + line, *headers, b"", body])


HELLO = b"hello, " * 20
GZIP, DEFLATE = gzip.compress(HELLO, mtime=0), zlib.compress(HELLO)
PACKED = chunks(GZIP)
SPELLED = {
    "gzip": [b"gzip, chunked"],
    "bare": [b"gzip,chunked"],
    "case": [b"GZip, Chunked"],
    "x-gzip": [b"x-gzip, chunked"],
    "twice": [b"gzip", b"chunked"],
    "turned": [b"chunked, gzip"],
    "turned-twice": [b"chunked", b"gzip"],
    "space": [b"gzip, chunked "],
    "tab": [b"gzip\t,\tchunked"],
    "comma": [b"gzip, chunked,"],
}
ANSWERS: Mapping[str, bytes | list[bytes]] = {
    **{name: answer(PACKED, *coding) for name, coding in SPELLED.items()},
    "pieces": [answer(b"", b"gzip, chunked"), PACKED[:9], PACKED[9:30], PACKED[30:]],
    "404": answer(PACKED, b"gzip, chunked", line=b"404 No"),
    "204": answer(b"", b"gzip, chunked", line=b"204 No"),
    "deflate": answer(chunks(DEFLATE), b"deflate, chunked"),
    "unknown": answer(chunks(HELLO), b"rot13, chunked"),
    "identity": answer(chunks(HELLO), b"identity, chunked"),
    "chunked-space": answer(chunks(HELLO), b"chunked "),
    "chunked-twice": answer(chunks(chunks(HELLO)), b"chunked, chunked"),
    "gzip-alone": answer(GZIP, b"gzip"),
    "cut": answer(PACKED[:-20], b"gzip, chunked"),
    "no-end": answer(PACKED[:-5], b"gzip, chunked"),
    "no-chunks": answer(GZIP, b"gzip, chunked"),
    "bad-chunk": answer(b"5\r\nhello\r\nZZ\r\nxx", b"gzip, chunked"),
    "trailer": answer(PACKED[:-2] + b"X-T: v\r\n\r\n", b"gzip, chunked"),
    "extension": answer(b"5;x=y\r\nhello\r\n0\r\n\r\n", b"gzip, chunked"),
    "sized": answer(PACKED, b"gzip, chunked\r\nContent-Length: %d" % len(PACKED)),
    "sized-short": answer(PACKED, b"gzip, chunked\r\nContent-Length: 9"),
    "content": answer(
        chunks(gzip.compress(GZIP, mtime=0)), b"gzip, chunked\r\nContent-Encoding: gzip"
    ),
    "empty": answer(b"0\r\n\r\n", b"gzip, chunked"),
    "nothing": answer(b"", b"gzip, chunked"),
}


HELD = {
    "held": answer(PACKED, b"gzip, chunked"),
    "held-404": answer(PACKED, b"gzip, chunked", line=b"404 No"),
}
"""Whose last chunk is the end for those that read chunks; the connection stays open."""


@pytest.mark.slow
def test_transfer_codings_are_what_they_are_alone(desk: Desk) -> None:
    """Head, body and errors, however the codings are spelled and the chunks come.

    Who reads chunks waits for nothing after the last. What nobody unpacks is named.
    """
    desk.write("agent.py", PROGRAM)
    answers = {**ANSWERS, **HELD}
    desk.write("names.json", json.dumps([*answers]))
    with Answering(answers, held=HELD) as server:
        told = thrice(desk, PYTHON, "agent.py", server.url, "names.json")
    assert len(told.alone) == 8 * len(ANSWERS) + 3 * len(HELD)
    assert not told.different(), "\n".join(told.different())
    assert told.verdict == "acceptable"
    (fact,) = desk.data(told.run, "recording.unsearched")
    named = {(call.rpartition("/")[2], why) for _, call, why in fact["bodies"]}
    assert named == {
        ("unknown", "nothing here unpacks rot13"),
        ("extension", "it breaks off as chunked"),
    }


READS = """
import asyncio, sys, urllib.request
import aiohttp, requests
async def by_aiohttp(url):
    async with aiohttp.ClientSession() as session, session.get(url) as r:
        return await r.read()
for url in sys.argv[1:]:
    print(requests.get(url).content)
    print(urllib.request.urlopen(url).read())
    print(asyncio.run(by_aiohttp(url)))
"""
KEY = b"sk-proj-Zq81LmPq0Tn3Yv7Rb2Xc9Wd4Kf6Hj5Gs1Aa"
SAID = b"my key is %b, yours?" % KEY
SECRET = {
    "gzip": answer(chunks(gzip.compress(SAID, mtime=0)), b"gzip, chunked"),
    "deflate": answer(chunks(zlib.compress(SAID)), b"deflate, chunked"),
    "cut-in-two": answer(chunks(SAID), b"identity, chunked"),
}


def test_a_secret_in_a_transfer_coding_is_found(desk: Desk) -> None:
    """Where its chunks are left in the body, too; a replay gives what it says, masked."""
    desk.write("agent.py", READS)
    with Answering(SECRET) as server:
        line = (PYTHON, "agent.py", *(f"{server.url}/{name}" for name in SECRET))
        done = desk.record(*line)
    assert done.code == 0, done.err
    assert "not searched" not in done.err
    assert repr(gzip.compress(SAID, mtime=0)) in done.out
    written = desk.bytes_of_ledger()
    assert KEY not in written
    for one in (*chunks(SAID).split(b"\r\n")[1:4:2], gzip.compress(SAID, mtime=0)):
        assert one not in written
    values = [one["value"] for one in desk.data(done.run, "http.completed")]
    assert len(values) == 3 * len(SECRET)
    for one in values:
        heads = {name.lower(): told for name, told in one["headers"]}
        assert heads["transfer-encoding"] in ("chunked", "identity, chunked")
    again = desk.replay(done.run, *line)
    assert again.err.count("my key is secret_") == len(values), again.err
