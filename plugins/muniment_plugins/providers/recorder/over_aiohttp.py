r"""Records `aiohttp`: what a connector connects to is the recorder.

Rules: a request is known whole before it is connected; the connection that the library
gets holds the answer already, as bytes, which it reads and parses as ever: cookies,
redirects, streams and limits stay its own. Upgraded connections (WebSockets) are not
recorded. This runs in the program's own interpreter.

    HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}
"""

from __future__ import annotations

import asyncio
import functools
import http.client
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.wire import Came, Client

__all__ = ["patch"]

_BUFFER = 1 << 16
_ANSWERED_BARE = ("HEAD",)


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the connectors of *module* connect."""
    connector = module.connector.BaseConnector
    original = connector.connect
    handler = _handler(module, wire)

    async def perform(self: Any, req: Any, traces: Any, limits: Any) -> Came:
        try:
            conn = await original(self, req, traces, limits)
            return await _sent(wire, module, conn, req, limits)
        except (TimeoutError, module.ClientError) as error:
            return wire.Came(0, [], [], _named(module, error))  # type: ignore[no-any-return]

    @functools.wraps(original)
    async def connect(self: Any, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 - as the library calls it
        if "upgrade" in req.headers:
            return await original(self, req, traces, timeout)
        data = await _body(module, req)
        headers = list(req.headers.items())
        sent = wire.Sent(req.method, str(req.url), headers, data)
        came = await client.aexchange(sent, lambda: perform(self, req, traces, timeout))
        if not came.status and came.fault is not None:
            raise _error(module, req, came.fault)
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
    chunks: list[bytes] = []
    fault = None
    try:
        await response.start(conn)
        headers = list(response.headers.items())
        try:
            async for chunk in response.content.iter_any():
                chunks.append(chunk)  # noqa: PERF401 - kept when the next one fails
        except (TimeoutError, module.ClientError) as error:
            fault = _named(module, error)
    finally:
        response.close()
    return wire.Came(response.status, headers, chunks, fault)  # type: ignore[no-any-return]


def _handler(module: Any, wire: Any) -> Any:
    """Return a protocol of the library's that has its answer."""

    class Answered(module.client_proto.ResponseHandler):  # type: ignore[misc]  # loaded late
        def __init__(self, loop: Any, req: Any, came: Came) -> None:
            super().__init__(loop)  # pyright: ignore[reportUnknownMemberType]
            self._muniment = req, came
            self.connection_made(_Nowhere())
            self.force_close()  # or the connector would give it to another request

        def set_response_params(self, **options: Any) -> None:
            super().set_response_params(**options)  # pyright: ignore[reportUnknownMemberType]
            req, came = self._muniment
            self.data_received(_spelled(req.method, came, wire))
            if came.fault is not None and self._payload is not None:
                self._payload.set_exception(_error(module, req, came.fault))

    return Answered


class _Nowhere(asyncio.Transport):
    """Where the request goes that was sent already."""

    def __init__(self) -> None:
        super().__init__()
        self._closing = False

    def write(self, data: Any) -> None:
        """Forget *data*."""

    def writelines(self, list_of_data: Any) -> None:
        """Forget them."""

    def is_closing(self) -> bool:
        """Tell whether somebody closed it."""
        return self._closing

    def close(self) -> None:
        """Be closed."""
        self._closing = True

    abort = close

    def pause_reading(self) -> None:
        """Do nothing: all is there."""

    def resume_reading(self) -> None:
        """Do nothing: all is there."""

    def get_write_buffer_size(self) -> int:
        """Say that nothing waits."""
        return 0


def _spelled(method: str, came: Came, wire: Any) -> bytes:
    """Return the answer as bytes; a stream keeps its chunks."""
    reason = http.client.responses.get(came.status, "")
    lines = [f"HTTP/1.1 {came.status} {reason}"]
    headers = wire.framed(came, method)
    bare = method in _ANSWERED_BARE
    lines += [f"{k}: {v}" for k, v in headers if bare or k != "content-length"]
    body = b""
    if len(came.chunks) > 1 or came.fault is not None:
        lines.append("transfer-encoding: chunked")
        body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in came.chunks if one)
        body += b"" if came.fault is not None else b"0\r\n\r\n"
    elif not bare:
        body = b"".join(came.chunks)
        lines.append(f"content-length: {len(body)}")
    head = "\r\n".join([*lines, "", ""])
    return head.encode("utf-8", "surrogateescape") + body


def _named(module: Any, error: Any) -> tuple[str, str]:
    unreached = isinstance(error, module.ClientConnectorError)
    told: Any = error.os_error.strerror if unreached else None
    return type(error).__name__, str(told or error)


def _error(module: Any, req: Any, fault: tuple[str, str]) -> Exception:
    name, message = fault
    if name == "TimeoutError":
        return TimeoutError(message)
    kind = getattr(module, name, module.ClientConnectionError)
    if issubclass(kind, module.ClientConnectorError):
        kind = module.ClientConnectorError
        return kind(req.connection_key, OSError(0, message))  # type: ignore[no-any-return]
    if issubclass(kind, module.ClientResponseError):
        kind = module.ClientConnectionError
    return kind(message)  # type: ignore[no-any-return]
