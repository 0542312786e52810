r"""From the wire to an effect and back, whichever library sends.

    sent = Sent("POST", "https://api.example/v1/messages", headers, body)
    one = Exchange.of(sent)
    value = one.settle(received)            # what is recorded, or an error
    one.answer(value).chunks                # what the program gets

    llm.requested  {"provider": "anthropic", "model": "…", "method": "POST",
                    "url": "…", "headers": {…}, "body": {"json": {…}}}
    llm.completed  {"status": 200, "headers": [["content-type", "…"], …],
                    "chunks": ["event: message_start\n…", …], "usage": {…}}

Rules:

- A call to a model is an effect of kind ``llm`` (`model_calls`), any other of kind
  ``http``. A replay matches a request by what is recorded of it: headers that differ
  between equal requests, or hold credentials, are left out.
- An answer is recorded whole, in the chunks in which it arrived (`received`), with how it
  ended: by itself, by a fault, or because the program read no further. Statuses from 400
  on, answers that were cut off and connections that failed are failures of the effect;
  a resume performs it again if the run ended by them.
- What stops a program in a call, such as Ctrl-C, is recorded as ``stopped``: class, text and
  what it was made of (`inside.stops`), beside the part of the answer that the program had.
- Nothing is written before `Redaction` has seen it. A live program gets the answer as it
  arrived, byte for byte; a replay gives what was recorded.
- A compressed request is recorded as it was sent, or if it has a secret, unpacked and
  without the secret (``decoded``). `Exchange.unsearched` says what was not searched.
- Secrets in a request are left out, or hidden in their place: any others match. Secrets
  in an answer get names, listed as ``secrets``. A replay gives the names; if the program
  sends such a secret again, its name is recorded, in credential headers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast
from urllib.parse import urlsplit

from muniment.encoding.codec import decode
from muniment.errors import EffectFailed
from muniment_plugins.providers.clients import json_bodies
from muniment_plugins.providers.clients.boundaries import boundary_of
from muniment_plugins.providers.clients.received import (
    ErrorOrigin,
    Fault,
    Outcome,
    Received,
    StopMadeOf,
    readable,
    received,
    reframed,
    unframed,
)
from muniment_plugins.providers.clients.sent import (
    VOLATILE_HEADERS,
    Sent,
    kept_body,
    kept_headers,
    plain_body,
    searched,
)
from muniment_plugins.providers.clients.volatile import Volatile
from muniment_plugins.providers.prices import cost
from muniment_plugins.providers.secrets.issued import Answered, Issued
from muniment_plugins.providers.secrets.names import NAMES, SecretNames
from muniment_plugins.providers.secrets.redaction import MASK, Redaction
from muniment_plugins.providers.wire_formats.dialects import Dialect, about, recognise
from muniment_plugins.providers.wire_formats.model_calls import model_call

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
    "StopMadeOf",
    "WireError",
    "readable",
    "received",
    "unframed",
]

_INTERRUPTIONS = frozenset({"KeyboardInterrupt", "SystemExit"})
"""What may stop a waiting program in older records, which have only its class."""
FIRST_ERROR = 400


class WireError(Exception):
    """The error of a failed effect; a replay makes the answer from its *data*."""

    redacted = True  # as the client's own names have it

    def __init__(self, message: str, data: Mapping[str, object]) -> None:
        super().__init__(message)
        self.data = dict(data)


class AnswerRefused(WireError):
    """The server answered with an error status."""


class AnswerCutOff(WireError):
    """The answer began and did not end."""


class ConnectionFailed(WireError):
    """There was no answer: no connection, or a timeout."""


@dataclass(slots=True)
class Exchange:
    """One request, as an effect to ask for."""

    kind: str
    request: dict[str, object]
    redaction: Redaction
    dialect: Dialect | None
    live: Outcome | None = field(default=None)
    """What came over the wire in this process."""
    answered: Answered | None = field(default=None)
    """Names the secrets in the answer."""
    unsearched: dict[str, str] = field(default_factory=dict[str, str])
    """Why not all of the ``request``, or of the ``answer``, was searched for secrets."""

    def taken_as(self, scope: str, ordinal: int) -> None:
        """Name the secrets of the answer by the place of the effect."""
        self.answered = self.redaction.issued.answer(scope, ordinal)

    @classmethod
    def of(  # noqa: PLR0913 - two of them for what earlier records hold
        cls,
        sent: Sent,
        volatile: Iterable[str] = (),
        secrets: Iterable[str] = (),
        names: SecretNames = NAMES,
        issued: Issued | None = None,
        *,
        exact: bool = True,
        earlier: bool = False,
    ) -> Exchange:
        """Return the effect for *sent*, without *volatile* parts and *secrets*.

        Bodies are not *exact* in runs that began before the recorder kept them so. With
        *earlier*, only what was always a model call is one.
        """
        left_out = Volatile.of(volatile)
        redaction = Redaction.of(sent.url, sent.headers, secrets, names, issued)
        told, why = searched(sent, redaction, left_out, exact=exact)
        said = told.body if told.decoded else sent.body
        boundary = boundary_of(sent.header("content-type"), said, exact=exact)
        body, read = kept_body(sent, told, left_out, boundary, exact=exact)
        if earlier:
            dialect = recognise(sent.method, urlsplit(sent.url).path, read)
        else:
            dialect = _dialect(sent, read, redaction)
        request: dict[str, object] = {
            "method": sent.method,
            "url": left_out.url(redaction.url(sent.url)),
            "headers": kept_headers(sent, redaction, left_out, boundary, exact=exact),
            "body": body,
        }
        unsearched = {"request": why} if why else {}
        if dialect is None:
            return cls("http", request, redaction, None, unsearched=unsearched)
        request = {"provider": dialect.provider, "model": dialect.model, **request}
        return cls("llm", request, redaction, dialect, unsearched=unsearched)

    def settle(self, outcome: Outcome) -> dict[str, object]:
        """Return what is recorded of *outcome*.

        Raises:
            AnswerRefused: its status is an error.
            AnswerCutOff: only a part of it arrived.
            ConnectionFailed: there is no answer.

        """
        if isinstance(outcome, Received) and outcome.protocol is None:
            outcome = replace(outcome, headers=unframed(outcome))
        self.live = outcome  # from here on, only what may be written
        if isinstance(outcome, Fault):
            told = self._told(outcome)
            raise ConnectionFailed(
                f"{outcome.name}: {told['message']}", {"fault": told}
            )
        cut = outcome.is_packed and bool(outcome.unsearched)
        is_open = cut or outcome.closed or outcome.fault is not None
        recorded, chunks = self.recorded(outcome, is_open=is_open)
        value: dict[str, object] = {
            **recorded,
            **self.secrets,
            **({"closed": True} if outcome.closed else {}),
        }
        if outcome.fault is not None:
            value["fault"] = told = self._told(outcome.fault)
            raise AnswerCutOff(f"{told['name']}: {told['message']}", value)
        if outcome.status >= FIRST_ERROR:
            raise AnswerRefused(f"status {outcome.status}", value)
        body = b"".join(chunks).decode("utf-8", "replace")
        return {**value, **self._about(outcome.header("content-type"), body)}

    def _told(self, fault: Fault) -> dict[str, object]:
        origins = [
            {
                name: self.redaction.text(told) if isinstance(told, str) else told
                for name, told in asdict(one).items()
                if told is not None
            }
            for one in fault.origins
        ]
        told = {"name": fault.name, "message": self.redaction.text(fault.message)}
        behind = {"origins": origins} if origins else {}
        return {**told, **behind, **self._made_of(fault.stop)}

    def _made_of(self, stop: StopMadeOf | None) -> dict[str, object]:
        if stop is None:
            return {}
        known: dict[str, object] = {"args": [*stop.args], "place": stop.place}
        known |= {"attributes": dict(stop.attributes)} if stop.attributes else {}
        return cast("dict[str, object]", self.redaction.value(known))

    def stopped(self, stop: Fault) -> dict[str, object]:
        """Return what is recorded of what stopped the program in the call."""
        return {"stopped": self._told(stop)}

    def recorded(
        self, outcome: Received, *, is_open: bool
    ) -> tuple[dict[str, object], tuple[bytes, ...]]:
        """Return what is recorded of head and body, and the body's decoded chunks.

        If it *is_open*, it may end in the beginning of a secret.
        """
        head = self.head(outcome)
        said = outcome.said
        chunks = self.redaction.chunks(said, self.answered, is_open=is_open)
        body: dict[str, object] = {"chunks": [readable(chunk) for chunk in chunks]}
        if outcome.unsearched:
            body["unsearched"] = self.unsearched["answer"] = outcome.unsearched
        if chunks != said:
            head = self.head(outcome, sum(map(len, chunks)))
            body |= {"decoded": True} if outcome.is_packed else {}
        elif outcome.is_packed and outcome.unsearched:
            body["chunks"] = [readable(chunk) for chunk in outcome.chunks]
        elif outcome.is_packed:
            body["encoded"] = [*outcome.chunks]
        return {**head, **body}, chunks

    def head(self, outcome: Received, size: int | None = None) -> dict[str, object]:
        """Return what is recorded of the answer's head.

        With a *size*, the body is recorded decoded, and has that many bytes.
        """
        kept = [
            one
            for one in outcome.headers
            if self.dialect is None or one[0].lower() != "set-cookie"
        ]
        hidden = self.redaction.headers(kept, self.answered)
        headers = [list(one) for one in hidden]
        if outcome.protocol is None:
            return {"status": outcome.status, "headers": headers}
        pairs = zip(kept, hidden, strict=True)
        headers = [[name, value] for (name, _), (_, value) in pairs]
        if size is not None:
            headers = reframed(headers, outcome, size)
        told = {"status": outcome.status, "protocol": outcome.protocol}
        if outcome.reason is not None:
            told["reason"] = self.redaction.text(outcome.reason)
        return {**told, "headers": headers}

    @property
    def secrets(self) -> dict[str, object]:
        """What was written in place of the answer's secrets, if it has any."""
        told = [] if self.answered is None else [*self.answered.told]
        return {"secrets": told} if told else {}

    def _recall(self, value: Mapping[str, object]) -> None:
        names = cast("list[str]", value.get("secrets", []))
        self.redaction.issued.recall(one for one in names if one != MASK)

    def _about(self, content_type: str, body: str) -> dict[str, object]:
        if self.dialect is None:
            return {}
        told = about(content_type, body)
        usage = cast("dict[str, int]", told.get("usage", {}))
        # An answer that names no model costs what the one that was asked does.
        model = str(told.get("model", self.dialect.model))
        price = cost(self.dialect.provider, model, usage)
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
        """Return what the wire gave when the effect failed.

        Raises:
            EffectFailed: something else made it fail, such as a plugin's refusal.

        """
        data = decode(failure.data)
        known = (AnswerRefused, AnswerCutOff, ConnectionFailed)
        if isinstance(data, dict) and "stopped" in data:
            whole = cast("dict[str, object]", data)
            stop = _fault(whole, failure, "stopped")
            if "status" not in whole:
                return stop
            self._recall(whole)
            return replace(received(whole), fault=stop)
        if failure.error_type in _INTERRUPTIONS:
            stop = Fault(failure.error_type, "", failure)
            told = cast("Mapping[str, object]", data)
            return replace(received(told), fault=stop) if data else stop
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


def _dialect(sent: Sent, read: object, redaction: Redaction) -> Dialect | None:
    """Return the dialect of a model call, whatever *sent* says of its body's type."""
    is_opaque = False
    if read is None and sent.body:
        try:
            read = json_bodies.loosely(plain_body(sent))
        except ValueError:
            is_opaque = True
    found = model_call(sent.method, sent.url, read, is_opaque=is_opaque)
    if found is None:
        return None
    return Dialect(found.provider, redaction.text(found.model))


def _fault(
    data: Mapping[str, object], failure: EffectFailed, name: str = "fault"
) -> Fault:
    told = cast("Mapping[str, Any]", data[name])
    origins = tuple(ErrorOrigin(**one) for one in told.get("origins", ()))
    stop = None
    if name == "stopped":
        attributes = told.get("attributes", {})
        stop = StopMadeOf(tuple(told["args"]), attributes, told["place"])
    return Fault(told["name"], told["message"], failure, origins, stop)
