"""What an error comes from is what it is alone: its causes, their classes and numbers.

Each library meets each kind of trouble in three processes: alone, recorded, replayed. The
program prints of each error, and of all behind it, class, number, text and arguments.
"""

from __future__ import annotations

import json
import subprocess

from endless_streams import Endless
from recording import PYTHON, Desk

PROGRAM = """
import asyncio, json, os, sys, urllib.request
import aiohttp, httpx, httpx2, openai, requests, urllib3

BASE = sys.argv[1]
URLS = {
    "refused": "http://127.0.0.1:9/x",
    "held": BASE + "/held",
    "tls": BASE.replace("http:", "https:") + "/plain",
    "cut": BASE + "/cut",
}

def behind(error):
    while error is not None:
        yield found_of(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)

def found_of(error):
    said = [type(error).__module__, type(error).__qualname__]
    if isinstance(error, OSError):
        said += [error.errno, error.strerror]
    reason = getattr(error, "reason", None)
    return [*said, type(reason).__qualname__, error.__cause__ is not None]

def by_httpx(url): httpx.get(url, timeout=T)
def by_httpx2(url): httpx2.get(url, timeout=T)
def by_requests(url): requests.get(url, timeout=T)
def by_urllib3(url): urllib3.PoolManager().request("GET", url, timeout=T, retries=False)
def by_urllib3_again(url): urllib3.PoolManager().request("GET", url, timeout=T, retries=1)
def by_urllib(url): urllib.request.urlopen(url, timeout=T).read()
def by_openai(url):
    with openai.OpenAI(api_key="none", base_url=url, timeout=T, max_retries=0) as client:
        client.models.list()
async def ahttpx(url):
    async with httpx.AsyncClient(timeout=T) as client:
        await client.get(url)
async def aaiohttp(url):
    limits = aiohttp.ClientTimeout(total=None, sock_read=T)
    async with aiohttp.ClientSession(timeout=limits) as session:
        async with session.get(url) as answer:
            await answer.read()
def by_httpx_async(url): asyncio.run(ahttpx(url))
def by_aiohttp(url): asyncio.run(aaiohttp(url))
WAYS = [by_httpx, by_httpx2, by_requests, by_urllib3, by_urllib3_again, by_urllib, by_openai,
        by_httpx_async, by_aiohttp]

for way in WAYS:
    for kind, url in URLS.items():
        if way is by_openai and kind in ("held", "cut"):  # it adds to the path
            continue
        T, said = 1 if kind == "held" else 300, []
        try:
            way(url)
        except Exception as error:
            said = [*behind(error)]
        print(json.dumps([way.__name__, kind, said]), flush=True)
"""


def observed(text: str) -> dict[tuple[str, str], object]:
    """Return what was printed, by library and trouble."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('["')]
    return {(one[0], one[1]): one[2] for one in lines}


def test_errors_come_from_what_they_come_from_alone(desk: Desk) -> None:
    """Causes, contexts and numbers of errors are those of a program that is not recorded."""
    desk.write("agent.py", PROGRAM)
    with Endless() as server:
        line = (PYTHON, "agent.py", server.url)
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
    assert len(known) == 8 * 4 + 2
    assert json.loads(again.out)["verdict"] == "acceptable"
    for name in ("by_urllib3", "by_urllib3_again"):  # which would ask again for a body
        del known[name, "cut"]
    for name, found in (("recorded", live), ("replayed", replayed)):
        different = {
            k: (known[k], found.get(k)) for k in known if known[k] != found.get(k)
        }
        assert different == {}, name + json.dumps(
            [*map(str, different.items())], indent=1
        )
    assert "Connection refused" in alone.stdout
