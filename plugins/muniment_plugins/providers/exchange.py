r"""From the wire to an effect and back, whatever library does the sending.

    sent = Sent("POST", "https://api.example/v1/messages", headers, body)
    one = Exchange.of(sent)
    value = one.settle(received)            # what is recorded, or an error
    one.answer(value).chunks                # what the program gets

    llm.requested  {"provider": "anthropic", "model": "…", "method": "POST",
                    "url": "…", "headers": {…}, "body": {"json": {…}}}
    llm.completed  {"status": 200, "headers": [["content-type", "…"], …],
                    "chunks": ["event: message_start\n…", …], "usage": {…}}

Rules:

- A call of a known model endpoint is an effect of kind ``llm``, any other of kind
  ``http``. What a request is matched by in a replay is what is recorded of it: headers
  that differ between equal requests, or hold credentials, are left out.
- An answer is recorded whole, in the chunks that it came in, decoded, and with how it
  ended: by itself, by a fault, or since the program read no further. Statuses from 400
  on, answers that were cut off and connections that failed are failures of the effect,
  which a resume performs again where the run ended by them.
- Nothing is written before `Redaction` has seen it. A live program gets the answer that
  came, byte for byte; a replay gives what was recorded.
- Secrets that a request brings are left out, or hidden in their place: any others match.
  Those that an answer brings have names, listed as ``secrets``: a replay gives the names,
  and what is sent again is recorded by them, in credential headers too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast
from urllib.parse import urlsplit

from muniment.errors import EffectFailed, ValueRefused
from muniment.values import decode, encode
from muniment_plugins.providers.dialects import Dialect, about, recognise
from muniment_plugins.providers.issued import Answered, Issued
from muniment_plugins.providers.prices import cost
from muniment_plugins.providers.redaction import MASK, Redaction
from muniment_plugins.providers.secret_names import NAMES, Names
from muniment_plugins.providers.volatile import Volatile

__all__ = [
    "FIRST_ERROR",
    "VOLATILE_HEADERS",
    "AnswerCutOff",
    "AnswerRefused",
    "ConnectionFailed",
    "Exchange",
    "Fault",
    "Outcome",
    "Received",
    "Sent",
    "WireError",
    "readable",
    "received",
    "unframed",
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
"""Headers of requests that differ between requests that ask for the same."""

_INTERRUPTIONS = frozenset({"KeyboardInterrupt", "SystemExit"})
"""What may stop a program that waits, besides its being cancelled."""
_VOLATILE_PREFIXES = ("x-stainless-", "sec-")
_FORM = "application/x-www-form-urlencoded"
_FRAMING = frozenset({"connection", "content-encoding", "transfer-encoding"})
"""Headers of answers that speak of bytes as they were before they were decoded."""

_BOUNDARY = re.compile(r"(boundary=)\"?([^\";]+)\"?")
FIRST_ERROR = 400


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it goes over the wire."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return the value of the header *name*, "" where there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True, slots=True)
class Fault:
    """What a library raised instead of giving an answer, or in the middle of one."""

    name: str
    """The class of its error, for whoever has to raise it again."""
    message: str
    failure: EffectFailed | None = None
    """The effect that failed by it; errors that are raised for it name it as cause."""


@dataclass(frozen=True, slots=True)
class Received:
    """An answer as it came: decoded chunks, and the fault that cut it off, if any."""

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: tuple[bytes, ...]
    fault: Fault | None = None
    failure: EffectFailed | None = None
    closed: bool = False
    """Whether the program read no further than these chunks."""
    waits: bool = False
    """Whether the program waited for more until it was cancelled."""

    def header(self, name: str) -> str:
        """Return the value of the header *name*, "" where there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


Outcome: TypeAlias = Received | Fault


class WireError(Exception):
    """What an effect fails by; *data* is what a replay makes the answer from."""

    def __init__(self, message: str, data: Mapping[str, object]) -> None:
        super().__init__(message)
        self.data = dict(data)


class AnswerRefused(WireError):
    """The server answered with a status that says no."""


class AnswerCutOff(WireError):
    """The answer began and did not end."""


class ConnectionFailed(WireError):
    """There was no answer: no connection, or no patience."""


@dataclass(slots=True)
class Exchange:
    """One request, as an effect that is to be asked for."""

    kind: str
    request: dict[str, object]
    redaction: Redaction
    dialect: Dialect | None
    live: Outcome | None = field(default=None)
    """What came over the wire in this process."""
    answered: Answered | None = field(default=None)
    """Names the secrets that the answer brings."""

    def taken_as(self, scope: str, ordinal: int) -> None:
        """Name the secrets of the answer by the place of the effect."""
        self.answered = self.redaction.issued.answer(scope, ordinal)

    @classmethod
    def of(
        cls,
        sent: Sent,
        volatile: Iterable[str] = (),
        secrets: Iterable[str] = (),
        names: Names = NAMES,
        issued: Issued | None = None,
    ) -> Exchange:
        """Return the effect for *sent*, without what is *volatile*, and *secrets*."""
        left_out = Volatile.of(volatile)
        redaction = Redaction.of(sent.url, sent.headers, secrets, names, issued)
        body, read = _body(sent, redaction, left_out)
        dialect = recognise(sent.method, urlsplit(sent.url).path, read)
        request: dict[str, object] = {
            "method": sent.method,
            "url": left_out.url(redaction.url(sent.url)),
            "headers": _kept(sent, redaction, left_out),
            "body": body,
        }
        if dialect is None:
            return cls("http", request, redaction, None)
        model = {"provider": dialect.provider, "model": dialect.model}
        return cls("llm", {**model, **request}, redaction, dialect)

    def settle(self, outcome: Outcome) -> dict[str, object]:
        """Return what is recorded of *outcome*.

        Raises:
            AnswerRefused: its status says no.
            AnswerCutOff: it came in part.
            ConnectionFailed: there is none.

        """
        if isinstance(outcome, Received):
            outcome = replace(outcome, headers=unframed(outcome))
        self.live = outcome  # and from here on nothing but what may be written
        if isinstance(outcome, Fault):
            message = self.redaction.text(outcome.message)
            raise ConnectionFailed(
                f"{outcome.name}: {message}",
                {"fault": {"name": outcome.name, "message": message}},
            )
        head = self.head(outcome)
        is_open = outcome.closed or outcome.fault is not None
        chunks = self.redaction.chunks(outcome.chunks, self.answered, is_open=is_open)
        value: dict[str, object] = {
            **head,
            "chunks": [readable(chunk) for chunk in chunks],
            **self.secrets,
            **({"closed": True} if outcome.closed else {}),
        }
        if outcome.fault is not None:
            message = self.redaction.text(outcome.fault.message)
            name = outcome.fault.name
            value["fault"] = {"name": name, "message": message}
            raise AnswerCutOff(f"{name}: {message}", value)
        if outcome.status >= FIRST_ERROR:
            raise AnswerRefused(f"status {outcome.status}", value)
        body = b"".join(chunks).decode("utf-8", "replace")
        return {**value, **self._about(outcome.header("content-type"), body)}

    def head(self, outcome: Received) -> dict[str, object]:
        """Return what is recorded of what came before the body."""
        kept = [
            one
            for one in outcome.headers
            if self.dialect is None or one[0].lower() != "set-cookie"
        ]
        headers = self.redaction.headers(kept, self.answered)
        return {"status": outcome.status, "headers": [list(one) for one in headers]}

    @property
    def secrets(self) -> dict[str, object]:
        """What was written in the place of the answer's secrets, if it has any."""
        told = [] if self.answered is None else [*self.answered.told]
        return {"secrets": told} if told else {}

    def _recall(self, value: Mapping[str, object]) -> None:
        names = cast("list[str]", value.get("secrets", []))
        self.redaction.issued.recall(one for one in names if one != MASK)

    def _about(self, content_type: str, body: str) -> dict[str, object]:
        if self.dialect is None:
            return {}
        told = about(content_type, body)
        told.setdefault("model", self.dialect.model)
        usage = cast("dict[str, int]", told.get("usage", {}))
        price = cost(self.dialect.provider, str(told["model"]), usage)
        return told if price is None else {**told, "cost": price}

    def answer(self, value: object) -> Received:
        """Return the answer that the effect gave."""
        live = self.live
        if isinstance(live, Received):
            return live
        known = cast("Mapping[str, object]", value)
        self._recall(known)
        return received(known)

    def fault(self, failure: EffectFailed) -> Outcome:
        """Return what the wire gave where the effect failed.

        Raises:
            EffectFailed: it failed by something else, such as a plugin's refusal.

        """
        data = decode(failure.data)
        known = (AnswerRefused, AnswerCutOff, ConnectionFailed)
        if failure.error_type in _INTERRUPTIONS:
            return Fault(failure.error_type, "", failure)
        if not isinstance(data, dict) or failure.error_type not in {
            one.__name__ for one in known
        }:
            raise failure
        data = cast("dict[str, object]", data)
        if "status" not in data:
            return _fault(data, failure)
        live = self.live
        if live is None:
            self._recall(data)
        found = live if isinstance(live, Received) else received(data)
        cut = _fault(data, failure) if "fault" in data else None
        return replace(found, failure=failure, fault=cut)


def _kept(sent: Sent, redaction: Redaction, volatile: Volatile) -> dict[str, object]:
    """Return the headers that say what is asked for."""
    out = VOLATILE_HEADERS | volatile.headers
    kept: dict[str, list[str]] = {}
    hidden = redaction.headers(sent.headers)
    for (name, value), (_, raw) in zip(hidden, sent.headers, strict=True):
        if name in out or name.startswith(_VOLATILE_PREFIXES):
            continue
        told = redaction.sent_again(raw)
        if not redaction.is_secret_header(name):
            told = (
                _BOUNDARY.sub(r"\1muniment", value)
                if name == "content-type"
                else value,
            )
        if told:
            kept.setdefault(name, []).extend(told)
    return {name: ", ".join(values) for name, values in kept.items()}


def _body(
    sent: Sent, redaction: Redaction, volatile: Volatile
) -> tuple[object, object]:
    """Return a request's body as it is recorded, and as JSON where it is JSON."""
    if not sent.body:
        return None, None
    (body,) = redaction.chunks((sent.body,))
    boundary = _BOUNDARY.search(sent.header("content-type"))
    if boundary is not None:  # a random one, which would differ in every replay
        body = body.replace(boundary[2].encode("latin-1"), b"muniment")
    if sent.header("content-type").partition(";")[0].endswith("json"):
        try:
            read: object = volatile.json(json.loads(body))
            encode(read)
        except (ValueError, RecursionError, ValueRefused):
            pass  # it is recorded as it stands
        else:
            return {"json": read}, read
    text = readable(body)
    if isinstance(text, str) and sent.header("content-type").startswith(_FORM):
        text = volatile.form(text)
    return ({"text": text} if isinstance(text, str) else {"bytes": text}), None


def readable(data: bytes) -> str | bytes:
    """Return *data* as text where it is UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def unframed(received: Received) -> tuple[tuple[str, str], ...]:
    """Return the headers that hold for the decoded body."""
    out = set(_FRAMING)
    length, body = received.header("content-length"), sum(map(len, received.chunks))
    if received.header("content-encoding") or body not in (0, _number(length)):
        out.add("content-length")
    return tuple(one for one in received.headers if one[0].lower() not in out)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def received(value: Mapping[str, object]) -> Received:
    """Return the answer that *value* was recorded of."""
    headers = cast("list[list[str]]", value["headers"])
    return Received(
        cast("int", value["status"]),
        tuple((name, told) for name, told in headers),
        tuple(map(_bytes, cast("list[object]", value["chunks"]))),
        closed=value.get("closed") is True,
    )


def _bytes(chunk: object) -> bytes:
    return chunk.encode() if isinstance(chunk, str) else cast("bytes", chunk)


def _fault(data: Mapping[str, object], failure: EffectFailed) -> Fault:
    told = cast("Mapping[str, str]", data["fault"])
    return Fault(told["name"], told["message"], failure)
