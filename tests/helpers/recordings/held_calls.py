r"""Calls that are struck while their server holds the answer, and programs that make them.

    with Holding(folder) as server:
        …   # python agent.py server.url folder/sent sized-1 chunked-0

Rules: the server sends a beginning of an answer, then makes the file ``sent``, and sends no
more. A call is struck once it has all of that beginning, however long that takes. In a
replay nobody is sent anything; there, a task is struck once it asked and was given as much,
and Ctrl-C is in the record.

The program prints for each way of asking, what strikes and what was sent: what it was
given, and the error with all that it comes from.
"""

from __future__ import annotations

import socket
from pathlib import Path

from servers import Answering
from struck_calls import COUNTING

__all__ = ["BEGINNINGS", "HELD_ASYNC", "HELD_SYNC", "Holding"]

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
BEGINNINGS = {
    "nothing": b"",
    "half-a-head": _HEAD,
    "sized-0": _HEAD + b"Content-Length: 6\r\n\r\n",
    "sized-3": _HEAD + b"Content-Length: 6\r\n\r\none",
    "chunked-0": _HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "chunked-3": _HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n",
    "endless-3": _HEAD + b"\r\none",
}
"""What is sent before a call is struck; the number is that of the body's bytes."""

_BOTH = r"""
import itertools, json, os, ssl, sys
URL, SENT, *NAMES = sys.argv[1:]
OFFLINE, RECORDED = "MUNIMENT_OFFLINE" in os.environ, "MUNIMENT_RECORDER" in os.environ
def told(error):
    found = []
    while error is not None:
        found += [type(error).__module__, type(error).__qualname__, repr(error.args)]
        known = error.__cause__, error.__context__, error.__suppress_context__
        error = known[0] or (None if known[2] else known[1])
    return found
CONTEXT = ssl.create_default_context()  # to make one takes longer than a call
def begin():
    if os.path.exists(SENT): os.unlink(SENT)
def end(way, how, name, seen, error):
    given = [one for one in seen if not isinstance(one, str)]
    given.append("".join(one for one in seen if isinstance(one, str)))
    print(json.dumps([[way.__name__, how, name], [given, told(error)]]), flush=True)
"""

HELD_SYNC = (
    _BOTH
    + r"""
import select, socket, urllib.request
import httpx, httpx2, requests, urllib3
class TimeUp(Exception):
    def __init__(self): super().__init__("time is up")
def struck_by(what):
    def strike(frame, event, called):
        if event != "c_call" or called.__name__ not in ("recv", "recv_into"): return
        stream = called.__self__
        if stream.family != socket.AF_INET: return
        def is_more(patience):
            return select.select([stream], [], [], patience)[0]
        while not is_more(0.002):
            if os.path.exists(SENT) and not is_more(0):
                raise what
    return strike

def by_httpx(url, seen, library=httpx):
    r = library.get(url, timeout=None, verify=CONTEXT)
    seen += [r.status_code, r.text]
def by_httpx_parts(url, seen, library=httpx):
    with library.stream("GET", url, timeout=None, verify=CONTEXT) as r:
        seen.append(r.status_code)
        for data in r.iter_bytes(): seen.append(data.decode())
def by_httpx2(url, seen): by_httpx(url, seen, httpx2)
def by_httpx2_parts(url, seen): by_httpx_parts(url, seen, httpx2)
def by_requests(url, seen):
    r = requests.get(url)
    seen += [r.status_code, r.text]
def by_requests_parts(url, seen):
    with requests.get(url, stream=True) as r:
        seen.append(r.status_code)
        for data in r.iter_content(3): seen.append(data.decode())
def by_urllib3(url, seen):
    r = urllib3.PoolManager().request("GET", url, retries=False)
    seen += [r.status, r.data.decode()]
def by_urllib3_parts(url, seen):
    r = urllib3.PoolManager().request("GET", url, retries=False, preload_content=False)
    seen.append(r.status)
    for data in r.stream(3): seen.append(data.decode())
def by_urllib(url, seen):
    with urllib.request.urlopen(url) as r: seen += [r.status, r.read().decode()]
def by_urllib_parts(url, seen):
    with urllib.request.urlopen(url) as r:
        seen.append(r.status)
        while data := r.read(3): seen.append(data.decode())
WAYS = [value for name, value in [*globals().items()] if name.startswith("by_")]

for way, what, name in itertools.product(WAYS, (TimeUp, KeyboardInterrupt), NAMES):
    seen, error = [], None
    begin()
    if not OFFLINE: sys.setprofile(struck_by(what))
    try:
        way(f"{URL}/{way.__name__}/{what.__name__}/{name}", seen)
    except (Exception, KeyboardInterrupt) as failed:
        error = failed
    finally:
        sys.setprofile(None)
    end(way, what.__name__, name, seen, error)
"""
)

HELD_ASYNC = (
    _BOTH
    + r"""
import asyncio
import aiohttp, httpx, httpx2
"""
    + COUNTING
    + r"""
class Loop(asyncio.SelectorEventLoop):
    ahead = 0.0
    def time(self):
        return super().time() + self.ahead

async def by_aiohttp(url, seen, total):
    limits = aiohttp.ClientTimeout(total=total, sock_connect=None)
    async with aiohttp.ClientSession(timeout=limits) as session:
        async with session.get(url) as r:
            status, text = r.status, await r.text()
            seen += [status, text]
async def by_aiohttp_parts(url, seen, total):
    limits = aiohttp.ClientTimeout(total=total, sock_connect=None)
    async with aiohttp.ClientSession(timeout=limits) as session:
        async with session.get(url) as r:
            seen.append(r.status)
            async for data in r.content.iter_any(): seen.append(data.decode())
async def by_httpx(url, seen, total, library=httpx):
    async with library.AsyncClient(timeout=None, verify=CONTEXT) as client:
        r = await client.get(url)
        seen += [r.status_code, r.text]
async def by_httpx_parts(url, seen, total, library=httpx):
    async with library.AsyncClient(timeout=None, verify=CONTEXT) as client:
        async with client.stream("GET", url) as r:
            seen.append(r.status_code)
            async for data in r.aiter_bytes(): seen.append(data.decode())
async def by_httpx2(url, seen, total): await by_httpx(url, seen, total, httpx2)
async def by_httpx2_parts(url, seen, total): await by_httpx_parts(url, seen, total, httpx2)
WAYS = [value for name, value in [*globals().items()] if name.startswith("by_")]

async def cancelled(call):
    task = asyncio.ensure_future(call)
    asyncio.get_running_loop().call_later(LONG, task.cancel)
    await task
async def limited(call):
    async with asyncio.timeout(LONG):
        await call
async def total(call):
    await call
async def waited_for(call):
    await asyncio.wait_for(call, LONG)
HOWS = (cancelled, limited, waited_for, total)

def is_given(way, name, seen):
    "Tell whether the program was given the whole beginning; what it may not get, it has."
    kind, _, size = name.partition("-")
    if not way.__name__.endswith("_parts") or not size.isdigit():
        return True
    if RECORDED and kind == "sized" and "httpx" in way.__name__:
        return True  # it gets an answer of known length when that is complete
    return bool(seen) and len("".join(seen[1:])) == int(size)
async def strikes(way, name, seen, before):
    loop = asyncio.get_running_loop()
    def is_due():
        return asked > before if OFFLINE else os.path.exists(SENT)
    while not is_due() or not is_given(way, name, seen):
        await asyncio.sleep(0.002)
    loop.ahead += 2 * LONG

async def struck(way, how, name):
    seen, error = [], None
    begin()
    call = way(f"{URL}/{way.__name__}/{how.__name__}/{name}", seen, LONG if how is total else None)
    striking = asyncio.ensure_future(strikes(way, name, seen, asked))
    try:
        await how(call)
    except (Exception, asyncio.CancelledError) as failed:
        error = failed
    await striking
    end(way, how.__name__, name, seen, error)

for way, how, name in itertools.product(WAYS, HOWS, NAMES):
    if how is total and "aiohttp" not in way.__name__: continue
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(struck(way, how, name))
"""
)


class Holding(Answering):
    """The server, for as long as its context lasts."""

    def __init__(self, sent: Path) -> None:
        """Make the file *sent* when a beginning was sent."""
        super().__init__(BEGINNINGS, held=BEGINNINGS)
        self._sent = sent

    def _over(self, stream: socket.socket, name: str) -> None:
        self._sent.touch()
        super()._over(stream, name)
