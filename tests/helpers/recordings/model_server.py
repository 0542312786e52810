"""A server on this machine that speaks as model servers do, counts, and fails on order.

    with ModelServer() as server:
        server.fail(Trouble(429, retry_after="0.01"), Trouble(cut=2))
        …  # server.url, server.calls

Rules: no key is checked, none is kept; ``/echo`` answers with what it got, so that tests
can ask for secrets back; ``/token`` answers with a credential.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from model_wire import Spoken, anthropic, chat, responses
from servers import HttpServer

__all__ = ["Asked", "ModelServer", "Trouble"]

_SPEAKERS = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": anthropic,
}


@dataclass(frozen=True)
class Trouble:
    """What goes wrong with one request: a status, no answer yet, or a cut stream."""

    status: int = 200
    retry_after: str | None = None
    held: bool = False
    """Whether the answer is kept back until the server is told to go on."""
    cut: int | None = None
    """After how many events of the stream the connection is closed."""
    raw: bytes | None = None
    """The body of the error, in the place of a message."""
    say: str | None = None
    """The message of the error; ``{key}`` is the key that the request carried."""


@dataclass(frozen=True)
class Asked:
    """One request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class ModelServer(HttpServer):
    """The server, for as long as its context lasts."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.speakers: dict[str, Callable[[Any], Spoken]] = {**_SPEAKERS}
        """Who answers at which path."""
        self.calls: list[Asked] = []
        self.troubles: list[Trouble] = []
        self.asked = threading.Event()
        """Is set once anybody asked."""
        self.goes_on = threading.Event()
        """Set it to have answered what is kept back."""

    def fail(self, *troubles: Trouble) -> None:
        """Meet the next requests with *troubles*, one each."""
        self.troubles += troubles

    def __exit__(self, *_: object) -> None:
        self.goes_on.set()
        super().__exit__()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer a GET."""
        self._answer(None)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def do_POST(self) -> None:
        """Answer a POST."""
        length = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(length)
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode("latin-1")
        self._answer(body)

    def handle_one_request(self) -> None:
        """Let clients go that do not wait."""
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def _answer(self, body: Any) -> None:
        server = self.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = urlsplit(self.path).path  # of a whole URL, where it is a proxy
        server.calls.append(Asked(self.command, self.path, headers, body))
        server.asked.set()
        trouble = server.troubles.pop(0) if server.troubles else Trouble()
        if trouble.held:
            server.goes_on.wait()
        if trouble.status >= 400:
            self._refuse(trouble, headers)
        elif path in server.speakers:
            self._speak(server.speakers[path](body), body, trouble)
        elif path == "/moved":
            self.send_response(307)
            self.send_header("location", "/echo")
            self.send_header("content-length", "0")
            self.end_headers()
        elif path == "/gzip":
            self._send({"text": "packed"}, packed=True)
        elif path == "/token":
            self._send({"access_token": "token-" + "4f" * 12, "expires_in": 60})
        else:
            told = {"path": self.path, "headers": headers, "body": body}
            self._send(told, cookie="session=very-secret-cookie")

    def _refuse(self, trouble: Trouble, headers: dict[str, str]) -> None:
        if trouble.raw is not None:
            self.send_response(trouble.status)
            self.send_header("content-length", str(len(trouble.raw)))
            self.end_headers()
            self.wfile.write(trouble.raw)
            return
        key = headers.get("x-api-key") or headers.get("authorization", "")
        message = (trouble.say or "no").format(key=key.removeprefix("Bearer "))
        error = {"type": "error", "message": message, "code": None, "param": None}
        self._send(
            {"type": "error", "error": error}, trouble.status, trouble.retry_after
        )

    def _speak(self, spoken: Spoken, body: Any, trouble: Trouble) -> None:
        if not body.get("stream"):
            self._send(spoken.whole)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("x-request-id", f"req_{len(self.server.calls)}")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(spoken.stream):
            if number == trouble.cut:
                self.close_connection = True
                return
            data = event.encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _send(
        self,
        answer: Any,
        status: int = 200,
        retry_after: str | None = None,
        cookie: str | None = None,
        *,
        packed: bool = False,
    ) -> None:
        data = json.dumps(answer, ensure_ascii=False).encode()
        data = gzip.compress(data) if packed else data
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", f"req_{len(self.server.calls)}")
        if retry_after is not None:
            self.send_header("retry-after", retry_after)
        if packed:
            self.send_header("content-encoding", "gzip")
        if cookie is not None:
            self.send_header("set-cookie", cookie)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
