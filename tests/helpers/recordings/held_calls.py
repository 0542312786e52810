r"""Calls that are struck while their server holds the answer, and programs that make them.

    with Holding(folder) as server:
        …   # python agent.py server.url folder/sent sized-1 chunked-0

Rules: the server sends a beginning of an answer, then adds to the file ``sent`` whose it
was, and sends no more: a call that was struck before may be answered late. A call is
struck once it has all of that beginning, however long that takes. In a replay nobody is
sent anything; there, a task is struck once it asked and was given as much, and Ctrl-C is
in the record.

The program prints for each way of asking, what strikes and what was sent: what it was
given, and the error with all that it comes from.
"""

from __future__ import annotations

import socket
from pathlib import Path

from reading_ways import READING
from servers import Answering
from struck_calls import COUNTING

__all__ = [
    "BEGINNINGS",
    "BODIES",
    "HELD_ASYNC",
    "HELD_SYNC",
    "HELD_WAYS",
    "LEAVING",
    "STOPS",
    "Holding",
]

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

BODIES = {
    "sized": _HEAD + b"Content-Length: 29\r\n\r\none\ntwo and",
    "chunked": BEGINNINGS["chunked-0"] + b"4\r\none\n\r\n7\r\ntwo and\r\n",
    "endless": _HEAD + b"\r\none\ntwo and",
}
"""The same, of eleven bytes."""

STOPS = [
    *("exit", "exit-text", "exit-none", "exit-bare", "exit-300", "exit-true"),
    *("exit-two", "exit-list", "exit-changed", "exit-inner", "ctrl-c-args"),
    *("closed", "cancelled-late", "own", "own-local", "own-reasoned"),
]
"""What else strikes, after one of the beginnings `AT`."""
AT = ("nothing", "sized-3", "chunked-3")
LEAVING = [
    *("select exit", "select exit-text", "select own"),
    *("callback exit-300", "callback ctrl-c-args", "sigint none"),
    *("hook exit", "hook own"),
]
"""Where a stop comes from on a loop, and which; a hook is called before the head comes."""

_BOTH = (
    f"AT, LEAVING = {AT}, {LEAVING}"
    r"""
import ast, asyncio, itertools, json, os, signal, ssl, sys
URL, SENT, *NAMES = sys.argv[1:]
OFFLINE, RECORDED = "MUNIMENT_OFFLINE" in os.environ, "MUNIMENT_RECORDER" in os.environ
def told(error):
    found = []
    while error is not None:
        found += [type(error).__module__, type(error).__qualname__, repr(error.args)]
        if not isinstance(error, (Exception, asyncio.CancelledError)):
            found += [str(error), vars(error), repr(getattr(error, "code", "none"))]
        known = error.__cause__, error.__context__, error.__suppress_context__
        error = known[0] or (None if known[2] else known[1])
    return found
CONTEXT = ssl.create_default_context()  # to make one takes longer than a call
def begin(url):
    global CALLED
    CALLED = url.removeprefix(URL)
    return url
if os.path.exists(SENT): os.unlink(SENT)
def is_sent():
    if not os.path.exists(SENT): return False
    with open(SENT) as file: return CALLED in file.read().split()
def end(way, how, name, seen, error):
    given = [one for one in seen if not isinstance(one, str)]
    given.append("".join(one for one in seen if isinstance(one, str)))
    print(json.dumps([[way.__name__, how, name], [given, told(error)]]), flush=True)
class Stop(BaseException):
    def __init__(self, number, text):
        super().__init__(text)
        self.number, self.left = number, None
    def __str__(self): return f"stopped by {self.number}"
class Outer:
    class Inner(SystemExit): pass
def local():
    class Local(BaseException): pass
    return Local("of a function", 2)
def changed():
    error = SystemExit(3)
    error.code = 7
    return error
def reasoned():
    error = Stop(4, "behind")
    error.__cause__ = OSError(5, "no such thing")
    return error
STOPS = {
    "exit": lambda: SystemExit(143),
    "exit-text": lambda: SystemExit("no time left"),
    "exit-none": lambda: SystemExit(None),
    "exit-bare": SystemExit,
    "exit-300": lambda: SystemExit(300),
    "exit-true": lambda: SystemExit(True),
    "exit-two": lambda: SystemExit(1, "two"),
    "exit-list": lambda: SystemExit([1, 2]),
    "exit-changed": changed,
    "exit-inner": lambda: Outer.Inner(9),
    "ctrl-c-args": lambda: KeyboardInterrupt("pressed", 2, 0.5),
    "closed": lambda: GeneratorExit("closed"),
    "cancelled-late": lambda: asyncio.CancelledError("late"),
    "own": lambda: Stop(15, "at work"),
    "own-local": local,
    "own-reasoned": reasoned,
}
"""
)

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
            if is_sent() and not is_more(0):
                raise what()
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

WHATS = {"TimeUp": TimeUp, "KeyboardInterrupt": KeyboardInterrupt, **STOPS}
def is_struck(way, what, name):  # each stop meets each way, and each moment
    turn = WAYS.index(way) + [*WHATS].index(what)
    return what not in STOPS or name == AT[turn % len(AT)]
for way, (what, make), name in itertools.product(WAYS, WHATS.items(), NAMES):
    if not is_struck(way, what, name): continue
    seen, error = [], None
    url = begin(f"{URL}/{way.__name__}/{what}/{name}")
    if not OFFLINE: sys.setprofile(struck_by(make))
    try:
        way(url, seen)
    except BaseException as failed:
        error = failed
    finally:
        sys.setprofile(None)
    end(way, what, name, seen, error)
"""
)

_ON_A_LOOP = (
    _BOTH
    + r"""
import selectors
import aiohttp, httpx, httpx2
"""
    + COUNTING
    + r"""
class Striking(selectors.DefaultSelector):
    strike = None
    def select(self, timeout=None):
        strike, self.strike = self.strike, None
        if strike: raise strike()
        return super().select(timeout)
class Loop(asyncio.SelectorEventLoop):
    ahead = 0.0
    def __init__(self):
        self.striking = Striking()
        super().__init__(self.striking)
    def time(self):
        return super().time() + self.ahead
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
async def held(way, name, seen, before):
    def is_due():
        is_asked = asked > before or not RECORDED
        return is_asked and (OFFLINE or is_sent())
    while not is_due() or not is_given(way, name, seen):
        await asyncio.sleep(0.002)
async def strikes(*known):
    await held(*known)
    while True:  # until it has struck: what comes late begins a `sock_read` anew
        asyncio.get_running_loop().ahead += 2 * LONG
        await asyncio.sleep(0.02)
"""
)

HELD_ASYNC = (
    _ON_A_LOOP
    + r"""
hook = None
def called():
    if hook and not OFFLINE: raise hook()
async def traced(event, told):
    if event.endswith("send_request_headers.complete"): called()
async def traced_too(*_):
    called()
TRACED, TRACED_TOO = {"trace": traced}, aiohttp.TraceConfig()
TRACED_TOO.on_request_headers_sent.append(traced_too)

async def by_aiohttp(url, seen, total):
    limits = aiohttp.ClientTimeout(total=total, sock_connect=None)
    async with aiohttp.ClientSession(timeout=limits, trace_configs=[TRACED_TOO]) as session:
        async with session.get(url) as r:
            status, text = r.status, await r.text()
            seen += [status, text]
async def by_aiohttp_parts(url, seen, total):
    limits = aiohttp.ClientTimeout(total=total, sock_connect=None)
    async with aiohttp.ClientSession(timeout=limits, trace_configs=[TRACED_TOO]) as session:
        async with session.get(url) as r:
            seen.append(r.status)
            async for data in r.content.iter_any(): seen.append(data.decode())
async def by_httpx(url, seen, total, library=httpx):
    async with library.AsyncClient(timeout=None, verify=CONTEXT) as client:
        r = await client.get(url, extensions=TRACED)
        seen += [r.status_code, r.text]
async def by_httpx_parts(url, seen, total, library=httpx):
    async with library.AsyncClient(timeout=None, verify=CONTEXT) as client:
        async with client.stream("GET", url, extensions=TRACED) as r:
            seen.append(r.status_code)
            async for data in r.aiter_bytes(): seen.append(data.decode())
async def by_httpx2(url, seen, total): await by_httpx(url, seen, total, httpx2)
async def by_httpx2_parts(url, seen, total): await by_httpx_parts(url, seen, total, httpx2)
WAYS = [value for name, value in [*globals().items()] if name.startswith("by_")]

HOWS = (cancelled, limited, waited_for, total)

def is_given(way, name, seen):
    "Tell whether the program was given the whole beginning; what it may not get, it has."
    kind, _, size = name.partition("-")
    if not way.__name__.endswith("_parts") or not size.isdigit():
        return True
    if RECORDED and kind == "sized" and "httpx" in way.__name__:
        return True  # it gets an answer of known length when that is complete
    return bool(seen) and len("".join(seen[1:])) == int(size)
async def struck(way, how, name):
    seen, error = [], None
    url = begin(f"{URL}/{way.__name__}/{how.__name__}/{name}")
    call = way(url, seen, LONG if how is total else None)
    striking = asyncio.ensure_future(strikes(way, name, seen, asked))
    try:
        await how(call)
    except (Exception, asyncio.CancelledError) as failed:
        error = failed
    striking.cancel()
    end(way, how.__name__, name, seen, error)

for way, how, name in itertools.product(WAYS, HOWS, NAMES):
    if how is total and "aiohttp" not in way.__name__: continue
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(struck(way, how, name))

async def stops(way, where, what, name, seen):
    loop = asyncio.get_running_loop()
    await held(way, name, seen, asked)
    def raises(): raise STOPS[what]()
    if OFFLINE or where == "hook": pass  # nobody presses it again
    elif where == "select": loop.striking.strike = STOPS[what]
    elif where == "callback": loop.call_soon(raises)
    else: signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(LONG)
async def stopped(way, how, name, seen, met):
    where, what = how.split()
    url = begin(f"{URL}/{way.__name__}/{where}-{what}/{name}")
    striking = asyncio.ensure_future(stops(way, where, what, name, seen))
    try:
        await way(url, seen, None)
    except BaseException as error:
        met.append(error)
        raise
for at, (way, how) in enumerate(itertools.product(WAYS, LEAVING)):
    name = AT[(at + at // len(LEAVING)) % len(AT)] if "hook" not in how else AT[0]
    seen, met, left = [], [], None
    hook = STOPS[how.split()[1]] if "hook" in how else None
    runner = asyncio.Runner(loop_factory=Loop)
    try:
        with runner: runner.run(stopped(way, how, name, seen, met))
    except BaseException as error:
        left = error
    seen.append([told(one)[:3] for one in met])  # libraries hide what is behind, or not
    end(way, how, name, seen, left)
"""
)


HELD_WAYS = (
    _ON_A_LOOP
    + "PAUSE = 0.01\n"
    + READING
    + r"""
async def sock_read(call):
    await call
HOWS = (cancelled, limited, waited_for, total, sock_read)
GIVEN = {by_read: 0, by_end: 0, by_lines: 4, by_readline: 4, by_exactly: 9}
def is_given(way, name, seen):
    return sum(one[0] for one in seen) == GIVEN.get(way, 11)
async def read(way, how, url, seen):
    limits = {one.__name__: LONG if how is one else None for one in (total, sock_read)}
    limits = aiohttp.ClientTimeout(sock_connect=None, **limits)
    async with aiohttp.ClientSession(timeout=limits) as session:
        async with session.get(url) as r:
            async for one in way(r.content): seen.append(one)
async def struck(way, how, name):
    seen, error = [], None
    call = read(way, how, begin(f"{URL}/{way.__name__}/{how.__name__}/{name}"), seen)
    recorded = OFFLINE and how is sock_read  # it is an error of the call: nothing strikes
    striking = asyncio.ensure_future(asyncio.sleep(0) if recorded else strikes(way, name, seen, asked))
    try:
        await how(call)
    except (Exception, asyncio.CancelledError) as failed:
        error = failed
    striking.cancel()
    key = [way.__name__, how.__name__, name]
    given = b"".join(ast.literal_eval(one[1]) for one in seen)
    print(json.dumps([key, [given.decode(), told(error)]]))
    print(json.dumps([[*key, "items"], seen]), flush=True)
for way, how, name in itertools.product(WAYS, HOWS, NAMES):
    if way is by_end and how in (total, sock_read): continue  # it knows no timeouts
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(struck(way, how, name))
"""
)
"""The same for each way of reading a body with `aiohttp`: what was given, and in which items."""


class Holding(Answering):
    """The server, for as long as its context lasts."""

    def __init__(self, sent: Path) -> None:
        """Add to the file *sent* to which path a beginning was sent."""
        super().__init__(BEGINNINGS | BODIES, held=BEGINNINGS.keys() | BODIES.keys())
        self._sent = sent

    def _over(self, stream: socket.socket, path: str) -> None:
        with self._sent.open("a") as file:
            file.write(f"{path}\n")
        super()._over(stream, path)
