r"""Calls that fail in each way in which a call can, and a program that makes them.

    with Failing(folder) as server:
        …   # python agent.py server.url server.tls server.plain refused too-short

Rules: the program prints for each library, way of reading and kind of failure what it was
given before, and the error with all that it comes from: how, class, text, arguments,
numbers. Addresses of objects count as one. Only calls that are held have timeouts. Nobody
waits for those: once the server holds an answer, and all of it was read, time has passed.
"""

from __future__ import annotations

import datetime as dt
import gzip
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from servers import Answering

__all__ = ["ANSWERS", "FAILING", "Failing"]

FAILING = r"""
import asyncio, json, os, re, select, selectors, socket, ssl, sys, urllib.request
import aiohttp, httpx, httpx2, openai, requests, urllib3
BASE, TLS, PLAIN, SENT, *KINDS = sys.argv[1:]
URLS = {
    "refused": "http://127.0.0.1:9/x",
    "unknown-host": "http://no-such-host.invalid/x",
    "tls-self-signed": TLS + "/x",
    "tls-plain": PLAIN + "/x",
    "odd-url": "http://[::bad/x",
}
OF_OPENAI = ("refused", "tls-plain", "unknown-host")
os.environ |= {"SSL_CERT_FILE": "none", "SSL_CERT_DIR": "none"}  # to load them takes long
CONTEXT = ssl.create_default_context()
resolve = socket.getaddrinfo
def resolved(host, *others, **options):
    if "invalid" in str(host):  # no server has to say so
        raise socket.gaierror(-2, "Name or service not known")
    return resolve(host, *others, **options)
socket.getaddrinfo = resolved

T = 500.0
def passing(receive):
    def received(self, *arguments):
        if self.family == socket.AF_INET and self.gettimeout():
            def is_more(patience):
                return select.select([self], [], [], patience)[0]
            while not is_more(0.002):
                if os.path.exists(SENT) and not is_more(0):
                    self.settimeout(0.001)
                    break
        return receive(self, *arguments)
    return received
for name in ("recv", "recv_into"):
    setattr(socket.socket, name, passing(getattr(socket.socket, name)))
class Passing(selectors.DefaultSelector):
    ahead = 0.0
    def select(self, timeout=None):
        held = os.path.exists(SENT)
        found = super().select(0.002 if timeout is None else min(timeout, 0.002))
        if held and not found and timeout != 0: self.ahead += 2 * T
        return found
class Loop(asyncio.SelectorEventLoop):
    def __init__(self):
        self.passing = Passing()
        super().__init__(self.passing)
    def time(self):
        return super().time() + self.passing.ahead

def plain(value):
    return re.sub(r"0x[0-9a-f]{6,}", "0x", ascii(value))
def told(error, way):
    while error is not None:
        kind, reason = type(error), getattr(error, "reason", None)
        one = [kind.__module__, kind.__qualname__, ascii(str(error))]
        one += [plain(getattr(error, name, None)) for name in ("errno", "strerror")]
        one += [type(reason).__qualname__, type(getattr(error, "request", None)).__qualname__]
        if kind.__name__ != "InvalidChunkLength":  # it holds the answer
            one += [plain(error.args)]
        yield one
        known = error.__cause__, error.__context__, error.__suppress_context__
        error = error.__cause__ or (None if known[2] else error.__context__)
        if error is not None:
            yield "from" if known[0] is not None else "in"

OPTIONS = {"verify": CONTEXT, "trust_env": False}
def by_httpx(url, seen):
    with httpx.Client(timeout=httpx.Timeout(300, read=T), max_redirects=2, **OPTIONS) as client:
        seen.append(len(client.get(url, follow_redirects=True).content))
async def by_httpx_stream(url, seen):
    limits = httpx.Timeout(300, read=T)
    async with httpx.AsyncClient(timeout=limits, max_redirects=2, **OPTIONS) as client:
        async with client.stream("GET", url, follow_redirects=True) as r:
            async for part in r.aiter_bytes(): seen.append(len(part))
def by_httpx2(url, seen):
    with httpx2.Client(timeout=httpx2.Timeout(300, read=T), max_redirects=2, **OPTIONS) as client:
        seen.append(len(client.get(url, follow_redirects=True).content))
def by_openai(url, seen):
    known = {"api_key": "none", "http_client": httpx.Client(**OPTIONS)}
    with openai.OpenAI(base_url=url, max_retries=0, **known) as client:
        client.models.list()
def got(url):
    session = requests.Session()
    session.trust_env, session.max_redirects = False, 2
    return session.get(url, timeout=(300, T), stream=True)
def by_requests(url, seen):
    seen.append(len(got(url).content))
def by_requests_none(url, seen):
    for part in got(url).iter_content(None): seen.append(len(part))
def by_requests_sized(url, seen):
    for part in got(url).iter_content(4): seen.append(len(part))
def by_requests_raw(url, seen):
    seen.append(len(got(url).raw.read()))
def asked(url, **options):
    limits = urllib3.Timeout(connect=300, read=T)
    return urllib3.PoolManager().request("GET", url, timeout=limits, **options)
def by_urllib3(url, seen):
    seen.append(len(asked(url, retries=False).data))
def by_urllib3_retries(url, seen):
    seen.append(len(asked(url, retries=1).data))
def by_urllib3_stream(url, seen):
    r = asked(url, retries=False, preload_content=False)
    for part in r.stream(4): seen.append(len(part))
def by_urllib(url, seen):
    with urllib.request.urlopen(url, timeout=T) as r: seen.append(len(r.read()))
def by_urllib_parts(url, seen):
    with urllib.request.urlopen(url, timeout=T) as r:
        while part := r.read(4): seen.append(len(part))
async def by_aiohttp(url, seen):
    limits = aiohttp.ClientTimeout(total=None, sock_read=T)
    async with aiohttp.ClientSession(timeout=limits) as session:
        async with session.get(url, max_redirects=2) as r: seen.append(len(await r.read()))
WAYS = [value for name, value in [*globals().items()] if name.startswith("by_")]

def fails(way, kind):
    url = URLS.get(kind) or f"{BASE}/{way.__name__}/{kind}"
    seen, error = [], None
    try:
        found = way(url, seen)
        if found is not None:
            runner.run(found)
    except Exception as failed:
        error = failed
    print(json.dumps([[way.__name__, kind], [seen, *told(error, way)]]), flush=True)

with asyncio.Runner(loop_factory=Loop) as runner:
    for kind in KINDS:
        for way in WAYS:
            if os.path.exists(SENT): os.unlink(SENT)
            if way is not by_openai or kind in OF_OPENAI:
                fails(way, kind)
"""

_HEAD = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n"
_PACKED = gzip.compress(b"hello, " * 100, mtime=0)
_MOVED = b"HTTP/1.1 302 Found\r\nLocation: moved\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

ANSWERS: Mapping[str, bytes] = {
    "nothing": b"",
    "half-a-head": _HEAD + b"X-A",
    "status-line": b"HTTP/1.1 two hundred\r\n\r\n",
    "no-http": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "protocol": b"HTTP/9.9 200 OK\r\n\r\n",
    "header": _HEAD + b"X A: 1\r\n: 2\r\nContent-Length: 2\r\n\r\nok",
    "header-null": _HEAD + b"X: a\x00b\r\nContent-Length: 2\r\n\r\nok",
    "header-long": _HEAD + b"X: " + b"v" * 70_000 + b"\r\n\r\n",
    "too-short": _HEAD + b"Content-Length: 100\r\n\r\nhello",
    "chunk-bad": _CHUNKED + b"\r\n5\r\nhello\r\nZZ\r\nxx",
    "chunk-cut": _CHUNKED + b"\r\n5\r\nhello\r\n8\r\nxx",
    "chunk-none": _CHUNKED + b"\r\n5\r\nhello\r\n",
    "gzip-bad": _HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    "gzip-chunked-bad": _CHUNKED
    + b"Content-Encoding: gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "gzip-cut": _HEAD
    + b"Content-Encoding: gzip\r\nContent-Length: 300\r\n\r\n"
    + _PACKED,
    "deflate-bad": _HEAD + b"Content-Encoding: deflate\r\n\r\nhello",
    "404-cut": b"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nhello",
    "moved": _MOVED,
    "moved-badly": _MOVED.replace(b"moved\r", b"http://[::bad/\r"),
    "moved-to-a-file": _MOVED.replace(b"moved\r", b"file:///etc/passwd\r"),
    "reset": b"",
    "reset-head": _HEAD + b"X-A",
    "reset-sized": _HEAD + b"Content-Length: 100\r\n\r\nhello",
    "reset-chunked": _CHUNKED + b"\r\n5\r\nhello\r\n",
    "held": b"",
    "held-head": _HEAD + b"X-A",
    "held-sized": _HEAD + b"Content-Length: 100\r\n\r\nhello",
    "held-chunked": _CHUNKED + b"\r\n5\r\nhello\r\n",
    "held-chunk": _CHUNKED + b"\r\n5\r\nhello\r\n8\r\nxx",
    "held-endless": _HEAD + b"\r\nhello",
    "held-404": b"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nhello",
}
"""What a server sends; it resets those connections, or holds them, that are named so."""


class Failing(Answering):
    """The servers, for as long as their context lasts."""

    def __init__(self, place: Path) -> None:
        """Write the certificate, which nobody trusts, in the folder *place*."""
        super().__init__(ANSWERS, held=[one for one in ANSWERS if "held" in one])
        self._place, self.sent = place, place / "sent"
        self._further: list[socket.socket] = []

    def __enter__(self) -> Self:
        super().__enter__()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(self._place))
        self.tls = self._also(
            lambda one: context.wrap_socket(one, server_side=True).close()
        )
        self.plain = self._also(lambda one: one.sendall(b"HTTP/1.1 400 No\r\n\r\n"))
        return self

    def _also(self, meet: Callable[[socket.socket], None]) -> str:
        """Let *meet* whoever connects to a further socket; return its address."""
        server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._further.append(server)

        def serve() -> None:
            while True:
                try:
                    stream, _ = server.accept()
                except OSError:  # it was left
                    return
                with stream, suppress(OSError):
                    meet(stream)
                    stream.shutdown(socket.SHUT_WR)
                    while stream.recv(65536):  # or what it got would be reset
                        pass

        threading.Thread(target=serve, daemon=True).start()
        return f"https://127.0.0.1:{server.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        for one in self._further:
            one.close()
        super().__exit__()

    def _over(self, stream: socket.socket, path: str) -> None:
        name = path.rpartition("/")[2]
        if name.startswith("reset"):
            stream.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            stream.close()
            return
        if name.startswith("held"):
            self.sent.touch()
        super()._over(stream, path)


def _certificate(place: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "other.example")])
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=2)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .sign(key, hashes.SHA256())
    )
    file = place / "certificate.pem"
    own = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(own + made.public_bytes(serialization.Encoding.PEM))
    return file
