"""Frames of the wire, as the recorder reads them.

Rule: what a program said is read to its end, although it can be told nothing more. A
transport of asyncio would close with the first write that fails, and lose what was not
read from it yet: so a connection is a plain socket, of one descriptor.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from muniment_plugins.providers.recorder.inside.wire import LENGTH, cut

if TYPE_CHECKING:
    from socket import socket

__all__ = ["Connection", "Frame", "received"]

Frame: TypeAlias = "dict[str, Any]"

_AT_ONCE = 1 << 18


class Connection:
    """A program's connection: read and written apart from each other."""

    def __init__(self, stream: socket) -> None:
        stream.setblocking(False)
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._read = bytearray()

    async def exactly(self, size: int) -> bytes:
        """Return the next *size* bytes.

        Raises:
            EOFError: there are not so many.
            OSError: the connection is broken.

        """
        while len(self._read) < size:
            more = await self._loop.sock_recv(self._stream, _AT_ONCE)
            if not more:
                raise EOFError
            self._read += more
        data = bytes(self._read[:size])
        del self._read[:size]
        return data

    async def send(self, data: bytes) -> None:
        """Send *data*, if the program is there."""
        with suppress(ConnectionError):
            await self._loop.sock_sendall(self._stream, data)

    def close(self) -> None:
        """End it; who waits for it is cancelled elsewhere."""
        with suppress(NotImplementedError):  # on Windows there is nothing to remove
            self._loop.remove_reader(self._stream)
            self._loop.remove_writer(self._stream)
        self._stream.close()


async def received(connection: Connection) -> tuple[Frame, list[bytes]]:
    """Return the next frame of *connection*, and the bytes that follow it.

    Raises:
        EOFError: there are no more frames.
        ValueError: it is not a frame.

    """
    (size,) = LENGTH.unpack(await connection.exactly(LENGTH.size))
    frame = cast("Frame", json.loads(await connection.exactly(size)))
    sizes = cast("list[int]", frame["parts"])
    return frame, cut(sizes, await connection.exactly(sum(sizes)))
