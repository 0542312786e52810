"""Frames of the wire, as the recorder reads them.

Rules:

- What a program said is read to its end, although it can be told nothing more. A
  transport of asyncio would close with the first write that fails, and lose what was not
  read from it yet: so a connection is a plain socket, of one descriptor.
- Who waits for what a program says next is cancelled once the program has ended its end.
- What a program said on some connections can be taken in before what it said afterwards
  on another: `CallsUnderWay`. What that costs depends on how many said something, and
  not on how many are open.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from muniment_plugins.providers.recorder.inside.wire import LENGTH, cut

if TYPE_CHECKING:
    from socket import socket

__all__ = ["CallsUnderWay", "Connection", "Frame"]

Frame: TypeAlias = "dict[str, Any]"

_AT_ONCE = 1 << 18
_LAST_WORDS = 5.0
"""Seconds in which a program that has ended is heard to the end."""
_PASSES = 3
"""In the first the loop learns where something has arrived, in the second it wakes who
waits there, and in the third they take in all of it: they wait only where nothing is left.
"""


class CallsUnderWay:
    """The calls that programs perform, and which of them said something."""

    def __init__(self) -> None:
        self._number = 0
        self._unsettled: set[Connection] = set()

    @contextmanager
    def performing(self, line: Connection) -> Generator[None]:
        """Count the call on *line*; what is said there precedes what is asked later."""
        self._number += 1
        line.mark_in(self._unsettled)
        try:
            yield
        finally:
            self._number -= 1
            line.mark_in(None)

    async def settled(self) -> None:
        """Wait until all that has arrived was heard, and worked on."""
        if not self._number:
            return
        for _ in range(_PASSES):
            await asyncio.sleep(0)
        for line in [*self._unsettled]:
            await line.settled()


class Connection:
    """A program's connection, and the task that answers there: the current one."""

    def __init__(self, stream: socket) -> None:
        stream.setblocking(False)
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._frames: asyncio.Queue[tuple[Frame, list[bytes]]] = asyncio.Queue()
        self._is_asked = self._is_under_way = False
        """Whether the first frame was taken, and whether one is being worked on."""
        self._gone, self._closed = asyncio.Event(), asyncio.Event()
        self._read = bytearray()
        self._parser = self._parsed()
        self._wanted = next(self._parser)
        self._unsettled: set[Connection] | None = None
        self._pump = asyncio.create_task(self._pumped())

    def mark_in(self, unsettled: set[Connection] | None) -> None:
        """Be in *unsettled* while something was said here that nobody worked on."""
        if self._unsettled is not None:
            self._unsettled.discard(self)
        self._unsettled = unsettled
        self._mark()

    async def hear(self) -> tuple[Frame, list[bytes]]:
        """Return the program's next message, and the bytes that follow it.

        Raises:
            asyncio.CancelledError: there is none: the program is gone, or says no frames.

        """
        self._heard()
        frame = await self._frames.get()
        self._is_under_way = self._is_asked = True
        if self._gone.is_set():
            self._cancel()
        return frame

    async def settled(self) -> None:
        """Wait until all that was heard here was worked on."""
        await self._frames.join()
        if self._gone.is_set():
            await self._closed.wait()

    async def last_words(self) -> list[Frame]:
        """Return what the program said before it went.

        If it is this process that goes, what was sent may still be on its way.
        """
        self._task = None
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._gone.wait(), _LAST_WORDS)
        self._heard()
        return [frame for frame, _ in self._rest()]

    async def say(self, data: bytes) -> None:
        """Send *data*, if the program is there."""
        with suppress(ConnectionError):
            await self._loop.sock_sendall(self._stream, data)

    async def close(self) -> None:
        """End it."""
        self._heard()
        self._rest()
        self._closed.set()
        self._mark()
        self._pump.cancel()
        try:
            await asyncio.wait({self._pump})  # the loop knows the socket while it reads
        finally:
            self._stream.close()

    def _heard(self) -> None:
        if self._is_under_way:
            self._is_under_way = False
            self._frames.task_done()
            self._mark()

    def _mark(self) -> None:
        if self._unsettled is None:
            return
        said = self._is_under_way or not self._frames.empty() or self._gone.is_set()
        if said and not self._closed.is_set():
            self._unsettled.add(self)
        else:
            self._unsettled.discard(self)

    def _rest(self) -> list[tuple[Frame, list[bytes]]]:
        found: list[tuple[Frame, list[bytes]]] = []
        while not self._frames.empty():
            found.append(self._frames.get_nowait())
            self._frames.task_done()
        return found

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _pumped(self) -> None:
        """Take in what arrives; wait only where there is nothing."""
        is_open = True
        while is_open:
            try:
                data = await self._loop.sock_recv(self._stream, _AT_ONCE)
            except OSError:
                data = b""
            is_open = self._take(data)

    def _take(self, data: bytes) -> bool:
        """Cut *data* into frames; return whether the program may send more."""
        self._read += data
        try:
            while len(self._read) >= self._wanted:
                part = bytes(self._read[: self._wanted])
                del self._read[: self._wanted]
                self._wanted = self._parser.send(part)
        except (KeyError, TypeError, ValueError):  # no frame: not a program of ours
            data = b""
        if not data:
            self._gone.set()
            if self._is_asked or self._frames.empty():
                self._cancel()
        self._mark()
        return bool(data)

    def _parsed(self) -> Generator[int, bytes, None]:
        """Ask for as many bytes as come next, frame after frame."""
        while True:
            (size,) = LENGTH.unpack((yield LENGTH.size))
            frame = cast("Frame", json.loads((yield size)))
            sizes = cast("list[int]", frame["parts"])
            self._frames.put_nowait((frame, cut(sizes, (yield sum(sizes)))))
