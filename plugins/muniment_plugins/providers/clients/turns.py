"""When a replay hands on the chunks of a stream that has events in between.

    2 http.requested  GET /sse            the stream
    3 http.streamed   2 chunks            at once
    4 http.requested  POST /message
    6 http.streamed   1 chunk             once the program has asked for 4

Rules:

- A chunk is handed on once the program has asked for everything that it had asked for
  before the chunk arrived. A chunk that arrives too soon answers no question, and the
  program would wait for it for ever.
- What stopped the program, such as Ctrl-C, is due like a chunk: other calls may have been
  under way, in threads or tasks.
- A program that does not ask gets the chunk all the same, after as long as the whole
  stream took. The judge of the replay decides about what it does then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from muniment_plugins.providers.clients.exchange import Outcome, Received

if TYPE_CHECKING:
    from muniment.runs.streams import OpenEffect

__all__ = ["Turns"]

_LOOK = 0.002


class Turns:
    """The chunks of a known answer, in the groups in which they are handed on."""

    def __init__(self, effect: OpenEffect, known: Outcome) -> None:
        self._effect = effect
        fault = known.fault if isinstance(known, Received) else known
        self._chunks = known.chunks if isinstance(known, Received) else ()
        self._groups = effect.turns if self._chunks and effect.answered else []
        if fault is not None and fault.stop is not None and not self._groups:
            count = len(self._chunks)
            self._groups = [(count, 0), (count, effect.ended)]

    def __bool__(self) -> bool:
        """Tell whether there is anything to wait for."""
        return bool(self._groups)

    def __iter__(self) -> Iterator[tuple[bytes, ...]]:
        """Give each group when it is due."""
        for group, seq, until in self._timed():
            while time.monotonic() < until and not self._effect.is_due(seq):
                time.sleep(_LOOK)
            yield group

    async def __aiter__(self) -> AsyncIterator[tuple[bytes, ...]]:
        """Do the same, and let the loop go on meanwhile."""
        for group, seq, until in self._timed():
            while time.monotonic() < until and not self._effect.is_due(seq):  # noqa: ASYNC110 - others ask, and tell nobody
                await asyncio.sleep(_LOOK)
            yield group

    def _timed(self) -> Iterator[tuple[tuple[bytes, ...], int, float]]:
        until = time.monotonic() + (self._effect.took if self._groups else 0)
        start = 0
        for stop, seq in self._groups[:-1]:
            yield self._chunks[start:stop], seq, until
            start = stop
        seq = self._groups[-1][1] if self._groups else 0
        yield self._chunks[start:], seq, until
