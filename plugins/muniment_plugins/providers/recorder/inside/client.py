"""The program's side of the connection to its recorder.

Rules: see `wire`. Errors of the library are reported, and raised unchanged; a replay
raises one of the same class. This runs in the program's own interpreter: the standard
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

    from muniment_plugins.providers.recorder.inside import (
        bodies,
        stops,
        unpacked,
        wire,
    )
    from muniment_plugins.providers.recorder.inside.wire import (
        Came,
        WireNames,
        WireRequest,
    )
else:
    try:
        import _muniment_bodies as bodies
        import _muniment_stops as stops
        import _muniment_unpacked as unpacked
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import (
            bodies,
            stops,
            unpacked,
            wire,
        )

__all__ = ["AsyncLine", "Client", "Line"]


class Client:
    """Exchanges the requests of the program's libraries."""

    def __init__(self, address: str) -> None:
        """Speak to the recorder at *address*, ``TOKEN@/PATH`` or ``TOKEN@HOST:PORT``."""
        self._token, _, self._place = address.partition("@")

    def exchange(
        self, sent: WireRequest, perform: Callable[[], Came], names: WireNames
    ) -> Came:
        """Return the answer to *sent*; *perform* asks the server, if necessary.

        Its ``more`` gives the chunks of the body, whether known or arriving.
        """
        line, came = Line(self._connected()), None
        try:
            frame, parts = line.ask(self._question(sent))
            if "perform" in frame:
                with _performing():
                    came = perform()
                frame, parts = line.ask(_told(came))
        except BaseException as error:
            bodies.say_last(line, error, names, -1)
            if came is not None and came.close is not None:
                came.close()
            raise
        if came is None or "answer" in frame:
            return _known(line, frame, parts, names)
        if came.more is not None:
            return came._replace(more=bodies.Body(line, came, names))
        return _whole(line, came, names)

    async def aexchange(
        self,
        sent: WireRequest,
        perform: Callable[[], Awaitable[Came]],
        names: WireNames,
        *,
        pushed: bool = False,
    ) -> Came:
        """Do as `exchange` does, and let the loop go on meanwhile.

        Where the library is given its answer before the program reads it, the body is
        *pushed*: see `bodies.AsyncBody`.
        """
        line, came, error = await self._aline(), None, None
        frame, parts = dict[str, Any](), list[bytes]()
        try:
            frame, parts = await line.ask(self._question(sent))
            if "perform" in frame:
                with _performing():
                    came = await perform()
                frame, parts = await line.ask(_told(came))
        except BaseException as struck:  # noqa: BLE001 - raised again below
            error = struck
        if error is not None:
            try:
                with stops.raising(error):
                    line.around.notice()
                    bodies.say_last(line, error, names, -1)
                    forgotten = isinstance(error, GeneratorExit)  # it may not wait
                    if came is not None and came.close is not None and not forgotten:
                        await came.close()
            finally:
                del error  # or its traceback would keep it
        if came is None or "answer" in frame:
            head = frame["answer"]
            if not head["status"] and stops.leaves(head["fault"]):
                await stops.leave(head["fault"], line.around)
            return _known(line, frame, parts, names)
        if came.more is not None:
            body = bodies.AsyncBody(line, came, names, pushed=pushed)
            return came._replace(more=body)
        return _whole(line, came, names)

    async def _aline(self) -> Any:
        import asyncio  # noqa: PLC0415 - the program has it, if it comes here

        try:
            asyncio.get_running_loop()
        except RuntimeError:  # a loop of another library, which waits for us
            return _Patient(Line(self._connected(), stops.Around()))
        return AsyncLine(*await self._aconnected())

    def tell(self, **frame: Any) -> None:
        """Send a message without an answer, but wait until it was received."""
        line = Line(self._connected())
        line.ask(wire.pack({"token": self._token, **frame}))
        line.close()

    def pass_by(self, host: str, port: int | None) -> None:
        """Say that something is asked of *host* past the record.

        A connection that a recorded exchange left open is not seen to connect.
        """
        bare = (host or "").strip("[]")
        name = f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"
        with suppress(ConnectionError):  # the run has ended, and this process has not
            self.tell(noticed=["connection", name])

    def _question(self, sent: WireRequest) -> bytes:
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

    def __init__(
        self, stream: socket.socket, around: stops.Around | None = None
    ) -> None:
        self._stream = stream
        self.around = around
        """What surrounds the exchange, if it is on a loop."""

    def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Send *data*; return the recorder's answer."""
        try:
            self._stream.sendall(data)
            (size,) = wire.LENGTH.unpack(self._exactly(wire.LENGTH.size))
            frame = json.loads(self._exactly(size))
            sizes = frame["parts"]
            return frame, wire.cut(sizes, self._exactly(sum(sizes)))
        except OSError as error:
            raise wire.gone() from error

    def say(self, data: bytes) -> None:
        """Send *data*, and wait for nothing."""
        with suppress(OSError):
            self._stream.sendall(data)

    def last(self, data: bytes) -> None:
        """Send *data* while an answer may be on its way, and wait until it was heard.

        Had the connection been closed, that answer would fail, and *data* be lost.
        """
        with suppress(OSError):
            self._stream.sendall(data)
            self._stream.shutdown(1)
            while self._stream.recv(1 << 16):
                pass
        self._stream.close()

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
        self.around = stops.Around()

    async def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Send *data*; return the recorder's answer."""
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
        """Send *data*, and wait for nothing."""
        with suppress(RuntimeError):  # its loop was closed, and so is the connection
            self._writer.write(data)

    def last(self, data: bytes) -> None:
        """Send *data* while an answer may be on its way; the recorder closes then."""
        self.around.over()
        with suppress(RuntimeError, OSError):
            self._writer.write(data)
            self._writer.write_eof()
            transport: Any = self._writer.transport
            transport.set_protocol(_Going())

    def close(self) -> None:
        """End the connection."""
        self.around.over()
        with suppress(RuntimeError):  # its loop was closed, and so is the connection
            self._writer.close()


class _Going:
    """Takes what still comes, until the recorder closes the connection."""

    def _ignore(self, *_: object) -> None:
        """Do nothing; of the end: let the connection be closed."""

    connection_made = data_received = eof_received = connection_lost = _ignore
    pause_writing = resume_writing = _ignore


class _Patient:
    """A line that lets a loop of another library wait."""

    def __init__(self, line: Line) -> None:
        self._line, self.around = line, line.around
        self.say, self.last, self.close = line.say, line.last, line.close

    async def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Send *data*; return the recorder's answer."""
        return self._line.ask(data)


def _known(
    line: Any, frame: dict[str, Any], parts: list[bytes], names: WireNames
) -> Came:
    head = frame["answer"]
    told = head["fault"]
    fault = None if told is None else tuple(told)
    if not head["status"] and fault is not None:
        line.close()
        raise stops.again(fault, names)
    headers = [(name, value) for name, value in head["headers"]]
    known = {"reason": head.get("reason"), "protocol": head.get("protocol")}
    came = wire.Came(head["status"], headers, parts, fault, **known)
    body = bodies.KnownBody(line, came, names, head)
    return came._replace(more=body)


def _whole(line: Any, came: Came, names: WireNames) -> Came:
    """Return the answer that *came* whole, and say that the program has it."""
    line.say(bodies.ended(None, names, len(came.chunks)))
    return came._replace(more=bodies.KnownBody(line, came, names, {}))


def _told(came: Came) -> bytes:
    head = {"status": came.status, "headers": came.headers, "fault": came.fault}
    head |= {"reason": came.reason, "protocol": came.protocol}
    if came.more is not None:
        return wire.pack({"came": {**head, "streams": True}})
    parts = came.chunks
    unpacking = unpacked.unpacking(came.headers, is_raw=came.is_raw)
    if parts and unpacking is not None:
        parts = [*parts, *map(unpacking.add, came.chunks)]
        head |= {"unpacked": True, "unsearched": unpacking.unsearched}
    return wire.pack({"came": {**head, "streams": False}}, parts)


@contextmanager
def _performing() -> Generator[None]:
    token = wire.PERFORMING.set(True)
    try:
        yield
    finally:
        with suppress(ValueError):  # whoever closes a forgotten task does so elsewhere
            wire.PERFORMING.reset(token)
