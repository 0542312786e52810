r"""Records `urllib.request`, which programs without an HTTP library use.

Rules: the step that opens a connection, sends and waits is replaced; around it, the
library handles redirects, credentials and cookies, and each hop is an exchange. The
library gets a response of `http.client` that reads the answer. This runs in the
program's own interpreter.
"""

from __future__ import annotations

import functools
import http.client
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import spelled
    from muniment_plugins.providers.recorder.inside.client import Client
    from muniment_plugins.providers.recorder.inside.wire import Came
else:
    try:
        import _muniment_spelled as spelled
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import spelled

__all__ = ["patch"]

_AT_ONCE = 1 << 16


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the handlers of *module* (``urllib.request``) open."""
    handler = module.AbstractHTTPHandler
    original = handler.do_open
    names = _names(module, wire)

    def perform(self: Any, http_class: Any, req: Any, options: Any) -> Came:
        answer = original(self, http_class, req, **options)
        came = spelled.came_of(answer)
        if wire.is_stream(came, req.get_method()):
            return came._replace(more=_chunks(answer), close=answer.close)
        pieces: list[bytes] = []
        broken = None
        try:
            pieces.extend(_whole(answer))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            broken = error
        answer.close()
        whole = b"".join(pieces)
        came = came._replace(chunks=[whole] if whole else [])
        return wire.ending(came, names, broken)  # type: ignore[no-any-return]

    @functools.wraps(original)
    def do_open(self: Any, http_class: Any, req: Any, **options: Any) -> Any:
        if req.data is not None and not isinstance(req.data, bytes):
            req.data = _bytes(req.data)
        headers = [*req.unredirected_hdrs.items(), *req.headers.items()]
        url = req.full_url
        sent = wire.WireRequest(req.get_method(), url, headers, req.data or b"")
        came = client.exchange(
            sent, lambda: perform(self, http_class, req, options), names
        )
        response: Any = spelled.read_from(came, req.get_method())
        response.url, response.msg = url, response.reason
        return response

    handler.do_open = do_open


def _chunks(answer: Any) -> Iterator[bytes]:
    """Yield the chunks of *answer* as they arrive."""
    while data := answer.read1(_AT_ONCE):
        yield data


def _whole(answer: Any) -> Iterator[bytes]:
    """Yield a body that ends, as it arrives; raise what its `read` would."""
    if answer.chunked:
        try:
            yield answer.read()
        except http.client.IncompleteRead as error:
            yield error.partial
            raise
        return
    parts: list[bytes] = []
    for data in _chunks(answer):
        yield data
        parts.append(data)
    if answer.length:
        raise http.client.IncompleteRead(b"".join(parts), answer.length)


def _bytes(data: Any) -> bytes:
    parts = [data.read()] if hasattr(data, "read") else list(data)
    return b"".join(part.encode() if isinstance(part, str) else part for part in parts)


def _names(module: Any, wire: Any) -> Any:
    """Tell the library's errors; one that gives a reason by the reason's class, too."""

    def named(error: BaseException) -> tuple[str, str] | None:
        reason = getattr(error, "reason", None)
        if type(error) is not module.URLError:
            return None
        inner = names.told(reason) if isinstance(reason, Exception) else ("", reason)
        return "/".join(["URLError", *filter(None, inner[:1])]), str(inner[1])

    def made(fault: tuple[Any, ...]) -> BaseException | None:
        name, message, origin = fault
        outer, _, inner = name.partition("/")
        if outer == "URLError":
            reason = names.again((inner, message)) if inner else message
            if origin is not None and wire.class_name(origin) == wire.class_name(
                reason
            ):
                reason = origin
            return module.URLError(reason)  # type: ignore[no-any-return]
        if name.rpartition(".")[2] == "IncompleteRead":
            return http.client.IncompleteRead(b"")
        if name in ("BadStatusLine", "RemoteDisconnected"):  # of older records
            return getattr(http.client, name)(message)  # type: ignore[no-any-return]
        return None

    def other(fault: tuple[Any, ...]) -> BaseException:
        return module.URLError(OSError(fault[1]))  # type: ignore[no-any-return]

    names = wire.WireNames(named, made, other)
    return names
