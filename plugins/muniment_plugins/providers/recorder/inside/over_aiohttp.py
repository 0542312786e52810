r"""Records `aiohttp`: its connectors connect to the recorder.

Rules: a request is known whole before it is connected. The library's connection gets the
answer as bytes as they arrive, and reads and parses them as usual: cookies, redirects,
streams and limits stay its own. A timeout can strike wherever the program waits: so every
answer is handed on as it comes, whatever its length, and `delivery` says what the program
had of it. Each piece is given when the one before was read, so that every way of reading
gives the same pieces in a replay. Requests for another protocol (WebSockets) are named, not recorded. This runs in the program's own
interpreter.

    HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}
"""

from __future__ import annotations

import ast
import asyncio
import functools
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import bodies, delivery, spelled
    from muniment_plugins.providers.recorder.inside.client import Client
    from muniment_plugins.providers.recorder.inside.wire import Came
else:
    try:
        import _muniment_bodies as bodies
        import _muniment_delivery as delivery
        import _muniment_spelled as spelled
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import (
            bodies,
            delivery,
            spelled,
        )

__all__ = ["patch"]

_AHEAD = 0.01
_BUFFER = 1 << 16
_LARGEST = 1 << 20
"""How many bytes of an HTTP chunk are handed on before its end arrives."""
_ANSWERED_BARE, _BODILESS = ("HEAD",), (204, 304)
_REFUSED = re.compile(r"(\d+), message=(.*), url=(.*)", re.DOTALL)
"""The text of an error of an answer."""


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the connectors of *module* connect."""
    connector = module.connector.BaseConnector
    original = connector.connect
    handler = _handler(module)
    _watch(module.streams.StreamReader)
    reading: Any = getattr(module, "SocketTimeoutError", ())

    async def perform(self: Any, req: Any, traces: Any, limits: Any) -> Came:
        conn = await original(self, req, traces, limits)
        return await _sent(wire, conn, req, limits, module.helpers.TimerNoop())

    @functools.wraps(original)
    async def connect(self: Any, req: Any, traces: Any, timeout: Any) -> Any:
        if "upgrade" in req.headers:
            client.pass_by(req.url.host, req.url.port)
            return await original(self, req, traces, timeout)
        data = await _body(module, req)
        headers = list(req.headers.items())
        sent = wire.WireRequest(req.method, str(req.url), headers, data)
        names, late = _names(module, wire, req), None
        came = wire.Came(0, [], [], None)
        try:
            came = await client.aexchange(
                sent, lambda: perform(self, req, traces, timeout), names, pushed=True
            )
        except reading as error:
            late = error  # raised where the answer is read: it was connected
        protocol = handler(asyncio.get_running_loop(), req, came, late)
        return module.connector.Connection(
            self, req.connection_key, protocol, asyncio.get_running_loop()
        )

    connector.connect = connect


def _watch(reader: Any) -> None:
    """Let answers be told where the program waits for more of them, by *reader*."""
    for name in ("_wait", "wait_eof"):
        setattr(reader, name, _watched(getattr(reader, name)))


def _watched(original: Any) -> Any:
    @functools.wraps(original)
    async def wait(self: Any, *arguments: Any) -> Any:
        told = getattr(self._protocol, "muniment_delivery", None)
        if told is None:
            return await original(self, *arguments)
        self._protocol.muniment_wants()
        return await told.awaited(original(self, *arguments))

    return wait


async def _body(module: Any, req: Any) -> bytes:
    """Return the body of *req*, and leave it so that it can still be sent."""
    body = req.body
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    if not body:
        return b""
    collected = _Collected()
    await body.write(collected)
    data = bytes(collected.data)
    if not isinstance(body, module.payload.BytesPayload):  # it may be used up
        headers = dict(body.headers or {})
        req._body = module.payload.BytesPayload(data, headers=headers)  # noqa: SLF001
    return data


class _Collected:
    """A writer that keeps what it gets."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def write(self, chunk: Any) -> None:
        """Keep *chunk*."""
        self.data += chunk

    async def write_eof(self, chunk: bytes = b"") -> None:
        """Keep the last *chunk*."""
        self.data += chunk

    async def drain(self) -> None:
        """Wait for nothing."""


async def _sent(wire: Any, conn: Any, req: Any, limits: Any, untimed: Any) -> Came:
    """Send *req* over *conn*, and return what came.

    Where the limit of the whole call strikes, the library tells the program, not us: it
    would take that for a limit of connecting. So the head is read *untimed*.
    """
    try:
        conn.protocol.set_response_params(
            timer=req._timer,  # noqa: SLF001 - the library hands it over like this
            skip_payload=req.method in _ANSWERED_BARE,
            read_until_eof=True,
            auto_decompress=False,  # the program's own reader does that
            read_timeout=limits.sock_read,
            read_bufsize=_BUFFER,
        )
        response = await req.send(conn)
    except BaseException:
        conn.close()
        raise

    async def close() -> None:
        response.close()

    try:
        response._timer = untimed  # noqa: SLF001 - the request's own goes on around us
        await response.start(conn)
        came = _head(wire, response)
        chunked = spelled.is_chunked(came)
        pieces = _Pieces(response, chunked=chunked)
        return came._replace(more=pieces, close=close, is_raw=not chunked)
    except BaseException:
        response.close()
        raise


class _Pieces:
    """The pieces of a body."""

    def __init__(self, response: Any, *, chunked: bool) -> None:
        self._response = response
        self.chunked = chunked
        self.has_more = not chunked and bool(getattr(response.content, "_buffer", None))
        """Whether some of it came with the head, which may say that it is wrong."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _pieces(self._response, chunked=self.chunked)


async def _pieces(response: Any, *, chunked: bool) -> AsyncIterator[bytes]:
    """Yield the pieces of a body: whole HTTP chunks, unless they are very large."""
    if not chunked:
        async for data in response.content.iter_any():
            yield data
        return
    held, fault = bytearray(), None
    try:
        async for data, ends in response.content.iter_chunks():
            held += data
            if held and (ends or len(held) >= _LARGEST):
                whole, held = bytes(held), bytearray()
                yield whole
    except Exception as error:  # noqa: BLE001 - what came before it is handed on
        fault = error
    if held:
        yield bytes(held)
    if fault is not None:
        raise fault


def _head(wire: Any, response: Any) -> Came:
    reason = (response.reason or "").encode("utf-8", "surrogateescape")
    protocol = f"HTTP/{response.version.major}.{response.version.minor}"
    headers = wire.in_text(response.raw_headers)
    known = {"reason": reason.decode("latin-1"), "protocol": protocol}
    return wire.Came(response.status, headers, [], None, **known)  # type: ignore[no-any-return]


def _handler(module: Any) -> Any:
    """Return a protocol of the library's that is given its answer."""

    class Answered(module.client_proto.ResponseHandler):  # type: ignore[misc]  # loaded late
        def __init__(
            self, loop: Any, req: Any, came: Came, late: Exception | None
        ) -> None:
            super().__init__(loop)  # pyright: ignore[reportUnknownMemberType]
            self._muniment = req, came
            self._muniment_late = late
            self.muniment_delivery = delivery.Delivery(came.more)
            self._muniment_at = delivery.Nowhere(
                self.muniment_delivery, lambda: self.connection_lost(None)
            )
            self.connection_made(self._muniment_at)
            self.force_close()  # or the connector would give it to another request

        async def read(self) -> Any:
            """Wait for the answer, which begins when the request was sent."""
            if self._muniment_late is not None:
                raise self._muniment_late
            if self._muniment_at.feeding is None:
                feeding = _feed(self, self._muniment_at, *self._muniment)
                self._muniment_at.feeding = asyncio.ensure_future(feeding)
            head = super().read()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            return await self.muniment_delivery.awaited(head)  # pyright: ignore[reportUnknownArgumentType]

        def set_response_params(self, **options: Any) -> None:
            """Take how to read; of a live answer, the connection itself has its timeout."""
            if isinstance(self._muniment[1].more, bodies.AsyncBody):
                options["read_timeout"] = None
            super().set_response_params(**options)  # pyright: ignore[reportUnknownMemberType]

        def muniment_wants(self) -> None:
            """Let the answer go on: somebody is about to wait for more, or for its end."""
            self._muniment_at.read.set()

        def resume_reading(self, *known: Any, **options: Any) -> None:
            """Let the answer go on: somebody has read some of it."""
            super().resume_reading(*known, **options)  # pyright: ignore[reportUnknownMemberType]
            self._muniment_at.read.set()

    return Answered


async def _feed(protocol: Any, at: delivery.Nowhere, req: Any, came: Came) -> None:
    """Give *protocol* the answer that *came*, one piece at a time."""
    body, told = came.more, protocol.muniment_delivery
    begin, fed, chunked = _begun(came, req.method)
    waits = getattr(getattr(body, "source", None), "has_more", False)
    if not waits:
        at.give(protocol, begin)
    body.unwanted = lambda: not delivery.is_wanted(told.payload)
    try:
        if not waits and _is_bodiless(came, req.method, told.payload):
            told.end(None)
            return
        async for chunk in body:
            fed -= 1
            if fed < 0:  # it was not given already
                await at.going.wait()
                piece = spelled.piece(chunk, chunked=chunked)
                at.give(protocol, *([begin, piece] if waits else [piece]))
                waits = False
            await at.taken(told.payload)
        told.end(None)
        _end(protocol, came, chunked=chunked)
    except BaseException as error:  # whoever reads gets it
        if not isinstance(error, Exception) and error is not body.stop:
            raise
        if waits:
            at.give(protocol, begin)
        while body.unwanted():  # noqa: ASYNC110 - what came is read before it
            await asyncio.sleep(_AHEAD)
        told.end(error)
        if told.payload is not None:
            told.payload.set_exception(error)
    finally:
        await body.aclose()


def _begun(came: Came, method: str) -> tuple[bytes, int, bool]:
    """Return how the answer begins, with how many chunks; and whether it is chunked.

    What arrives with the head may say of it that it cannot be read.
    """
    begin, chunked = spelled.head(came, method)
    given = [] if isinstance(came.more, bodies.AsyncBody) else came.chunks[:1]
    pieces = [spelled.piece(one, chunked=chunked) for one in given]
    return begin + b"".join(pieces), len(given), chunked


def _is_bodiless(came: Came, method: str, payload: Any) -> bool:
    """Tell whether nothing follows the head of a live answer."""
    live = isinstance(came.more, bodies.AsyncBody)
    bare = method in _ANSWERED_BARE or came.status in _BODILESS
    return live and (bare or payload is None or payload.is_eof())


def _is_sized(came: Came) -> bool:
    return any(name.lower() == "content-length" for name, _ in came.headers)


def _end(protocol: Any, came: Came, *, chunked: bool) -> None:
    """Say to *protocol* that the body is over, as its framing says it."""
    sized = _is_sized(came)
    if chunked:
        protocol.data_received(spelled.LAST)
    elif came.protocol is not None and not sized:
        protocol.connection_lost(None)


def _names(module: Any, wire: Any, req: Any) -> Any:
    def named(error: Any) -> tuple[str, str] | None:
        if not isinstance(error, module.ClientError):
            return None
        unreached = isinstance(error, module.ClientConnectorError)
        told: Any = error.os_error.strerror if unreached else None
        return type(error).__name__, str(told or error)

    def made(fault: tuple[Any, ...]) -> BaseException | None:
        name, message, origin = fault
        met = origin if isinstance(origin, OSError) else OSError(0, message)
        kind = getattr(module, name, None)
        if not isinstance(kind, type) or not issubclass(kind, module.ClientError):
            return None
        if issubclass(kind, module.ClientConnectorCertificateError):
            return kind(req.connection_key, origin or Exception(message))  # type: ignore[no-any-return]
        if issubclass(kind, module.ClientConnectorError):
            return kind(req.connection_key, met)  # type: ignore[no-any-return]
        if issubclass(kind, OSError) and met.errno and met.strerror in message:
            return kind(met.errno, met.strerror)
        if issubclass(kind, module.ClientResponseError):
            return _refused(kind, req, message)
        return kind(message)  # type: ignore[no-any-return]

    def other(fault: tuple[Any, ...]) -> BaseException:
        return module.ClientConnectionError(fault[1])  # type: ignore[no-any-return]

    return wire.WireNames(named, made, other)


def _refused(kind: Any, req: Any, told: str) -> BaseException:
    """Return the error of a refused answer, made from the parts of its text."""
    found = _REFUSED.match(told)
    status, said, _ = found.groups() if found else (0, repr(told), "")
    message = ast.literal_eval(said)
    return kind(req.request_info, (), status=int(status), message=message)  # type: ignore[no-any-return]
