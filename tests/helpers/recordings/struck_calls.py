"""A program whose calls are struck by a timeout at every point where they wait.

    python agent.py URL live.json        live: strikes at the 1st, 2nd, … thing that comes
    python agent.py URL live.json        replay: the same calls, struck where live ones were

Rules: time is the loop's own, and jumps where a strike is due; nothing depends on how
fast anything is. A strike comes in the same turn of the loop as what the program waits
for, so that it is there and the program does not get it. ``live.json`` holds what each
call saw: in a replay, a call is struck once it has seen as much, and no earlier.
"""

from __future__ import annotations

__all__ = ["ASYNC", "COUNTING", "SYNC"]

COUNTING = r"""
LONG = 500.0
asked = 0
def counting(write):
    def counted(self, data):
        global asked
        asked += b'"ask"' in data
        write(self, data)
    return counted
asyncio.StreamWriter.write = counting(asyncio.StreamWriter.write)
"""
"""Counts what a program on a loop has asked of its recorder."""

ASYNC = (
    r"""
import asyncio, json, os, selectors, ssl, sys
import aiohttp, httpx, httpx2
URL, FILE = sys.argv[1:3]
OFFLINE = "MUNIMENT_OFFLINE" in os.environ
CONTEXT = ssl.create_default_context()  # to make one takes longer than a call
"""
    + COUNTING
    + r"""
class Arrivals(selectors.DefaultSelector):
    ahead, left = 0.0, 0
    def select(self, timeout=None):
        found = super().select(timeout)
        if found and self.left:
            self.left -= 1
            if not self.left:
                self.ahead += 2 * LONG
        return found
class Loop(asyncio.SelectorEventLoop):
    def __init__(self):
        self.arrivals = Arrivals()
        super().__init__(self.arrivals)
    def time(self):
        return super().time() + self.arrivals.ahead

async def by_aiohttp(url, way, seen, total):
    limits = aiohttp.ClientTimeout(total=total, sock_connect=None)
    async with aiohttp.ClientSession(timeout=limits) as session:
        async with session.get(url) as r:
            seen.append(r.status)
            if way == "whole":
                seen.append((await r.read()).decode())
            else:
                async for data in r.content.iter_any(): seen.append(data.decode())
            seen.append("end")
def by(library):
    async def ask(url, way, seen, total):
        async with library.AsyncClient(timeout=None, verify=CONTEXT) as client:
            if way == "whole":
                seen += [(await client.get(url)).text, "end"]
            else:
                async with client.stream("GET", url) as r:
                    seen.append(r.status_code)
                    async for data in r.aiter_bytes(): seen.append(data.decode())
                    seen.append("end")
    return ask
LIBRARIES = {"aiohttp": by_aiohttp, "httpx": by(httpx), "httpx2": by(httpx2)}

async def cancelled(call):
    task = asyncio.ensure_future(call)
    asyncio.get_running_loop().call_later(LONG, task.cancel)
    await task
async def limited(call):
    async with asyncio.timeout(LONG):
        await call
HOWS = {"cancel": cancelled, "timeout": limited, "total": lambda call: call,
        "wait_for": lambda call: asyncio.wait_for(call, LONG)}

async def struck(key, seen):
    library, way, kind, how, _ = key
    url = URL + "/" + "/".join(map(str, key))
    total = LONG if how == "total" else None
    try:
        await HOWS[how](LIBRARIES[library](url, way, seen, total))
    except (Exception, asyncio.CancelledError) as error:
        text = str(error) if isinstance(error, Exception) else ""
        seen.append([type(error).__name__, text])

def live():
    found = []
    for library in LIBRARIES:
        hows = [one for one in HOWS if one != "total" or library == "aiohttp"]
        for way in ("whole", "parts"):
            for kind in sys.argv[3:]:
                number, seen = 0, []
                while seen[-1:] != ["end"]:
                    number, seen, before = number + 1, [], asked
                    key = [library, way, kind, hows[number % len(hows)], number]
                    with asyncio.Runner(loop_factory=Loop) as runner:
                        runner.get_loop().arrivals.left = number
                        runner.run(struck(key, seen))
                    found.append([key, seen, asked > before])
    with open(FILE, "w") as file:
        json.dump(found, file)
    return found

async def all_of(calls, arrivals):
    saw = [[] for _ in calls]
    tasks = [asyncio.ensure_future(struck(key, mine)) for (key, _, _), mine in zip(calls, saw)]
    def has_all(seen, mine):  # what struck it is still to come
        return len(mine) >= (seen.index("end") + 1 if "end" in seen else len(seen) - 1)
    def are_there():
        return asked == len(calls) and all(has_all(seen, mine) for (_, seen, _), mine in zip(calls, saw))
    while not are_there():
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)  # what comes now, no call had
    arrivals.ahead += 2 * LONG
    await asyncio.wait(tasks)
    return saw

def again():
    with open(FILE) as file:
        known = json.load(file)
    calls = [one for one in known if one[2]]
    with asyncio.Runner(loop_factory=Loop) as runner:
        saw = runner.run(all_of(calls, runner.get_loop().arrivals))
    return [[key, mine, True] for (key, _, _), mine in zip(calls, saw)]

for one in again() if OFFLINE else live():
    print(json.dumps(one), flush=True)
"""
)

SYNC = r"""
import json, sys, os, ssl, urllib.request
import httpx, httpx2, requests, urllib3
URL, FILE = sys.argv[1:3]
OFFLINE = "MUNIMENT_OFFLINE" in os.environ
CONTEXT = ssl.create_default_context()  # to make one takes longer than a call
class TimeUp(Exception):
    pass
left, struck_by = 0, TimeUp
def strike(frame, event, called):
    global left
    if event == "c_return" and called.__name__ in ("recv", "recv_into"):
        left -= 1
        if not left:
            sys.setprofile(None)
            raise struck_by("time is up")

def by_httpx(url, seen, library=httpx):
    with library.stream("GET", url, timeout=None, verify=CONTEXT) as r:
        seen.append(r.status_code)
        for data in r.iter_bytes(): seen.append(data.decode())
        seen.append("end")
def by_httpx2(url, seen): by_httpx(url, seen, httpx2)
def by_requests(url, seen):
    with requests.get(url, stream=True) as r:
        seen.append(r.status_code)
        for data in r.iter_content(1 << 16): seen.append(data.decode())
        seen.append("end")
def by_urllib3(url, seen):
    r = urllib3.PoolManager().request("GET", url, retries=False)
    seen += [r.status, r.data.decode(), "end"]
def by_urllib(url, seen):
    with urllib.request.urlopen(url) as r:
        seen += [r.status]
        seen += [r.read().decode(), "end"]
LIBRARIES = {"httpx": by_httpx, "httpx2": by_httpx2, "requests": by_requests, "urllib3": by_urllib3, "urllib": by_urllib}

def struck(key):
    global left, struck_by
    library, kind, how, number = key
    struck_by, left = {"error": TimeUp, "ctrl-c": KeyboardInterrupt}[how], number
    seen = []
    if not OFFLINE:
        sys.setprofile(strike)
    try:
        LIBRARIES[library](URL + "/" + "/".join(map(str, key)), seen)
    except (Exception, KeyboardInterrupt) as error:
        seen.append(type(error).__name__)
    finally:
        sys.setprofile(None)
    return seen

def live():
    found = []
    for library in LIBRARIES:
        for kind in sys.argv[3:]:
            number, seen = 0, []
            while seen[-1:] != ["end"]:
                number += 1
                key = [library, kind, ("error", "ctrl-c")[number % 2], number]
                seen = struck(key)
                found.append([key, seen])
    with open(FILE, "w") as file:
        json.dump(found, file)
    return found

def again():
    with open(FILE) as file:
        return [[key, struck(key)] for key, _ in json.load(file)]

for one in again() if OFFLINE else live():
    print(json.dumps(one), flush=True)
"""
