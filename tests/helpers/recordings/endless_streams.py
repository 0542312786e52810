"""A server of streams that do not end, stall, are cut, or wait to be told to go on.

    with Endless() as server:
        …  # GET server.url + "/endless": an event each time the last one was taken

Rules: nothing here sleeps: an endless stream is written as fast as it is read, a stalled
one until the server is left.
"""

from __future__ import annotations

import itertools
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from servers import HttpServer

__all__ = ["Endless"]


class Endless(HttpServer):
    """The server, for as long as its context lasts."""

    def __init__(self, sign: Path | None = None) -> None:
        """Make the file *sign*, if one is given, when somebody asks for something."""
        super().__init__(_Handler)
        self.asked: list[str] = []
        self.sign = sign
        self.over = threading.Event()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        super().__exit__()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endless

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Stream, by the path: endless, stalled, cut, whole."""
        self.server.asked.append(self.path)
        if self.server.sign is not None:
            self.server.sign.touch()
        name = self.path.strip("/").partition("?")[0]
        self.close_connection = True
        if name == "held":
            self.server.over.wait()
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
                self.server.over.wait()
                return
            if number == 6 and name in ("cut", "whole"):
                if name == "whole":
                    self.wfile.write(b"0\r\n\r\n")
                return
            data = b"data: %d\n\n" % number
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
            if self.server.over.is_set():
                return
