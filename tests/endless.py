"""A server of streams that do not end, stall, are cut, or wait to be told to go on.

    with Endless() as server:
        …  # GET server.url + "/endless": an event each time the last one was taken

Rules: nothing here sleeps: an endless stream is written as fast as it is read, a stalled
one until the server is left.
"""

from __future__ import annotations

import itertools
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

__all__ = ["Endless"]


class Endless:
    """The server, for as long as its context lasts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.over = threading.Event()
        handler = type("Handler", (_Handler,), {"endless": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True
        ).start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    endless: Endless

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Stream, by the path: endless, stalled, cut, whole."""
        self.endless.asked.append(self.path)
        name = self.path.strip("/").partition("?")[0]
        self.close_connection = True
        if name == "held":
            self.endless.over.wait()
            return
        if name == "plain":
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self._stream(name)
        except ConnectionError:
            return

    def _stream(self, name: str) -> None:
        for number in itertools.count():
            if number == 6 and name == "stalled":
                self.endless.over.wait()
                return
            if number == 6 and name in ("cut", "whole"):
                if name == "whole":
                    self.wfile.write(b"0\r\n\r\n")
                return
            data = b"data: %d\n\n" % number
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
            if self.endless.over.is_set():
                return
