"""How a program and its recorder speak; this is the side of the program.

    → {"token": "…", "ask": {"method": "POST", "url": "…", "headers": […]}}   body
    ← {"perform": true}                       unless the ledger answers
    → {"came": {"status": 200, "headers": […]}}                               chunks
    ← {"answer": {"status": 200, "headers": […], "fault": null}}              chunks

Rules:

- One connection for each exchange: threads, tasks and forked processes share nothing.
  One that ends early says that nobody waits for the answer any more.
- A frame is a JSON object behind its length (4 bytes, network order); ``parts`` are the
  lengths of the bytes that follow it.
- A program whose recorder is gone makes no calls: they would not be recorded.
- This runs in the program's own interpreter: the standard library only, loaded late.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import socket
    from asyncio import StreamReader, StreamWriter

__all__ = [
    "FRAMING",
    "LENGTH",
    "Came",
    "Client",
    "RecorderGone",
    "Sent",
    "cut",
    "framed",
    "pack",
]

LENGTH = struct.Struct("!I")

FRAMING = ("connection", "content-encoding", "content-length", "transfer-encoding")
"""Headers that speak of the bytes of an answer, which is made anew here."""


class RecorderGone(ConnectionError):
    """Nobody records this program any more."""


class Sent(NamedTuple):
    """A request, as it goes over the wire."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes


class Came(NamedTuple):
    """What came of it: an answer, a fault, or a part of one and then the other."""

    status: int
    """0 where there is no answer."""
    headers: list[tuple[str, str]]
    chunks: list[bytes]
    fault: tuple[str, str] | None
    """Class and message of the library's error."""


def pack(frame: dict[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    """Return *frame* and *parts* as they are sent."""
    head = json.dumps({**frame, "parts": [len(part) for part in parts]}).encode()
    return b"".join([LENGTH.pack(len(head)), head, *parts])


def cut(sizes: Sequence[int], data: bytes) -> list[bytes]:
    """Return the parts of *data* that have *sizes*."""
    parts: list[bytes] = []
    begin = 0
    for size in sizes:
        parts.append(data[begin : begin + size])
        begin += size
    return parts


def framed(came: Came, method: str) -> list[tuple[str, str]]:
    """Return the headers for an answer that is made anew of its chunks.

    What was redacted has another length than what was sent.
    """
    kept = [one for one in came.headers if one[0].lower() not in FRAMING]
    said = [value for name, value in came.headers if name.lower() == "content-length"]
    if not said or came.fault is not None:
        return kept
    length = said[0] if method == "HEAD" else str(sum(map(len, came.chunks)))
    return [*kept, ("content-length", length)]


class Client:
    """What the program's libraries exchange their requests through."""

    def __init__(self, address: str) -> None:
        """Speak to the recorder at *address*, ``TOKEN@/PATH`` or ``TOKEN@HOST:PORT``."""
        self._token, _, self._place = address.partition("@")

    def exchange(self, sent: Sent, perform: Callable[[], Came]) -> Came:
        """Return the answer to *sent*; *perform* asks the server, if it has to be."""
        with self._connected() as stream:
            _send(stream, self._question(sent))
            frame, parts = _received(stream)
            if "perform" in frame:
                _send(stream, _told(perform()))
                frame, parts = _received(stream)
        return _came(frame, parts)

    async def aexchange(
        self, sent: Sent, perform: Callable[[], Awaitable[Came]]
    ) -> Came:
        """Do as `exchange` does, and let the loop go on meanwhile."""
        import asyncio  # noqa: PLC0415 - the program has it, if it comes here

        try:
            asyncio.get_running_loop()
        except RuntimeError:  # a loop of another library, which waits for us
            return await self._patient(sent, perform)
        reader, writer = await self._aconnected()
        try:
            writer.write(self._question(sent))
            frame, parts = await _areceived(reader)
            if "perform" in frame:
                writer.write(_told(await perform()))
                frame, parts = await _areceived(reader)
        finally:
            writer.close()
        return _came(frame, parts)

    async def _patient(
        self, sent: Sent, perform: Callable[[], Awaitable[Came]]
    ) -> Came:
        with self._connected() as stream:
            _send(stream, self._question(sent))
            frame, parts = _received(stream)
            if "perform" in frame:
                _send(stream, _told(await perform()))
                frame, parts = _received(stream)
        return _came(frame, parts)

    def tell(self, **frame: Any) -> None:
        """Say what needs no answer, but wait until it was heard."""
        with self._connected() as stream:
            _send(stream, pack({"token": self._token, **frame}))
            _received(stream)

    def _question(self, sent: Sent) -> bytes:
        ask = {"method": sent.method, "url": sent.url, "headers": sent.headers}
        return pack({"token": self._token, "ask": ask}, [sent.body])

    def _connected(self) -> socket.socket:
        import socket  # noqa: PLC0415 - a program without calls needs none

        try:
            if self._place.startswith("/"):
                stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                stream.connect(self._place)
                return stream
            host, _, port = self._place.rpartition(":")
            return socket.create_connection((host, int(port)))
        except OSError as error:
            raise _gone() from error

    async def _aconnected(self) -> tuple[StreamReader, StreamWriter]:
        import asyncio  # noqa: PLC0415 - the program has it, if it comes here

        try:
            if self._place.startswith("/"):
                return await asyncio.open_unix_connection(self._place)
            host, _, port = self._place.rpartition(":")
            return await asyncio.open_connection(host, int(port))
        except OSError as error:
            raise _gone() from error


def _told(came: Came) -> bytes:
    head = {"status": came.status, "headers": came.headers, "fault": came.fault}
    return pack({"came": head}, came.chunks)


def _came(frame: dict[str, Any], parts: list[bytes]) -> Came:
    head = frame["answer"]
    headers = [(name, value) for name, value in head["headers"]]
    fault = head["fault"]
    return Came(head["status"], headers, parts, None if fault is None else tuple(fault))


def _send(stream: socket.socket, data: bytes) -> None:
    try:
        stream.sendall(data)
    except OSError as error:
        raise _gone() from error


def _received(stream: socket.socket) -> tuple[dict[str, Any], list[bytes]]:
    (size,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    frame = json.loads(_exactly(stream, size))
    sizes = frame["parts"]
    return frame, cut(sizes, _exactly(stream, sum(sizes)))


def _exactly(stream: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        try:
            more = stream.recv(min(size - len(data), 1 << 20))
        except OSError as error:
            raise _gone() from error
        if not more:
            raise _gone()
        data += more
    return bytes(data)


async def _areceived(reader: StreamReader) -> tuple[dict[str, Any], list[bytes]]:
    try:
        (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        frame = json.loads(await reader.readexactly(size))
        sizes = frame["parts"]
        return frame, cut(sizes, await reader.readexactly(sum(sizes)))
    except (EOFError, OSError) as error:
        raise _gone() from error


def _gone() -> RecorderGone:
    return RecorderGone("muniment does not record this program any more")
