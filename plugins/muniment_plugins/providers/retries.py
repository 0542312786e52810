"""How often to ask again, and how long to wait: the plan, which sends nothing itself.

    for attempt in plan:    Send → Received or Fault → Wait(seconds) → Send → …

Rules:

- Only a passing flaw leads to another attempt.
- The wait doubles from half a second to at most 30, less a random part of up to a half.
  A server's ``Retry-After`` replaces it, up to two minutes; a longer one ends the plan.
- *note* records every attempt before anything follows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from muniment_plugins.providers.clients.exchange import Outcome, Received
from muniment_plugins.providers.refusals import CompletionFailed
from muniment_plugins.providers.wire_formats.answer_flaws import Flaw

__all__ = ["Send", "Wait", "attempts", "backoff"]

FIRST_WAIT, LONGEST_WAIT, PATIENCE = 0.5, 30.0, 120.0


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request, and give back the outcome."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for this many seconds."""

    seconds: float


Step: TypeAlias = Send | Wait
Judge: TypeAlias = Callable[[Outcome], Flaw | None]
Note: TypeAlias = Callable[[Mapping[str, object]], None]


def backoff(attempt: int, draw: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait after *attempt*, counted from one."""
    longest: float = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
    return longest * (1 - draw() / 2)


def attempts(
    limit: int, place: str, judge: Judge, note: Note
) -> Generator[Step, Outcome | None, Received]:
    """Yield what to do next; return the answer.

    Args:
        limit: how many attempts there are, at least one.
        place: the place that errors name.
        judge: says what is wrong with an outcome, without secrets.
        note: records an attempt; durable when it returns.

    Raises:
        CompletionFailed: the server refused, or every attempt failed.

    """
    attempt = 0
    while True:
        attempt += 1
        outcome = yield Send()
        if outcome is None:
            raise AssertionError("what was sent has an outcome")
        flaw = judge(outcome)
        status = outcome.status if isinstance(outcome, Received) else None
        known = {"attempt": attempt, "status": status, **_request_id(outcome)}
        if flaw is None and isinstance(outcome, Received):
            note(known)
            return outcome
        found = flaw or Flaw("no answer", passing=False)
        wait = _wait(found, attempt) if attempt < max(1, limit) else None
        note({**known, "message": found.message, "wait_s": wait})
        if wait is None:
            raise CompletionFailed(
                f"{found.message} (attempt {attempt} of {max(1, limit)})",
                place=place,
                remedy=_remedy(status),
                status=status,
                attempts=attempt,
            )
        yield Wait(wait)


def _wait(flaw: Flaw, attempt: int) -> float | None:
    """Return how long to wait for another attempt; None if there is none."""
    if not flaw.passing:
        return None
    if flaw.after is None:
        return backoff(attempt)
    return flaw.after if flaw.after <= PATIENCE else None


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
