r"""Records `aiohttp`: what a connector connects to is the recorder.

Rules: a request is known whole before it is connected; the connection that the library
gets is given the answer as it comes, as bytes, which it reads and parses as ever:
cookies, redirects, streams and limits stay its own. Upgraded connections (WebSockets) are not
recorded. This runs in the program's own interpreter.

    HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder import spelled
    from muniment_plugins.providers.recorder.client import Client
    from muniment_plugins.providers.recorder.wire import Came
else:
    try:
        import _muniment_spelled as spelled
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder import spelled

__all__ = ["patch"]

_AHEAD = 0.01
_BUFFER = 1 << 16
_ANSWERED_BARE = ("HEAD",)


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the connectors of *module* connect."""
    connector = module.connector.BaseConnector
    original = connector.connect
    handler = _handler(module)

    async def perform(self: Any, req: Any, traces: Any, limits: Any) -> Came:
        conn = await original(self, req, traces, limits)
        return await _sent(wire, module, conn, req, limits)

    @functools.wraps(original)
    async def connect(self: Any, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 - as the library calls it
        if "upgrade" in req.headers:
            return await original(self, req, traces, timeout)
        data = await _body(module, req)
        headers = list(req.headers.items())
        sent = wire.Sent(req.method, str(req.url), headers, data)
        came = await client.aexchange(
            sent,
            lambda: perform(self, req, traces, timeout),
            _names(module, wire, req),
        )
        protocol = handler(asyncio.get_running_loop(), req, came)
        return module.connector.Connection(
            self, req.connection_key, protocol, asyncio.get_running_loop()
        )

    connector.connect = connect


async def _body(module: Any, req: Any) -> bytes:
    """Return the body of *req*, which can be sent afterwards all the same."""
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


async def _sent(wire: Any, module: Any, conn: Any, req: Any, limits: Any) -> Came:
    """Send *req* over *conn*, and return what came."""
    try:
        conn.protocol.set_response_params(
            timer=req._timer,  # noqa: SLF001 - the library hands it over like this
            skip_payload=req.method in _ANSWERED_BARE,
            read_until_eof=True,
            auto_decompress=True,
            read_timeout=limits.sock_read,
            read_bufsize=_BUFFER,
        )
        response = await req.send(conn)
    except BaseException:
        conn.close()
        raise
    try:
        await response.start(conn)
        headers = list(response.headers.items())
        came: Came = wire.Came(response.status, headers, [], None)
        if wire.is_stream(came, req.method):

            async def close() -> None:
                response.close()

            return came._replace(more=response.content.iter_any(), close=close)
    except BaseException:
        response.close()
        raise
    chunks: list[bytes] = []
    fault = None
    try:
        async for chunk in response.content.iter_any():
            chunks.append(chunk)  # noqa: PERF401 - kept when the next one fails
    except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
        fault = _names(module, wire, req).told(error)
    finally:
        response.close()
    return came._replace(chunks=chunks, fault=fault)


def _handler(module: Any) -> Any:
    """Return a protocol of the library's that is given its answer."""

    class Answered(module.client_proto.ResponseHandler):  # type: ignore[misc]  # loaded late
        def __init__(self, loop: Any, req: Any, came: Came) -> None:
            super().__init__(loop)  # pyright: ignore[reportUnknownMemberType]
            self._muniment = req, came
            self._muniment_at = _Nowhere()
            self.connection_made(self._muniment_at)
            self.force_close()  # or the connector would give it to another request

        def set_response_params(self, **options: Any) -> None:
            super().set_response_params(**options)  # pyright: ignore[reportUnknownMemberType]
            req, came = self._muniment
            begin, chunked = spelled.head(came, req.method)
            self.data_received(begin)
            feeding = self._muniment_feed(came, chunked=chunked)
            self._muniment_at.feeding = asyncio.ensure_future(feeding)

        async def _muniment_feed(self, came: Came, *, chunked: bool) -> None:
            body, payload = came.more, self._payload
            body.unwanted = lambda: getattr(payload, "_waiter", None) is None
            try:
                async for chunk in body:
                    await self._muniment_at.going.wait()
                    self.data_received(spelled.piece(chunk, chunked=chunked))
                if chunked:
                    self.data_received(spelled.LAST)
            except Exception as error:  # noqa: BLE001 - whoever reads gets it
                while body.unwanted():  # noqa: ASYNC110 - what came is read before it
                    await asyncio.sleep(_AHEAD)
                if payload is not None:
                    payload.set_exception(error)
            finally:
                await body.aclose()

    return Answered


class _Nowhere(asyncio.Transport):
    """Where the request goes that was sent already."""

    def __init__(self) -> None:
        super().__init__()
        self._closing = False
        self.feeding: asyncio.Future[None] | None = None
        """What brings the answer."""
        self.going = asyncio.Event()
        self.going.set()

    def write(self, data: Any) -> None:
        """Forget *data*."""

    def writelines(self, list_of_data: Any) -> None:
        """Forget them."""

    def is_closing(self) -> bool:
        """Tell whether somebody closed it."""
        return self._closing

    def close(self) -> None:
        """Be closed, and let nothing more come."""
        self._closing = True
        if self.feeding is not None:
            self.feeding.cancel()

    abort = close

    def pause_reading(self) -> None:
        """Let the answer wait."""
        self.going.clear()

    def resume_reading(self) -> None:
        """Let it go on."""
        self.going.set()

    def get_write_buffer_size(self) -> int:
        """Say that nothing waits."""
        return 0


def _names(module: Any, wire: Any, req: Any) -> Any:
    def named(error: Any) -> tuple[str, str] | None:
        if not isinstance(error, module.ClientError):
            return None
        unreached = isinstance(error, module.ClientConnectorError)
        told: Any = error.os_error.strerror if unreached else None
        return type(error).__name__, str(told or error)

    def made(fault: tuple[str, str]) -> BaseException | None:
        name, message = fault
        kind = getattr(module, name, None)
        if not isinstance(kind, type) or not issubclass(kind, module.ClientError):
            return None
        if issubclass(kind, module.ClientConnectorCertificateError):
            return kind(req.connection_key, Exception(message))  # type: ignore[no-any-return]
        if issubclass(kind, module.ClientConnectorError):
            return kind(req.connection_key, OSError(0, message))  # type: ignore[no-any-return]
        if issubclass(kind, module.ClientResponseError):
            kind = module.ClientConnectionError
        return kind(message)  # type: ignore[no-any-return]

    def other(fault: tuple[str, str]) -> BaseException:
        return module.ClientConnectionError(fault[1])  # type: ignore[no-any-return]

    return wire.Names(named, made, other)
