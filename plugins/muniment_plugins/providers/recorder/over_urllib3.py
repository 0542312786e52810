"""Records `urllib3`, and with it `requests` and whatever else stands on it.

Rules: what is replaced is the way into a pool of connections. What the pool does for one
request, such as trying again, is one exchange; `requests` and the pool's manager follow
redirects themselves, and each hop is one. This runs in the program's own interpreter.
"""

from __future__ import annotations

import functools
import http.client
import io
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.wire import Came, Client

__all__ = ["patch"]

_AT_ONCE = 1 << 16


def patch(module: Any, client: Client, wire: Any) -> None:
    """Record what the pools of *module* (``urllib3.connectionpool``) send."""
    original = module.HTTPConnectionPool.urlopen
    inside = threading.local()
    errors = _Errors(module)

    def perform(pool: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Came:
        inside.pool = True
        try:
            answer = original(pool, *arguments, **{**options, "preload_content": False})
            return _read(wire, errors, answer)
        except errors.base as error:
            return wire.Came(0, [], [], errors.named(error))  # type: ignore[no-any-return]
        finally:
            inside.pool = False

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
        if getattr(inside, "pool", False) or _is_upgrade(given):
            return original(self, method, url, body, headers, *rest, **options)
        data = _bytes(body)
        pairs = [(str(name), _text(value)) for name, value in given.items()]
        sent = wire.Sent(method, _whole(self, url), pairs, data)
        known = (method, url, None if body is None else data, headers, *rest)
        came = client.exchange(sent, lambda: perform(self, known, options))
        if not came.status and came.fault is not None:
            raise errors.made(came.fault, self, url)
        told = wire.Came(
            came.status, wire.framed(came, method), came.chunks, came.fault
        )
        return _answer(errors, self, method, url, told, options)

    module.HTTPConnectionPool.urlopen = urlopen


def _read(wire: Any, errors: _Errors, answer: Any) -> Came:
    headers = list(answer.headers.items())
    chunks: list[bytes] = []
    fault = None
    try:
        chunks.extend(answer.stream(_AT_ONCE, decode_content=True))
    except errors.base as error:
        fault = errors.named(error)
    answer.release_conn()
    return wire.Came(answer.status, headers, chunks, fault)  # type: ignore[no-any-return]


def _answer(
    errors: _Errors, pool: Any, method: str, url: str, came: Came, options: Any
) -> Any:
    headers = http.client.HTTPMessage()
    for name, value in came.headers:
        headers.add_header(name, value)
    fault = None if came.fault is None else errors.made(came.fault, pool, url)
    return errors.response(
        body=io.BufferedReader(_Body(came.chunks, fault)),
        headers=errors.headers(came.headers),
        status=came.status,
        reason=http.client.responses.get(came.status, ""),
        version=11,
        preload_content=options.get("preload_content", True),
        decode_content=False,
        original_response=_Original(headers),
        request_method=method,
        request_url=url,
    )


class _Body(io.RawIOBase):
    """The chunks of an answer as a file, with the fault at its end."""

    def __init__(self, chunks: Iterable[bytes], fault: Exception | None) -> None:
        self._data = io.BytesIO(b"".join(chunks))
        self._fault = fault

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give what there is, then raise what cut it off."""
        count = self._data.readinto(buffer)
        if not count and len(buffer) and self._fault is not None:
            raise self._fault
        return count


class _Original:
    """What cookies are read from."""

    def __init__(self, headers: http.client.HTTPMessage) -> None:
        self.msg = headers

    def isclosed(self) -> bool:
        """Say that nothing more will come over any wire."""
        return True

    def close(self) -> None:
        """Do nothing."""


class _Errors:
    """The library's errors: as names and texts, and made again from those."""

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

    def named(self, error: Any) -> tuple[str, str]:
        """Return class and message; behind it, the class of what it gives as reason."""
        reason = getattr(error, "reason", None)
        names = [type(error).__name__]
        names += [type(reason).__name__] if isinstance(reason, Exception) else []
        return "/".join(names), str(error)

    def made(self, fault: tuple[str, str], pool: Any, url: str) -> Exception:
        """Return the error again, without what its constructors would want."""
        outer, _, inner = fault[0].partition("/")
        error = self._bare(outer, fault[1])
        error.pool, error.url = pool, url
        error.reason = self._bare(inner, fault[1]) if inner else None
        return error  # type: ignore[no-any-return]

    def _bare(self, name: str, message: str) -> Any:
        kind = getattr(self.exceptions, name, self.exceptions.ProtocolError)
        error = kind.__new__(kind)
        Exception.__init__(error, message)
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
    """Return a body whole, whatever the library takes as one."""
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
