"""How often to ask again, and how long to wait, without asking or waiting itself.

    for attempt in plan:    Send → Received or Fault → Wait(seconds) → Send → …

Rules:

- Another attempt follows statuses 408, 409, 425, 429 and from 500 on, connections that
  failed, timeouts, and answers that were cut off; nothing else.
- The wait doubles from half a second to at most 30, less a random part of up to a half.
  ``Retry-After`` counts instead, in seconds or as a date (RFC 9110, 10.2.3); a server
  that wants more than two minutes is not waited for.
- Every attempt is told to *note*, which records it, before anything follows.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeAlias

from muniment_plugins.providers.exchange import Outcome, Received
from muniment_plugins.providers.redaction import Redaction
from muniment_plugins.providers.refusals import CompletionFailed

__all__ = ["Send", "Wait", "attempts", "backoff", "retry_after"]

FIRST_WAIT, LONGEST_WAIT, PATIENCE = 0.5, 30.0, 120.0
FIRST_ERROR, FIRST_FAULT = 400, 500
_AGAIN = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request, and give back what came."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for so many seconds."""

    seconds: float


Step: TypeAlias = Send | Wait
Note: TypeAlias = Callable[[Mapping[str, object]], None]


def backoff(attempt: int, draw: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait after *attempt*, counted from one."""
    longest: float = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
    return longest * (1 - draw() / 2)


def retry_after(value: str, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a ``Retry-After`` header names, None where none does."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now())
    except (TypeError, ValueError, OverflowError):
        return None


def attempts(
    limit: int, place: str, redaction: Redaction, note: Note
) -> Generator[Step, Outcome | None, Received]:
    """Yield what to do next; return the answer.

    Args:
        limit: how many attempts there are, at least one.
        place: what errors say where they are.
        redaction: what takes secrets out of what servers say.
        note: records an attempt; durable when it returns.

    Raises:
        CompletionFailed: the server says no, or every attempt failed.

    """
    attempt = 0
    while True:
        attempt += 1
        outcome = yield Send()
        if outcome is None:
            raise AssertionError("what was sent has an outcome")
        told = _told(outcome, redaction)
        if told is None and isinstance(outcome, Received):
            note({"attempt": attempt, "status": outcome.status, **_request_id(outcome)})
            return outcome
        wait = _wait(outcome, attempt) if attempt < max(1, limit) else None
        status = outcome.status if isinstance(outcome, Received) else None
        message = told or ""
        note(
            {
                "attempt": attempt,
                "status": status,
                "message": message,
                "wait_s": wait,
                **_request_id(outcome),
            }
        )
        if wait is None:
            raise CompletionFailed(
                f"{message} (attempt {attempt} of {max(1, limit)})",
                place=place,
                remedy=_remedy(status),
                status=status,
                attempts=attempt,
            )
        yield Wait(wait)


def _told(outcome: Outcome, redaction: Redaction) -> str | None:
    """Return what went wrong, None if nothing did."""
    if not isinstance(outcome, Received):
        return redaction.text(f"{outcome.name}: {outcome.message}")
    if outcome.fault is not None:
        fault = outcome.fault
        return redaction.text(f"cut off by {fault.name}: {fault.message}")
    if outcome.status < FIRST_ERROR:
        return None
    body = b"".join(redaction.chunks(outcome.chunks)).decode("utf-8", "replace")
    return f"status {outcome.status}: {body[:500]}"


def _wait(outcome: Outcome, attempt: int) -> float | None:
    """Return how long to wait for another attempt; None where there is none."""
    if not isinstance(outcome, Received) or outcome.fault is not None:
        return backoff(attempt)
    if outcome.status not in _AGAIN and outcome.status < FIRST_FAULT:
        return None
    named = retry_after(outcome.header("retry-after"))
    precise = retry_after(outcome.header("retry-after-ms"))  # what OpenAI says beside
    named = named if precise is None else precise / 1000
    if named is None:
        return backoff(attempt)
    return named if named <= PATIENCE else None


def _request_id(outcome: Outcome) -> dict[str, str]:
    if not isinstance(outcome, Received):
        return {}
    found = outcome.header("x-request-id") or outcome.header("request-id")
    return {"request_id": found} if found else {}


def _remedy(status: int | None) -> str:
    if status in (401, 403):
        return "check the key in the environment"
    if status == 404:  # noqa: PLR2004 - its name is not found
        return "check the model's name and the base URL"
    return "a resume of the run asks again"
