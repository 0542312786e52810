r"""Answers as the bytes that `http.client` reads, as they arrive.

    HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked…

Rules: head and body are as they arrived, and a body has chunks if the reader of its head
says so: of `Transfer-Encoding: gzip, chunked`, `http.client` reads no chunks, and its body
holds them. In older records
a body keeps a length if one was given; any other is chunked. A reader gets each chunk
when it is there. An error that ends the body early is raised where the reader would
wait; a connection that ended too early just ends. This runs in the program's own
interpreter.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import wire
    from muniment_plugins.providers.recorder.inside.wire import Came
else:
    try:
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import wire

__all__ = ["came_of", "head", "is_chunked", "piece", "read_from"]

LAST = b"0\r\n\r\n"
_NEWEST = 11
_BROKEN = "('Connection broken: IncompleteRead("
"""How `urllib3` says that a body of known length ended early."""
_SPOKEN = ("HTTP/1.1", "HTTP/1.0")


def head(came: Came, method: str) -> tuple[bytes, bool]:
    """Return the head of the answer *came*, and whether its last coding is chunked."""
    headers = wire.in_bytes(came, method)
    if came.protocol is None:
        text = wire.framed(came, method)
        chunked = wire.is_stream(came._replace(headers=text), method)
        headers += [(b"transfer-encoding", b"chunked")] if chunked else []
    else:
        chunked = is_chunked(came)
    reason = came.reason
    if reason is None:
        reason = http.client.responses.get(came.status, "")
    protocol = came.protocol if came.protocol in _SPOKEN else _SPOKEN[0]
    begin = f"{protocol} {came.status:03} {reason}".encode("latin-1")
    lines = [begin, *(b"%b: %b" % one for one in headers)]
    return b"\r\n".join([*lines, b"", b""]), chunked


def is_chunked(came: Came) -> bool:
    """Tell whether the last transfer coding of *came* is that of HTTP chunks."""
    said = ",".join(v for k, v in came.headers if k.lower() == "transfer-encoding")
    return said.rpartition(",")[2].strip().lower() == "chunked"


def came_of(answer: http.client.HTTPResponse) -> Came:
    """Return the head of *answer*, as it arrived."""
    headers = [(k, str(v)) for k, v in answer.headers.raw_items()]
    protocol = _SPOKEN[answer.version != _NEWEST]
    came = wire.Came(answer.status, headers, [], None, is_raw=not answer.chunked)
    return came._replace(reason=answer.reason, protocol=protocol)


def piece(chunk: bytes, *, chunked: bool) -> bytes:
    """Return *chunk* as it stands in a body."""
    return b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk


def read_from(came: Came, method: str) -> http.client.HTTPResponse:
    """Return a response that reads the answer *came*."""
    file = _File(came, method)
    response = http.client.HTTPResponse(_Connection(file), method=method)  # type: ignore[arg-type]
    response.begin()
    file.chunked = response.chunked
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
        self.chunked = False
        """Whether who reads the head expects chunks."""

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give what there is; wait if there is nothing."""
        while not self._rest:
            try:
                self._rest = next(self._pieces)
            except StopIteration:  # noqa: PERF203 - once a body
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
        yield head(came, method)[0]
        chunked = self.chunked
        try:
            for chunk in self._body:
                yield piece(chunk, chunked=chunked)
        except Exception as error:
            if came.protocol is None or not _is_early_end(error, chunked=chunked):
                raise
            return  # the reader says so itself
        if chunked:
            yield LAST


def _is_early_end(error: BaseException, *, chunked: bool) -> bool:
    """Tell whether *error* says that the connection ended before the body did."""
    if type(error).__module__ == "http.client":
        return True
    return not chunked and str(error).startswith(_BROKEN)
