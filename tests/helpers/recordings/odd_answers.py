r"""Answers of servers that are odd, hostile or broken, and a program that asks for them.

    with Answering(ANSWERS) as server:  # of `servers`
        …   # GET server.url + "/requests/latin-1"

Rules: the program prints a line for each answer and library: status, reason, headers,
body, or class and text of the error. `GENERATED` draws further ones.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

__all__ = ["ANSWERS", "GENERATED", "PROGRAM", "packed"]

PROGRAM = r"""
import asyncio, json, sys, urllib.request
import aiohttp, httpx, requests
BASE, NAMES = sys.argv[1], json.loads(open(sys.argv[2]).read())
def shown(*parts):
    return [ascii(part) for part in parts]
def of_httpx(r):
    said = {k: v for k, v in r.extensions.items() if k != "network_stream"}
    return shown(r.status_code, r.reason_phrase, r.headers.raw, r.content, sorted(said.items()))
def by_httpx(url, method):
    with httpx.Client(verify=False, trust_env=False) as client:
        return of_httpx(client.request(method, url))
async def by_httpx_async(url, method):
    async with httpx.AsyncClient(verify=False, trust_env=False) as client:
        return of_httpx(await client.request(method, url))
def by_requests(url, method):
    with requests.Session() as session:
        session.trust_env = False
        r = session.request(method, url)
    pairs = [*r.raw.headers.items()]
    return shown(r.status_code, r.reason, pairs, r.headers, r.content, r.raw.version, len(r.history))
def by_urllib(url, method):
    with urllib.request.urlopen(urllib.request.Request(url, method=method)) as r:
        return shown(r.status, r.reason, r.headers.items(), r.version, r.read())
async def by_aiohttp(url, method):
    async with aiohttp.ClientSession() as session:
        async with session.request(method, url) as r:
            return shown(r.status, r.reason, r.raw_headers, r.version, await r.read())
WAYS = {"httpx": by_httpx, "requests": by_requests, "urllib": by_urllib}
ASYNC = {"httpx_async": by_httpx_async, "aiohttp": by_aiohttp}
def told(library, name, ask):
    try:
        found = ask()
    except Exception as error:
        kind = type(error)
        found = ["raised", kind.__module__, kind.__qualname__, ascii(str(error))]
    print(json.dumps([library, name, *found]), flush=True)
for name in NAMES:
    method = "HEAD" if name.startswith("head") else "GET"
    for library, way in WAYS.items():
        told(library, name, lambda: way(f"{BASE}/{library}/{name}", method))
for library, way in ASYNC.items():
    with asyncio.Runner() as runner:
        for name in NAMES:
            method = "HEAD" if name.startswith("head") else "GET"
            told(library, name, lambda: runner.run(way(f"{BASE}/{library}/{name}", method)))
"""


def _answer(
    *headers: bytes, body: bytes = b"ok", line: bytes = b"200 OK", sized: bool = True
) -> bytes:
    length = [b"Content-Length: %d" % len(body)] if sized else []
    return b"\r\n".join([b"HTTP/1.1 " + line, *headers, *length, b"", body])


def packed(coding: bytes, body: bytes, *, sized: bool = True) -> bytes:
    """Return the answer with a packed *body*."""
    return _answer(b"Content-Encoding: " + coding, body=body, sized=sized)


_HELLO = gzip.compress(b"hello" * 100, mtime=0)
_BARE = zlib.compressobj(wbits=-15)
_BROTLI = bytes.fromhex("1bf301f8a5cbd0d8de046b5140aad4")
_ZSTD = bytes.fromhex("28b52ffd60f4006500002868656c6c6f0100ec508b16")
_CHUNKED = b"Transfer-Encoding: chunked"

ANSWERS: dict[str, bytes] = {
    "plain": _answer(b"X-Request-Kind: a"),
    "latin-1": _answer(b"Content-Disposition: attachment; filename=caf\xe9.txt"),
    "utf-8": _answer("X-N: café".encode()),
    "every-byte": _answer(b"X-N: a" + bytes(range(0x80, 0x100)) + b"b"),
    "reason-latin-1": _answer(line=b"299 caf\xe9"),
    "reason-utf-8": _answer(line="299 café".encode()),
    "reason-of-its-own": _answer(line=b"200 Everything Fine"),
    "reason-404": _answer(line=b"404 Nothing Here"),
    "reason-none": _answer(line=b"200"),
    "reason-empty": _answer(line=b"200 "),
    "status-600": _answer(line=b"600 Odd"),
    "status-099": _answer(line=b"099 x", body=b""),
    "status-999": _answer(line=b"999 \x9b31mWow \xe9"),
    "status-500": _answer(line=b"500 Oh No", sized=False, body=b"until the end"),
    "head-sized": _answer(b"Content-Type: a/b", body=b"")[:-4] + b"\r\nContent-Length: 10\r\n\r\n",
    "head-packed": packed(b"gzip", b""),
    "204": _answer(line=b"204 No Content", sized=False, body=b""),
    "304": _answer(b'ETag: "x"', b"Content-Length: 10", line=b"304 Not Modified", sized=False, body=b""),
    "empty": _answer(body=b""),
    "until-the-end": _answer(sized=False, body=b"until the end"),
    "http-1.0": b"HTTP/1.0 200 OK\r\n\r\nold style",
    "100": b"HTTP/1.1 100 Continue\r\n\r\n" + _answer(),
    "103": b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + _answer(),
    "duplicates": _answer(b"X-A: 1", b"X-B: 2", b"x-a: 3", b"X-A: 1"),
    "case": _answer(b"x-LOWER: a", b"X-UPPER: B", b"content-TYPE: Text/Plain"),
    "folded": _answer(b"X-F: a\r\n  b\r\n\tc"),
    "empty-value": _answer(b"X-E:", b"X-F:   ", b"X-G:\t x \t"),
    "no-colon": _answer(b"X-A: 1", b"nothing", b"X-B: 2"),
    "odd-name": _answer(b"X A: 1", b"X-B: 2"),
    "name-latin-1": _answer(b"X-\xe9: 1"),
    "control": _answer(b"X-E: \x1b[31m\x01\xff"),
    "null": _answer(b"X-E: a\x00b"),
    "bare-lf": b"HTTP/1.1 200 OK\nX-A: 1\nContent-Length: 2\n\nok",
    "many": _answer(*(b"X-%d: %b" % (n, b"v" * 500) for n in range(60))),
    "too-many": _answer(*(b"X-%d: v" % n for n in range(150))),
    "too-long": _answer(b"X-L: " + b"v" * 70000),
    "gzip": packed(b"gzip", _HELLO),
    "gzip-case": packed(b"GZip", _HELLO),
    "x-gzip": packed(b"x-gzip", _HELLO),
    "gzip-until-the-end": _answer(b"Content-Encoding: gzip", sized=False, body=_HELLO),
    "gzip-chunked": _answer(
        b"Content-Encoding: gzip", _CHUNKED, sized=False,
        body=b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (_HELLO[:5], len(_HELLO) - 5, _HELLO[5:]),
    ),
    "gzip-bad": packed(b"gzip", b"abc"),
    "gzip-short": packed(b"gzip", _HELLO[:-4]),
    "gzip-cut": packed(b"gzip", _HELLO[: len(_HELLO) // 2]),
    "gzip-more": packed(b"gzip", _HELLO + b"and more"),
    "gzip-twice": packed(b"gzip", _HELLO + _HELLO),
    "gzip-gzip": packed(b"gzip, gzip", gzip.compress(_HELLO, mtime=0)),
    "gzip-empty": packed(b"gzip", b""),
    "gzip-binary": packed(b"gzip", gzip.compress(bytes(range(256)), mtime=0)),
    "gzip-404": _answer(b"Content-Encoding: gzip", line=b"404 Gone", body=_HELLO),
    "deflate": packed(b"deflate", zlib.compress(b"hello")),
    "deflate-bare": packed(b"deflate", _BARE.compress(b"hello") + _BARE.flush()),
    "deflate-bad": packed(b"deflate", b"abc"),
    "identity": packed(b"identity", b"abc"),
    "unknown-coding": packed(b"rot13", b"uryyb"),
    "brotli-bad": packed(b"br", b"abc"),
    "zstd-bad": packed(b"zstd", b"abc"),
    "chunked": _answer(_CHUNKED, sized=False, body=b"2\r\nok\r\n3;x=y\r\nyes\r\n0\r\n\r\n"),
    "chunked-case": _answer(b"transfer-ENCODING: Chunked", sized=False, body=b"2\r\nok\r\n0\r\n\r\n"),
    "chunked-empty": _answer(_CHUNKED, sized=False, body=b"0\r\n\r\n"),
    "chunked-bad": _answer(_CHUNKED, sized=False, body=b"5\r\nhello\r\nZZ\r\nxx"),
    "chunked-cut": _answer(_CHUNKED, sized=False, body=b"5\r\nhello\r\n8\r\nxx"),
    "chunked-no-end": _answer(_CHUNKED, sized=False, body=b"5\r\nhello\r\n"),
    "chunked-404": _answer(_CHUNKED, line=b"404 No", sized=False, body=b"2\r\nok\r\n0\r\n\r\n"),
    "chunked-sized": _answer(_CHUNKED, b"Content-Length: 3", sized=False, body=b"2\r\nok\r\n0\r\n\r\n"),
    "trailer": _answer(_CHUNKED, b"Trailer: X-T", sized=False, body=b"2\r\nok\r\n0\r\nX-T: v\r\n\r\n"),
    "length-twice": _answer(b"Content-Length: 2"),
    "lengths-differ": _answer(b"Content-Length: 3", b"Content-Length: 5", sized=False, body=b"abcde"),
    "length-negative": _answer(b"Content-Length: -3", sized=False, body=b"abcde"),
    "length-words": _answer(b"Content-Length: two", sized=False, body=b"ok"),
    "length-too-long": _answer(b"Content-Length: 100", sized=False, body=b"abc"),
    "length-too-short": _answer(b"Content-Length: 3", sized=False, body=b"abcdef"),
    "length-huge": _answer(b"Content-Length: 99999999999999999999999", sized=False, body=b"abc"),
    "no-http": b"\x00\xff garbage\r\n\r\n",
    "nothing": b"",
    "half-a-head": b"HTTP/1.1 200 OK\r\nX-A",
    "utf-16": _answer(b"Content-Type: text/plain; charset=utf-16", body=b"\xff\xfe\xe9" * 10),
    "cookies": _answer(b"Set-Cookie: a=1; Path=/", b"Set-Cookie: b=2"),
    "moved": _answer(b"Location: plain", b"Connection: close", line=b"302 Over There", body=b"moved"),
    "moved-to-itself": _answer(b"Location: moved-to-itself", b"Connection: close", line=b"302 Found", body=b""),
    "moved-badly": _answer(b"Location: http://[::bad/", b"Connection: close", line=b"302 Found", body=b""),
    "moved-to-a-file": _answer(b"Location: file:///etc/passwd", b"Connection: close", line=b"302 Found", body=b""),
    "moved-nowhere": _answer(line=b"302 Found", body=b""),
    "events": _answer(b"Content-Type: text/event-stream", sized=False, body=b"data: 1\n\ndata: 2\n\n"),
}  # fmt: skip

_TOKEN = st.text("abcXYZ-019_", min_size=1, max_size=8).map(
    lambda one: f"X-{one}".encode()
)
_VALUE = st.binary(max_size=12).map(
    lambda one: bytes(b for b in one if b > 0x1F or b == 0x09 if b != 0x7F)
)
_REASON = st.one_of(st.sampled_from([b"OK", b"", b"ok", b"Not OK"]), _VALUE)
_STATUS = st.sampled_from([200, 201, 203, 226, 299, 400, 404, 418, 503, 599, 304, 204])
_PACKING: Mapping[bytes | None, Callable[[bytes], bytes]] = {
    None: bytes,
    b"gzip": lambda one: gzip.compress(one, mtime=0),
    b"GZIP": lambda one: gzip.compress(one, mtime=0)[:-3],
    b"deflate": zlib.compress,
    b"deflate, gzip": lambda one: gzip.compress(zlib.compress(one), mtime=0),
    b"gzip, identity": lambda one: one,
    b"odd": lambda one: one[::-1],
}


@st.composite
def _generated(draw: st.DrawFn) -> bytes:
    pairs = st.tuples(_TOKEN, st.sampled_from([b":", b": ", b":\t"]), _VALUE)
    headers = [b"".join(one) for one in draw(st.lists(pairs, max_size=6))]
    coding = draw(st.sampled_from([*_PACKING]))
    status = draw(_STATUS)
    body = (
        b"" if status in (204, 304) else _PACKING[coding](draw(st.binary(max_size=80)))
    )
    headers += [] if coding is None else [b"Content-Encoding: " + coding]
    line = b"%d %b" % (status, draw(_REASON))
    framing = draw(st.sampled_from(["sized", "chunked", "end"]))
    if framing == "chunked" and body:
        at = draw(st.integers(1, len(body)))
        parts = [part for part in (body[:at], body[at:]) if part]
        body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in [*parts, b""])
        headers.insert(draw(st.integers(0, len(headers))), _CHUNKED)
    return _answer(*headers, line=line, sized=framing == "sized", body=body)


GENERATED = st.lists(_generated(), min_size=50, max_size=50)
"""Fifty answers at once: one process asks for all of them."""
