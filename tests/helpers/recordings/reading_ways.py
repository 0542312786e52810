"""The ways of reading a body with `aiohttp`: each a generator of what it gives."""

from __future__ import annotations

__all__ = ["READING"]

READING = """
async def by_chunks(body):
    async for data, ends in body.iter_chunks(): yield [len(data), ascii(data[:20]), ends]
async def by_size(body):
    async for data in body.iter_chunked(4): yield [len(data), ascii(data[:20])]
async def by_large_size(body):
    async for data in body.iter_chunked(100_000): yield [len(data), ascii(data[:20])]
async def by_any(body):
    async for data in body.iter_any(): yield [len(data), ascii(data[:20])]
async def by_any_slowly(body):
    async for data in body.iter_any():
        await asyncio.sleep(PAUSE)
        yield [len(data), ascii(data[:20])]
async def by_read(body):
    yield [len(await body.read())]
async def by_parts(body):
    while data := await body.read(5): yield [len(data), ascii(data[:20])]
async def by_lines(body):
    async for line in body: yield [len(line), ascii(line[:20])]
async def by_readline(body):
    while line := await body.readline(): yield [len(line), ascii(line[:20])]
async def by_readchunk(body):
    while True:
        data, ends = await body.readchunk()
        yield [len(data), ascii(data[:20]), ends, body.at_eof()]
        if not data and not ends: break
async def by_exactly(body):
    for _ in range(4): yield [3, ascii(await body.readexactly(3))]
async def by_end(body):
    await body.wait_eof()
    yield [len(await body.read())]
WAYS = [by_chunks, by_size, by_large_size, by_any, by_any_slowly, by_read, by_parts, by_lines,
        by_readline, by_readchunk, by_exactly, by_end]
"""
"""It reads at once, except where it waits for `PAUSE` seconds."""
