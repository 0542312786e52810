"""A secret in a packed body is found, however the body is packed, sliced or damaged.

What a body says until it breaks is searched, to the byte; what could not be searched is
named. brotli and zstd are unpacked by the libraries that the program has.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import zstandard

from muniment_plugins.providers.recorder.inside.unpacked import unpacking
from odd_answers import packed
from recording import PYTHON, Desk
from servers import Answering

brotli: Any = import_module("brotli")  # which has no types
KEY = "sk-proj-Zq81LmPq0Tn3Yv7Rb2Xc9Wd4Kf6Hj5Gs1Aa"
SAID = f"my key is {KEY}, yours?".encode() * 3


def bare(data: bytes) -> bytes:
    """Pack as some servers do for ``deflate``."""
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(data) + packing.flush()


def zstd(data: bytes) -> bytes:
    """Pack with a sum that is checked."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACK: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", lambda data: gzip.compress(data, mtime=0)),
    "deflate": ("deflate", zlib.compress),
    "bare": ("deflate", bare),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd),
}
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda body: body,
    "and more": lambda body: body + b"and more",
    "twice": lambda body: body + body,
    "cut": lambda body: body[:-2],
    "flipped": lambda body: body[:-3] + bytes([body[-3] ^ 0xFF]) + body[-2:],
    "not packed": lambda _: SAID,
}
LIBRARIES = """
import asyncio, sys
import aiohttp, httpx, httpx2, requests
async def ask(url):
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()
WAYS = [
    lambda url: httpx.get(url).text,
    lambda url: httpx2.get(url).text,
    lambda url: requests.get(url).text,
    lambda url: asyncio.run(ask(url)),
]
for url in sys.argv[1:]:
    for way in WAYS:
        try:
            print(way(url).count("my key is sk-proj-"))
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", PACK)
def test_what_a_body_says_is_known_to_the_byte(name: str, damage: str) -> None:
    """In pieces of any size; where it breaks off, that is told."""
    coding, pack = PACK[name]
    body = DAMAGE[damage](pack(SAID))
    found = set[tuple[bytes, str]]()
    for size in (1, 2, 7, 64, len(body)):
        unpacked = unpacking([("Content-Encoding", coding)])
        assert unpacked is not None
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        said = b"".join(map(unpacked.add, pieces))
        found.add((said, unpacked.unsearched))
    ((said, why),) = found
    whole = {"and more": SAID + b"and more", "twice": SAID + SAID}.get(damage, SAID)
    if damage == "flipped":
        assert KEY.encode() in said or f"it breaks off as {coding}" in why
    elif damage == "cut":
        assert said
        assert (whole.startswith(said), why) == (True, "")
    else:
        assert (said, why) == (whole, "")


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_what_a_bomb_unpacks_to_is_bounded(coding: str) -> None:
    """A hundred megabytes of a few bytes end after some of them."""
    if coding == "br":
        packing = brotli.Compressor(quality=5)
        parts = [packing.process(bytes(1 << 20)) for _ in range(100)]
        body = b"".join([*parts, packing.finish()])
    else:
        body = zstandard.ZstdCompressor().compress(bytes(100 << 20))
    unpacked = unpacking([("Content-Encoding", coding)])
    assert unpacked is not None
    assert len(unpacked.add(body)) < 40 << 20
    assert unpacked.unsearched.startswith("it unpacks to more than ")


@pytest.mark.parametrize("damage", ["whole", "and more", "flipped"])
def test_a_secret_in_a_packed_answer_is_found(desk: Desk, damage: str) -> None:
    """Each library's decoder finds it; neither it nor the packed body is recorded."""
    bodies = {name: DAMAGE[damage](pack(SAID)) for name, (_, pack) in PACK.items()}
    answers = {
        name: packed(coding.encode(), bodies[name])
        for name, (coding, _) in PACK.items()
    }
    desk.write("agent.py", LIBRARIES)
    with Answering(answers) as server:
        urls = [f"{server.url}/{name}" for name in answers]
        done = desk.record(PYTHON, "agent.py", *urls)
    assert done.code == 0, done.err
    if damage == "whole":
        assert done.out.split() == ["3"] * len(answers) * 4
        assert "not searched" not in done.err
    if damage == "flipped":
        assert f"GET {urls[0]} (it breaks off as gzip)" in done.err
    written = desk.bytes_of_ledger()
    assert KEY.encode() not in written
    kept = [name for name, body in bodies.items() if base64.b64encode(body) in written]
    assert kept == []
