"""What is wrong with an answer, and whether it may be better later.

    429, Retry-After: 7                        passing, after 7 seconds
    {"error": {"type": "overloaded_error"}}    passing, in a stream too
    401                                        a refusal

Rules:

- Failed connections, timeouts, answers that were cut off, and the statuses 408, 409,
  425, 429 and from 500 on are passing; so are errors that a server calls its own.
- Servers also report errors within a stream, or in an answer that says it failed.
- A stream that stops before its last event was cut off, however politely. One with an
  event that is no JSON lacks a part of its text.
- ``Retry-After`` is a number of seconds or a date (RFC 9110, 10.2.3).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, cast

from muniment_plugins.providers.clients.exchange import Outcome, Received
from muniment_plugins.providers.secrets.redaction import Redaction
from muniment_plugins.providers.wire_formats.sse import objects, unread
from muniment_plugins.providers.wire_formats.wire_format import Json

__all__ = ["Flaw", "flaw_of", "is_streamed", "retry_after"]

FIRST_ERROR, FIRST_FAULT = 400, 500
_AGAIN = frozenset({408, 409, 425, 429})

_PASSING = frozenset(
    {
        "api_error",
        "overloaded_error",
        "rate_limit_error",
        "rate_limit_exceeded",
        "server_error",
        "timeout_error",
    }
)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why an answer cannot be used."""

    message: str
    passing: bool
    """Whether another attempt may succeed."""
    after: float | None = None
    """The seconds to wait before that, as the server says."""


def is_streamed(received: Received) -> bool:
    """Tell whether an answer is a stream of events."""
    return received.header("content-type").startswith("text/event-stream")


def flaw_of(
    outcome: Outcome, redaction: Redaction, ends: Callable[[Json], bool]
) -> Flaw | None:
    """Return what is wrong with *outcome*; *ends* recognises a stream's last event."""
    if not isinstance(outcome, Received):
        message = redaction.text(f"{outcome.name}: {outcome.message}")
        return Flaw(message, passing=True)
    if outcome.fault is not None:
        message = redaction.text(f"{outcome.fault.name}: {outcome.fault.message}")
        return Flaw(f"cut off by {message}", passing=True)
    body = b"".join(redaction.chunks(outcome.chunks)).decode("utf-8", "replace")
    if outcome.status >= FIRST_ERROR:
        passing = outcome.status in _AGAIN or outcome.status >= FIRST_FAULT
        message = f"status {outcome.status}: {body[:500]}"
        return Flaw(message, passing, _after(outcome) if passing else None)
    if is_streamed(outcome):
        return _in_stream(body, ends)
    return _error(_whole(body))


def _after(received: Received) -> float | None:
    precise = retry_after(received.header("retry-after-ms"))  # what OpenAI says beside
    if precise is not None:
        return precise / 1000
    return retry_after(received.header("retry-after"))


def retry_after(value: str, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a ``Retry-After`` header names, None if it names none."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now())
    except (TypeError, ValueError, OverflowError):
        return None


def _in_stream(body: str, ends: Callable[[Json], bool]) -> Flaw | None:
    ended = False
    torn = next(unread(body), None)
    if torn is not None:
        return Flaw(f"an event of the stream is no JSON: {torn[:200]!r}", passing=True)
    for event in objects(body):
        flaw = _error(event)
        if flaw is not None:
            return flaw
        ended = ended or ends(event)
    return None if ended else Flaw("the stream stopped before its end", passing=True)


def _whole(body: str) -> Mapping[str, Any]:
    try:
        whole: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}  # whoever reads it will say so
    return cast("Mapping[str, Any]", whole) if isinstance(whole, dict) else {}


def _error(event: Mapping[str, Any]) -> Flaw | None:
    inner = event.get("response")
    around = cast("Mapping[str, Any]", inner) if isinstance(inner, dict) else event
    told: object = around.get("error")
    if told is None and event.get("type") == "error":
        told = event
    if told is None:
        return None
    if not isinstance(told, dict):
        return Flaw(str(told), passing=False)
    error = cast("Mapping[str, Any]", told)
    names = {error.get("type"), error.get("code")}
    return Flaw(
        f"{error.get('code') or error.get('type')}: {error.get('message')}",
        passing=not _PASSING.isdisjoint(names),
    )
