"""What brings an answer to a program stops when it is told to, at whatever moment."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from muniment_plugins.providers.recorder.inside.delivery import Delivery, Nowhere


@pytest.mark.parametrize("turns", range(6))
def test_what_is_read_at_that_moment_hides_no_cancellation(turns: int) -> None:
    """A program reads the last piece, and leaves its loop: whoever waited there ends.

    It would go on to wait for more, and the loop for it, without end.
    """

    async def left() -> tuple[bool, bool]:
        at = Nowhere(Delivery(None), lambda: None)
        payload = SimpleNamespace(_buffer=[b"one"])
        waiting = asyncio.ensure_future(at.taken(payload))
        for _ in range(5):
            await asyncio.sleep(0)
        payload._buffer.clear()
        at.read.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        told = waiting.cancel()
        await asyncio.wait({waiting})
        return told, waiting.cancelled()

    told, is_cancelled = asyncio.run(left())
    assert told == is_cancelled
    assert told or turns


def test_who_is_not_told_of_reading_looks() -> None:
    """Some versions of the library take a piece without a word."""

    async def taken() -> None:
        at = Nowhere(Delivery(None), lambda: None)
        payload = SimpleNamespace(_buffer=[b"one"])
        waiting = asyncio.ensure_future(at.taken(payload))
        await asyncio.sleep(0)
        payload._buffer.clear()
        await waiting

    asyncio.run(taken())
