"""Records `httpx` and `httpx2`, and with them the SDKs that stand on either.

Rules: what is replaced is the way out of a transport that has connections; transports
of other kinds reach no network and stay as they are. Each hop of a redirect is an
exchange. This runs in the program's own interpreter.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.wire import Came, Client, Sent

__all__ = ["patch"]


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the transports of *module* send."""
    _patch_sync(module, client, wire)
    _patch_async(module, client, wire)


def _patch_sync(module: Any, client: Client, wire: Any) -> None:
    original = module.HTTPTransport.handle_request

    def perform(transport: Any, request: Any) -> Came:
        try:
            response = original(transport, request)
        except module.TransportError as error:
            return _fault(wire, error)
        chunks: list[bytes] = []
        fault = None
        try:
            chunks.extend(response.iter_bytes())
        except module.RequestError as error:
            fault = _named(error)
        finally:
            response.close()
        return _came(wire, response, chunks, fault)

    @functools.wraps(original)
    def handle_request(transport: Any, request: Any) -> Any:
        sent = _sent(wire, request, request.read())
        came = client.exchange(sent, lambda: perform(transport, request))
        return _response(module, wire, request, came, _content(module, request, came))

    module.HTTPTransport.handle_request = handle_request


def _patch_async(module: Any, client: Client, wire: Any) -> None:
    original = module.AsyncHTTPTransport.handle_async_request

    async def perform(transport: Any, request: Any) -> Came:
        try:
            response = await original(transport, request)
        except module.TransportError as error:
            return _fault(wire, error)
        chunks: list[bytes] = []
        fault = None
        try:
            async for chunk in response.aiter_bytes():
                chunks.append(chunk)  # noqa: PERF401 - kept when the next one fails
        except module.RequestError as error:
            fault = _named(error)
        finally:
            await response.aclose()
        return _came(wire, response, chunks, fault)

    @functools.wraps(original)
    async def handle_async_request(transport: Any, request: Any) -> Any:
        sent = _sent(wire, request, await request.aread())
        came = await client.aexchange(sent, lambda: perform(transport, request))
        return _response(module, wire, request, came, _acontent(module, request, came))

    module.AsyncHTTPTransport.handle_async_request = handle_async_request


def _sent(wire: Any, request: Any, body: bytes) -> Sent:
    headers = list(request.headers.multi_items())
    return wire.Sent(request.method, str(request.url), headers, body)  # type: ignore[no-any-return]


def _came(
    wire: Any, response: Any, chunks: list[bytes], fault: tuple[str, str] | None
) -> Came:
    headers = list(response.headers.multi_items())
    return wire.Came(response.status_code, headers, chunks, fault)  # type: ignore[no-any-return]


def _fault(wire: Any, error: Exception) -> Came:
    return wire.Came(0, [], [], _named(error))  # type: ignore[no-any-return]


def _named(error: Exception) -> tuple[str, str]:
    return type(error).__name__, str(error)


def _error(module: Any, request: Any, fault: tuple[str, str]) -> Exception:
    kind = getattr(module, fault[0], module.NetworkError)
    return kind(fault[1], request=request)  # type: ignore[no-any-return]


def _response(module: Any, wire: Any, request: Any, came: Came, content: Any) -> Any:
    if not came.status and came.fault is not None:
        raise _error(module, request, came.fault)
    headers = wire.framed(came, request.method)
    return module.Response(
        came.status, headers=headers, content=content, request=request
    )


def _content(module: Any, request: Any, came: Came) -> Iterator[bytes]:
    yield from came.chunks
    if came.fault is not None:
        raise _error(module, request, came.fault)


async def _acontent(module: Any, request: Any, came: Came) -> AsyncIterator[bytes]:
    for chunk in came.chunks:
        yield chunk
    if came.fault is not None:
        raise _error(module, request, came.fault)
