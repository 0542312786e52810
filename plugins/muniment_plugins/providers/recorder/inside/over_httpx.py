"""Records `httpx` and `httpx2`, and with them the SDKs that use either.

Rules: the send methods of transports with connections are replaced; other transports
reach no network and stay as they are. Each hop of a redirect is an exchange. Access to
the connection itself is refused, live too, since a replay has none. This runs in the
program's own interpreter.
"""

from __future__ import annotations

import functools
import io
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside.client import Client
    from muniment_plugins.providers.recorder.inside.wire import Came, WireRequest

__all__ = ["NoConnection", "patch"]


class NoConnection:
    """Replaces ``network_stream``: a recorded answer has no connection.

    Live answers have it, too: a program gets what its replay gets.
    """

    def get_extra_info(self, info: str) -> Any:
        """Refuse to describe the connection."""
        raise io.UnsupportedOperation(
            f"not recorded: what the connection says of itself ({info!r}); muniment"
            " records answers, and a replay has no connection (record/connection)"
        )

    def _refuse(self, *_: Any, **__: Any) -> Any:
        return self.get_extra_info("its bytes")

    read = write = close = aclose = start_tls = _refuse


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the transports of *module* send."""
    _patch_sync(module, client, wire)
    _patch_async(module, client, wire)


def _patch_sync(module: Any, client: Client, wire: Any) -> None:
    original = module.HTTPTransport.handle_request

    class Stream(module.SyncByteStream):  # type: ignore[misc]  # loaded late
        def __init__(self, body: Any) -> None:
            self._body = body

        def __iter__(self) -> Iterator[bytes]:
            yield from self._body

        def close(self) -> None:
            self._body.close()

    def perform(transport: Any, request: Any) -> Came:
        response = original(transport, request)
        came = _came(wire, request, response, response.iter_raw(), response.close)
        if came.more is not None:
            return came
        chunks: list[bytes] = []
        broken = None
        try:
            chunks.extend(response.iter_raw())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            broken = error
        finally:
            response.close()
        names = _names(module, wire, request)
        return wire.ending(came._replace(chunks=chunks), names, broken)  # type: ignore[no-any-return]

    @functools.wraps(original)
    def handle_request(transport: Any, request: Any) -> Any:
        sent = _sent(wire, request, request.read())
        names = _names(module, wire, request)
        came = client.exchange(sent, lambda: perform(transport, request), names)
        return _response(module, wire, request, came, Stream)

    module.HTTPTransport.handle_request = handle_request


def _patch_async(module: Any, client: Client, wire: Any) -> None:
    original = module.AsyncHTTPTransport.handle_async_request

    class Stream(module.AsyncByteStream):  # type: ignore[misc]  # loaded late
        def __init__(self, body: Any) -> None:
            self._body = body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._body:
                yield chunk

        async def aclose(self) -> None:
            await self._body.aclose()

    async def perform(transport: Any, request: Any) -> Came:
        response = await original(transport, request)
        came = _came(wire, request, response, response.aiter_raw(), response.aclose)
        if came.more is not None:
            return came
        chunks: list[bytes] = []
        broken = None
        try:
            async for chunk in response.aiter_raw():
                chunks.append(chunk)  # noqa: PERF401 - kept when the next one fails
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            broken = error
        finally:
            await response.aclose()
        names = _names(module, wire, request)
        return wire.ending(came._replace(chunks=chunks), names, broken)  # type: ignore[no-any-return]

    @functools.wraps(original)
    async def handle_async_request(transport: Any, request: Any) -> Any:
        sent = _sent(wire, request, await request.aread())
        names = _names(module, wire, request)
        came = await client.aexchange(sent, lambda: perform(transport, request), names)
        return _response(module, wire, request, came, Stream)

    module.AsyncHTTPTransport.handle_async_request = handle_async_request


def _sent(wire: Any, request: Any, body: bytes) -> WireRequest:
    headers = list(request.headers.multi_items())
    return wire.WireRequest(request.method, str(request.url), headers, body)  # type: ignore[no-any-return]


def _came(wire: Any, request: Any, response: Any, more: Any, close: Any) -> Came:
    """Return what came: a stream with *more*, or an answer that is to be read."""
    headers, said = wire.in_text(response.headers.raw), response.extensions
    protocol = said.get("http_version", b"HTTP/1.1").decode("latin-1")
    reason = said.get("reason_phrase")
    reason = None if reason is None else reason.decode("latin-1")
    came: Came = wire.Came(
        response.status_code, headers, [], None, more, close, reason, protocol
    )
    return came if wire.is_stream(came, request.method) else came._replace(more=None)


def _names(module: Any, wire: Any, request: Any) -> Any:
    def named(error: BaseException) -> tuple[str, str] | None:
        known = isinstance(error, module.RequestError)
        return (type(error).__name__, str(error)) if known else None

    def made(fault: tuple[Any, ...]) -> BaseException | None:
        kind = getattr(module, fault[0], None)
        if not isinstance(kind, type) or not issubclass(kind, module.RequestError):
            return None
        return kind(fault[1], request=request)  # type: ignore[no-any-return]

    def other(fault: tuple[Any, ...]) -> BaseException:
        return module.NetworkError(fault[1], request=request)  # type: ignore[no-any-return]

    return wire.WireNames(named, made, other)


def _response(module: Any, wire: Any, request: Any, came: Came, stream: Any) -> Any:
    said: dict[str, Any] = {"network_stream": NoConnection()}
    if came.protocol is not None:
        said["http_version"] = came.protocol.encode("latin-1")
    if came.reason is not None:
        said["reason_phrase"] = came.reason.encode("latin-1")
    return module.Response(
        came.status,
        headers=wire.in_bytes(came, request.method),
        stream=stream(came.more),
        request=request,
        extensions=said,
    )
