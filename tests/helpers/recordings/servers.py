r"""Servers on this machine, at a port that the system chooses, while a context lasts.

    with HttpServer(Handler) as server:     # `self.server` in the methods of the handler
        …   # server.url
    with Answering({"cut": [b"HTTP/1.1 200 OK\r\n", b"X-"]}) as server:
        …   # GET server.url + "/any/cut": these bytes, then the end

Rules: each request has a thread of its own, and who leaves a server waits for none.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

__all__ = ["Answering", "HttpServer"]

_POLL_S = 0.02
"""How long a server may take to notice that it is left."""


class HttpServer(ThreadingHTTPServer):
    """Answers by a handler of `http.server`; what it notes belongs to a subclass."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self.serve_forever, args=(_POLL_S,), daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Answering:
    """Sends the bytes that the last part of a path names, in pieces, and then the end."""

    def __init__(
        self,
        answers: Mapping[str, bytes | Sequence[bytes]],
        pause: float = 0,
        held: Collection[str] = (),
    ) -> None:
        """Wait for *pause* seconds after each piece of *answers*.

        After those that are *held*, no end comes before the client goes.
        """
        self._answers, self._pause, self._held = answers, pause, held
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:  # it was left
                return
            threading.Thread(target=self._answer, args=(stream,), daemon=True).start()

    def _answer(self, stream: socket.socket) -> None:
        with stream, suppress(OSError):  # a client may leave at any byte
            asked = b""
            while b"\r\n\r\n" not in asked:
                more = stream.recv(65536)
                if not more:
                    return
                asked += more
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            path = asked.split(b" ")[1].decode()
            answer = self._answers[path.rpartition("/")[2]]
            for piece in [answer] if isinstance(answer, bytes) else answer:
                stream.sendall(piece)
                time.sleep(self._pause)
            self._over(stream, path)

    def _over(self, stream: socket.socket, path: str) -> None:
        """End the answer to *path* on *stream*."""
        if path.rpartition("/")[2] not in self._held:
            stream.shutdown(socket.SHUT_WR)
        while stream.recv(65536):  # or what it got would be reset
            pass
