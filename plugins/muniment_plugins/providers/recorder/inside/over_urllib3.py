"""Records `urllib3`, and with it `requests` and whatever else uses it.

Rules: the entry to a connection pool is replaced. What the pool does for one request,
such as trying again, is one exchange; `requests` and the pool's manager follow redirects
themselves, and each hop is one. The answer's ``retries`` limits the manager: what the pool
left of it live, and in a replay what the program allows. Requests for another protocol
are named, not recorded. This runs in the program's own interpreter.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import spelled, wire
    from muniment_plugins.providers.recorder.inside.client import Client
    from muniment_plugins.providers.recorder.inside.wire import Came
else:
    try:
        import _muniment_spelled as spelled
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import spelled, wire

__all__ = ["patch"]

_AT_ONCE = 1 << 16
_BEHIND_HEADERS = ("retries", "redirect")
"""What may be given by its place, behind the headers."""


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the pools of *module* (``urllib3.connectionpool``) send."""
    original = module.HTTPConnectionPool.urlopen
    inside = threading.local()
    errors = _Errors(module)

    def perform(
        pool: Any, arguments: tuple[Any, ...], options: dict[str, Any], left: list[Any]
    ) -> Came:
        inside.pool = True
        try:
            answer = original(pool, *arguments, **{**options, "preload_content": False})
        finally:
            inside.pool = False
        left.append(answer.retries)
        return _read(wire, errors.names(wire, pool, arguments[1]), answer, arguments[0])

    @functools.wraps(original)
    def urlopen(
        self: Any,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *rest: Any,
        **options: Any,
    ) -> Any:
        given = self.headers if headers is None else headers
        ours = getattr(inside, "pool", False)
        if ours or _is_upgrade(given):
            if not ours:
                client.pass_by(self.host, self.port)
            return original(self, method, url, body, headers, *rest, **options)
        data = _bytes(body)
        pairs = [(str(name), _text(value)) for name, value in given.items()]
        sent = wire.WireRequest(method, _whole(self, url), pairs, data)
        known = (method, url, None if body is None else data, headers, *rest)
        names = errors.names(wire, self, url)
        left: list[Any] = []
        came = client.exchange(sent, lambda: perform(self, known, options, left), names)
        said = {**dict(zip(_BEHIND_HEADERS, rest)), **options}
        retries = left[0] if left else _retries(module, self, said)
        return _answer(errors, came, method, url, {**options, "retries": retries})

    module.HTTPConnectionPool.urlopen = urlopen


def _retries(module: Any, pool: Any, said: dict[str, Any]) -> Any:
    """Return what *pool* allows of trying again, and its manager of redirects."""
    retries, redirect = said.get("retries"), said.get("redirect", True)
    if isinstance(retries, module.Retry):
        return retries
    return module.Retry.from_int(retries, redirect=redirect, default=pool.retries)


def _read(wire: Any, names: Any, answer: Any, method: str) -> Came:
    original: Any = getattr(answer, "_original_response", None)
    if hasattr(getattr(original, "headers", None), "raw_items"):
        came = spelled.came_of(original)
    else:  # over another protocol
        headers = [(_text(k), _text(v)) for k, v in answer.headers.items()]
        came = wire.Came(answer.status, headers, [], None, protocol="HTTP/1.1")
    if wire.is_stream(came, method):
        more = _chunks(answer)
        if came.is_raw and getattr(answer, "chunked", False):
            original.length, more = None, _raw(original)  # the program finds its chunks
        return came._replace(more=more, close=answer.close)
    pieces: list[bytes] = []
    broken = None
    try:
        pieces.extend(_chunks(answer))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
        broken = error
    answer.release_conn()
    whole = b"".join(pieces)
    came = came._replace(chunks=[whole] if whole else [])
    return wire.ending(came, names, broken)  # type: ignore[no-any-return]


def _raw(answer: Any) -> Iterator[bytes]:
    """Yield the bytes of a body whose chunks `http.client` does not read."""
    while data := answer.read1(_AT_ONCE):
        yield data


def _chunks(answer: Any) -> Iterator[bytes]:
    """Yield the chunks of *answer* as they arrive."""
    if getattr(answer, "chunked", False) or not hasattr(answer, "read1"):
        yield from answer.stream(_AT_ONCE, decode_content=False)
    else:
        while data := answer.read1(_AT_ONCE, decode_content=False):
            yield data
    answer.release_conn()


def _answer(errors: _Errors, came: Came, method: str, url: str, options: Any) -> Any:
    original = spelled.read_from(came, method)
    answer = errors.response(
        body=original,
        headers=errors.headers(original.headers.items()),
        status=came.status,
        reason=original.reason,
        version=original.version,
        preload_content=options.get("preload_content", True),
        decode_content=options.get("decode_content", True),
        original_response=original,
        retries=options["retries"],
        request_method=method,
        request_url=url,
    )
    answer.version_string = came.protocol or "HTTP/1.1"
    return answer


class _Errors:
    """Turns the library's errors into names and texts, and back."""

    def __init__(self, module: Any) -> None:
        from urllib3 import exceptions, response  # noqa: PLC0415 - the program's

        self.module = module
        self.exceptions: Any = exceptions
        self.base: Any = exceptions.HTTPError
        self.response: Any = response.HTTPResponse

    def headers(self, pairs: Iterable[tuple[str, str]]) -> Any:
        """Return *pairs* as the library holds them."""
        from urllib3._collections import HTTPHeaderDict  # noqa: PLC0415

        found: Any = HTTPHeaderDict()
        for name, value in pairs:
            found.add(name, value)
        return found

    def names(self, wire: Any, pool: Any, url: str) -> Any:
        """Return how errors of a request to *pool* are told, and made again."""

        def made(fault: tuple[Any, ...]) -> BaseException | None:
            outer = fault[0].partition("/")[0]
            kind = getattr(self.exceptions, outer, None)
            ours = isinstance(kind, type) and issubclass(kind, self.base)
            return self._made(fault, pool, url) if ours else None

        def other(fault: tuple[Any, ...]) -> BaseException:
            return self._made(fault, pool, url)

        return wire.WireNames(self._named, made, other)

    def _named(self, error: Any) -> tuple[str, str] | None:
        """Return class and message; behind it, the class of what it gives as reason."""
        if not isinstance(error, self.base):
            return None
        reason = getattr(error, "reason", None)
        names = [type(error).__name__]
        names += [type(reason).__name__] if isinstance(reason, Exception) else []
        return "/".join(names), str(error)

    def _made(self, fault: tuple[Any, ...], pool: Any, url: str) -> Exception:
        """Return the error again, without what its constructors would want."""
        outer, _, inner = fault[0].partition("/")
        origin = fault[2]
        error = self._bare(outer, fault[1], pool, origin)
        error.url = url
        error.reason = self._bare(inner, fault[1], pool) if inner else None
        if isinstance(origin, Exception) and type(origin).__name__ == inner:
            error.reason = self._at(origin, pool)
        return error  # type: ignore[no-any-return]

    def _bare(
        self, name: str, message: str, pool: Any, origin: BaseException | None = None
    ) -> Any:
        kind = getattr(self.exceptions, name, self.exceptions.ProtocolError)
        error = kind.__new__(kind)
        Exception.__init__(error, *wire.arguments(message, origin))
        return self._at(error, pool)

    def _at(self, error: Any, pool: Any) -> Any:
        """Return *error*, if it is the library's with where it was met."""
        kind: Any = error.__class__
        if not issubclass(kind, self.base):
            return error
        if isinstance(getattr(kind, "pool", None), property):  # it only reads `conn`
            error.conn = pool.ConnectionCls(pool.host, pool.port)
        else:
            error.pool = pool
        return error


def _is_upgrade(headers: Mapping[str, str]) -> bool:
    return any(str(name).lower() == "upgrade" for name in headers)


def _whole(pool: Any, url: str) -> str:
    if urlsplit(url).scheme:  # through a proxy
        return url
    host = f"[{pool.host}]" if ":" in pool.host else pool.host
    usual = {"http": 80, "https": 443}.get(pool.scheme)
    port = f":{pool.port}" if pool.port not in (None, usual) else ""
    return f"{pool.scheme}://{host}{port}{url}"


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _bytes(body: Any) -> bytes:
    """Return the whole body, in whatever form the library accepts it."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    if isinstance(body, memoryview):
        return body.tobytes()
    data = body.read() if hasattr(body, "read") else b"".join(map(_bytes, body))
    return _bytes(data)
