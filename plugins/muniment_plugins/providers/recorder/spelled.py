r"""Answers as the bytes that `http.client` reads, as they come.

    HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked…

Rules: what gives its length has it, anything else is chunked, and a reader gets each
chunk when it is there. What ends the body early is raised where the reader would wait.
This runs in the program's own interpreter.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder import wire
    from muniment_plugins.providers.recorder.wire import Came
else:
    try:
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder import wire

__all__ = ["head", "piece", "read_from"]

LAST = b"0\r\n\r\n"


def head(came: Came, method: str) -> tuple[bytes, bool]:
    """Return the head of the answer *came*, and whether its body is chunked."""
    headers = wire.framed(came, method)
    chunked = wire.is_stream(came._replace(headers=headers), method)
    headers += [("transfer-encoding", "chunked")] if chunked else []
    reason = http.client.responses.get(came.status, "")
    lines = [f"HTTP/1.1 {came.status} {reason}", *(f"{k}: {v}" for k, v in headers)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape"), chunked


def piece(chunk: bytes, *, chunked: bool) -> bytes:
    """Return *chunk* as it stands in a body."""
    return b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk


def read_from(came: Came, method: str) -> http.client.HTTPResponse:
    """Return a response that reads the answer *came*."""
    response = http.client.HTTPResponse(_Connection(_File(came, method)), method=method)  # type: ignore[arg-type]
    response.begin()
    return response


class _Connection:
    """As much of a socket as a response reads from."""

    def __init__(self, file: _File) -> None:
        self._file = file

    def makefile(self, _: str) -> io.BufferedReader:
        """Return the answer as a file."""
        return io.BufferedReader(self._file)


class _File(io.RawIOBase):
    """The bytes of an answer, each chunk when it is there."""

    def __init__(self, came: Came, method: str) -> None:
        super().__init__()
        self._body = came.more
        self._pieces = self._spelled(came, method)
        self._rest = b""

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give what there is, and wait for it where there is nothing."""
        while not self._rest:
            try:
                self._rest = next(self._pieces)
            except StopIteration:
                return 0
        given, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)

    def close(self) -> None:
        """Read no further."""
        if not self.closed:
            self._body.close()
        super().close()

    def _spelled(self, came: Came, method: str) -> Iterator[bytes]:
        begin, chunked = head(came, method)
        yield begin
        for chunk in self._body:
            yield piece(chunk, chunked=chunked)
        if chunked:
            yield LAST
