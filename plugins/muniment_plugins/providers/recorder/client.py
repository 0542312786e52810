"""How a program asks its recorder; this is the side of the program.

Rules: see `wire`. Errors of the library are told, and raised as they are; in a replay
one of the same class is raised. This runs in the program's own interpreter: the standard
library only, loaded late.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from asyncio import StreamReader, StreamWriter

    from muniment_plugins.providers.recorder import bodies, wire
    from muniment_plugins.providers.recorder.wire import Came, Names, Sent
else:
    try:
        import _muniment_bodies as bodies
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder import bodies, wire

__all__ = ["AsyncLine", "Client", "Line"]


class Client:
    """What the program's libraries exchange their requests through."""

    def __init__(self, address: str) -> None:
        """Speak to the recorder at *address*, ``TOKEN@/PATH`` or ``TOKEN@HOST:PORT``."""
        self._token, _, self._place = address.partition("@")

    def exchange(self, sent: Sent, perform: Callable[[], Came], names: Names) -> Came:
        """Return the answer to *sent*; *perform* asks the server, if it has to be.

        Its ``more`` gives the chunks of the body, whether they are known or come.
        """
        line = Line(self._connected())
        frame, parts = line.ask(self._question(sent))
        if "perform" not in frame:
            return _known(line, frame, parts, names)
        try:
            with _performing():
                came = perform()
        except BaseException as error:
            line.ask(_raised(error, names))
            line.close()
            raise
        frame, parts = line.ask(_told(came))
        if came.more is None:
            return _known(line, frame, parts, names)
        return came._replace(more=bodies.Body(line, came, names))

    async def aexchange(
        self, sent: Sent, perform: Callable[[], Awaitable[Came]], names: Names
    ) -> Came:
        """Do as `exchange` does, and let the loop go on meanwhile."""
        line = await self._aline()
        try:
            frame, parts = await line.ask(self._question(sent))
            if "perform" not in frame:
                return _known(line, frame, parts, names)
            try:
                with _performing():
                    came = await perform()
            except BaseException as error:
                if not bodies.is_cancelled(error):
                    await line.ask(_raised(error, names))
                raise
            frame, parts = await line.ask(_told(came))
        except BaseException:
            line.close()
            raise
        if came.more is None:
            return _known(line, frame, parts, names)
        return came._replace(more=bodies.AsyncBody(line, came, names))

    async def _aline(self) -> Any:
        import asyncio  # noqa: PLC0415 - the program has it, if it comes here

        try:
            asyncio.get_running_loop()
        except RuntimeError:  # a loop of another library, which waits for us
            return _Patient(Line(self._connected()))
        return AsyncLine(*await self._aconnected())

    def tell(self, **frame: Any) -> None:
        """Say what needs no answer, but wait until it was heard."""
        line = Line(self._connected())
        line.ask(wire.pack({"token": self._token, **frame}))
        line.close()

    def _question(self, sent: Sent) -> bytes:
        ask = {"method": sent.method, "url": sent.url, "headers": sent.headers}
        return wire.pack({"token": self._token, "ask": ask}, [sent.body])

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
            raise wire.gone() from error

    async def _aconnected(self) -> tuple[StreamReader, StreamWriter]:
        import asyncio  # noqa: PLC0415 - the program has it, if it comes here

        try:
            if self._place.startswith("/"):
                return await asyncio.open_unix_connection(self._place)
            host, _, port = self._place.rpartition(":")
            return await asyncio.open_connection(host, int(port))
        except OSError as error:
            raise wire.gone() from error


class Line:
    """The connection of one exchange."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Say *data*; return what the recorder answers."""
        try:
            self._stream.sendall(data)
            (size,) = wire.LENGTH.unpack(self._exactly(wire.LENGTH.size))
            frame = json.loads(self._exactly(size))
            sizes = frame["parts"]
            return frame, wire.cut(sizes, self._exactly(sum(sizes)))
        except OSError as error:
            raise wire.gone() from error

    def say(self, data: bytes) -> None:
        """Say *data*, and wait for nothing."""
        with suppress(OSError):
            self._stream.sendall(data)

    def close(self) -> None:
        """End the connection."""
        self._stream.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self._stream.recv(min(size - len(data), 1 << 20))
            if not more:
                raise wire.gone()
            data += more
        return bytes(data)


class AsyncLine:
    """The same, on a loop."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Say *data*; return what the recorder answers."""
        try:
            self._writer.write(data)
            (size,) = wire.LENGTH.unpack(
                await self._reader.readexactly(wire.LENGTH.size)
            )
            frame = json.loads(await self._reader.readexactly(size))
            sizes = frame["parts"]
            return frame, wire.cut(sizes, await self._reader.readexactly(sum(sizes)))
        except (EOFError, OSError) as error:
            raise wire.gone() from error

    def say(self, data: bytes) -> None:
        """Say *data*, and wait for nothing."""
        self._writer.write(data)

    def close(self) -> None:
        """End the connection."""
        with suppress(RuntimeError):  # its loop was closed, and so is the connection
            self._writer.close()


class _Patient:
    """A line that lets a loop of another library wait."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.say, self.close = line.say, line.close

    async def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Say *data*; return what the recorder answers."""
        return self._line.ask(data)


def _known(line: Any, frame: dict[str, Any], parts: list[bytes], names: Names) -> Came:
    head = frame["answer"]
    told = head["fault"]
    fault = None if told is None else (told[0], told[1])
    if not head["status"] and fault is not None:
        line.close()
        raise names.again(fault)
    headers = [(name, value) for name, value in head["headers"]]
    came = wire.Came(head["status"], headers, parts, fault)
    body = bodies.Known(line, came, names, head)
    return came._replace(more=body)


def _told(came: Came) -> bytes:
    head = {"status": came.status, "headers": came.headers, "fault": came.fault}
    return wire.pack({"came": {**head, "streams": came.more is not None}}, came.chunks)


def _raised(error: BaseException, names: Names) -> bytes:
    if isinstance(error, Exception):
        return _told(wire.Came(0, [], [], names.told(error)))
    return wire.pack({"came": {"fault": names.told(error), "stopped": True}})


@contextmanager
def _performing() -> Generator[None]:
    token = wire.PERFORMING.set(True)
    try:
        yield
    finally:
        wire.PERFORMING.reset(token)
