"""A request that a program sent, and how it is recorded.

    {"method": "POST", "url": "…", "headers": {"content-type": "application/json"},
     "body": {"json": {"model": "…", "messages": […]}}}

Rules:

- A replay matches a request by what is recorded of it: headers that differ between equal
  requests, or hold credentials, are left out.
- A body is recorded as it was sent: as ``text`` if it is UTF-8, otherwise as ``bytes``.
  JSON that parsing does not change is recorded as ``json``.
- A compressed body is recorded as it was sent, or if it has a secret, unpacked and
  without the secret (``decoded``).
- The random boundary between the parts of an upload is not recorded (`boundaries`).
- ``Host`` is recorded if it is not the URL's own host.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from muniment.encoding.codec import encode
from muniment.errors import ValueRefused
from muniment_plugins.providers.clients import json_bodies
from muniment_plugins.providers.clients.boundaries import (
    renamed,
    without_boundary,
)
from muniment_plugins.providers.clients.received import readable
from muniment_plugins.providers.clients.volatile import Volatile
from muniment_plugins.providers.recorder.inside import unpacked
from muniment_plugins.providers.secrets.redaction import Redaction

__all__ = [
    "VOLATILE_HEADERS",
    "BodyTold",
    "Sent",
    "kept_body",
    "kept_headers",
    "plain_body",
    "searched",
]

VOLATILE_HEADERS = frozenset(
    {
        "accept-encoding",
        "amz-sdk-invocation-id",
        "amz-sdk-request",
        "baggage",
        "connection",
        "content-length",
        "date",
        "host",
        "idempotency-key",
        "traceparent",
        "tracestate",
        "transfer-encoding",
        "user-agent",
        "x-amz-date",
        "x-client-request-id",
        "x-correlation-id",
        "x-goog-api-client",
        "x-request-id",
    }
)
"""Headers that differ between requests that ask for the same."""

_VOLATILE_PREFIXES = ("x-stainless-", "sec-")
_FORM = "application/x-www-form-urlencoded"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it goes over the wire."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return the value of the header *name*, "" if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True, slots=True)
class BodyTold:
    """The body of a request without secrets; *decoded* if it was unpacked for that."""

    body: bytes
    decoded: bool = False


def kept_headers(
    sent: Sent,
    redaction: Redaction,
    volatile: Volatile,
    boundary: str = "",
    *,
    exact: bool = True,
) -> dict[str, object]:
    """Return the headers that matter to what the request asks.

    The *boundary* is not among them, and unless they are *exact*, nor is any ``Host``.
    """
    out = VOLATILE_HEADERS | volatile.headers
    if exact and "host" not in volatile.headers and _is_another_host(sent):
        out -= {"host"}
    kept: dict[str, list[str]] = {}
    hidden = redaction.headers(sent.headers)
    for (name, value), (_, raw) in zip(hidden, sent.headers, strict=True):
        if name in out or name.startswith(_VOLATILE_PREFIXES):
            continue
        told = redaction.sent_again(raw)
        if not redaction.is_secret_header(name, raw):
            told = (renamed(value, boundary) if name == "content-type" else value,)
        if told:
            kept.setdefault(name, []).extend(told)
    return {name: ", ".join(values) for name, values in kept.items()}


def plain_body(sent: Sent) -> bytes:
    """Return the body of *sent*, unpacked as far as it can be."""
    unpacking = unpacked.unpacking(sent.headers) if sent.body else None
    return sent.body if unpacking is None else unpacking.add(sent.body)


def searched(
    sent: Sent, redaction: Redaction, volatile: Volatile, *, exact: bool = True
) -> tuple[BodyTold, str]:
    """Return a request's body without secrets, and why not all of it was searched.

    Without what is *volatile*, too, wherever it is told of an *exact* body.
    """
    unpacking = unpacked.unpacking(sent.headers) if sent.body else None
    said = sent.body if unpacking is None else unpacking.add(sent.body)
    (told,) = redaction.chunks((said,))
    if exact:
        told = _without_volatile(sent.header("content-type"), told, volatile)
    why = "" if unpacking is None else unpacking.unsearched
    if said == sent.body:
        return BodyTold(told), why
    return (BodyTold(sent.body) if told == said else BodyTold(told, decoded=True)), why


def _without_volatile(kind: str, body: bytes, volatile: Volatile) -> bytes:
    media = kind.partition(";")[0].strip().lower()
    if media.endswith("json"):
        return json_bodies.without(body, volatile.members)
    if media == _FORM:
        form = volatile.form(body.decode("utf-8", "surrogateescape"))
        return form.encode("utf-8", "surrogateescape")
    return body


def kept_body(
    sent: Sent,
    told: BodyTold,
    volatile: Volatile,
    boundary: str = "",
    *,
    exact: bool = True,
) -> tuple[object, object]:
    """Return a request's body as it is recorded, and as JSON if it is JSON.

    If it need not be *exact*, it is parsed if possible, as it once always was.
    """
    if not sent.body:
        return None, None
    kind = sent.header("content-type")
    body = without_boundary(told.body, boundary)
    decoded = {"decoded": True} if told.decoded else {}
    read: object = None
    if kind.partition(";")[0].endswith("json"):
        try:
            read = json_bodies.exactly(body) if exact else _parsed(body, volatile)
        except ValueError:
            read = _loosely(body) if exact else None
        else:
            return {"json": read, **decoded}, None if decoded else read
    text = readable(body)
    if not exact and isinstance(text, str) and kind.startswith(_FORM):
        text = volatile.form(text)
    sort = "text" if isinstance(text, str) else "bytes"
    return {sort: text, **decoded}, None if decoded else read


def _is_another_host(sent: Sent) -> bool:
    """Tell whether a request asks another host than its URL names."""
    said = [value for name, value in sent.headers if name.lower() == "host"]
    if not said:
        return False
    url = urlsplit(sent.url)
    named = url.netloc.rpartition("@")[2]
    return len(said) > 1 or _host(url.scheme, said[0]) != _host(url.scheme, named)


def _host(scheme: str, authority: str) -> str:
    """Return *authority* as it is compared: without the port that goes without saying."""
    usual = f":{_PORTS.get(scheme.lower(), '')}"
    name = authority.strip().lower().removesuffix(usual)
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name


def _loosely(body: bytes) -> object:
    try:
        return json_bodies.loosely(body)
    except ValueError:
        return None


def _parsed(body: bytes, volatile: Volatile) -> object:
    try:
        read = volatile.json(json.loads(body))
        encode(read)
    except (RecursionError, ValueRefused) as error:
        raise ValueError(str(error)) from None
    return read
