r"""Records `urllib.request`, which programs without any library use.

Rules: what is replaced is the step that opens a connection, sends and waits; redirects,
credentials and cookies are handled by the library around it, and each hop is an
exchange. What it gets is a response of `http.client` that reads from memory. This runs
in the program's own interpreter.

    HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}
"""

from __future__ import annotations

import functools
import http.client
import io
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.wire import Came, Client

__all__ = ["patch"]

_EITHER = 47
"""gzip or zlib, whichever it is."""


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the handlers of *module* (``urllib.request``) open."""
    handler = module.AbstractHTTPHandler
    original = handler.do_open

    def perform(self: Any, http_class: Any, req: Any, options: Any) -> Came:
        try:
            answer = original(self, http_class, req, **options)
        except (OSError, http.client.HTTPException) as error:
            return wire.Came(0, [], [], _named(error))  # type: ignore[no-any-return]
        chunks: list[bytes] = []
        fault = None
        try:
            chunks.append(_decoded(answer, answer.read()))
        except http.client.IncompleteRead as error:
            chunks.append(_decoded(answer, error.partial))
            fault = _named(error)
        except (OSError, http.client.HTTPException) as error:
            fault = _named(error)
        answer.close()
        headers = list(answer.headers.items())
        return wire.Came(answer.status, headers, chunks, fault)  # type: ignore[no-any-return]

    @functools.wraps(original)
    def do_open(self: Any, http_class: Any, req: Any, **options: Any) -> Any:
        if req.data is not None and not isinstance(req.data, bytes):
            req.data = _bytes(req.data)
        headers = [*req.unredirected_hdrs.items(), *req.headers.items()]
        url = req.full_url
        sent = wire.Sent(req.get_method(), url, headers, req.data or b"")
        came = client.exchange(sent, lambda: perform(self, http_class, req, options))
        if not came.status and came.fault is not None:
            raise _error(module, came.fault)
        return _answer(wire, came, req.get_method(), url)

    handler.do_open = do_open


def _decoded(answer: Any, data: bytes) -> bytes:
    """Return *data* unpacked: what is packed could not be looked through for secrets."""
    if answer.headers.get("content-encoding") not in ("gzip", "deflate"):
        return data
    return zlib.decompressobj(wbits=_EITHER).decompress(data)


def _answer(wire: Any, came: Came, method: str, url: str) -> Any:
    body = b"".join(came.chunks)
    lines = [f"HTTP/1.1 {came.status} {http.client.responses.get(came.status, '')}"]
    bare = method == "HEAD"
    headers = wire.framed(came, method)
    lines += [f"{k}: {v}" for k, v in headers if bare or k != "content-length"]
    if not bare:
        missing = came.fault is not None  # the library finds out by the length
        lines.append(f"content-length: {len(body) + missing}")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    response: Any = http.client.HTTPResponse(_Connection(head + body), method=method)  # type: ignore[arg-type]
    response.begin()
    response.url, response.msg = url, response.reason
    return response


class _Connection:
    """As much of a socket as a response reads from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _: str) -> io.BufferedReader:
        """Return the answer as a file."""
        return io.BufferedReader(io.BytesIO(self._data))


def _bytes(data: Any) -> bytes:
    parts = [data.read()] if hasattr(data, "read") else list(data)
    return b"".join(part.encode() if isinstance(part, str) else part for part in parts)


def _named(error: Exception) -> tuple[str, str]:
    return type(error).__name__, str(getattr(error, "reason", None) or error)


def _error(module: Any, fault: tuple[str, str]) -> Exception:
    name, message = fault
    if name in ("TimeoutError", "timeout"):
        return TimeoutError(message)
    if name in ("BadStatusLine", "RemoteDisconnected"):
        return getattr(http.client, name)(message)  # type: ignore[no-any-return]
    return module.URLError(OSError(message))  # type: ignore[no-any-return]
