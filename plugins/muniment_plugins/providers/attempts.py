"""Sending requests as the plan of attempts says, blocking or awaited.

    send(Post(url, headers, body, timeout_s), plan, heard)
    await asend(Post(…), plan, heard)

Rules: connections are those of `httpx2`, or of `httpx` if only that is installed. No
redirect is followed, since keys go where they were sent and nowhere else. *heard* gets
the answer chunk by chunk, as it arrives.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from muniment.errors import printable
from muniment_plugins.providers.clients.exchange import Fault, Outcome, Received
from muniment_plugins.providers.clients.transport import library
from muniment_plugins.providers.retries import Send, Wait

__all__ = ["Heard", "Plan", "Post", "asend", "send"]

Plan: TypeAlias = Generator[Send | Wait, Outcome | None, Received]
Heard: TypeAlias = Callable[[int, bytes], None]
"""Called with the status and each chunk."""


@dataclass(frozen=True, slots=True)
class Post:
    """A request, and how long to wait for any part of the answer."""

    url: str
    headers: dict[str, str]
    body: bytes
    timeout_s: float
    extra: str
    """The extra that brings the library."""


def send(post: Post, plan: Plan, heard: Heard) -> Received:
    """Send *post* as often as *plan* says."""
    module = library(extra=post.extra)
    outcome: Outcome | None = None
    with module.Client(timeout=post.timeout_s) as client:
        while True:
            try:
                step = plan.send(outcome)
            except StopIteration as end:
                return cast("Received", end.value)
            outcome = None
            if isinstance(step, Wait):
                time.sleep(step.seconds)
            else:
                outcome = _once(client, post, heard)


async def asend(post: Post, plan: Plan, heard: Heard) -> Received:
    """Send *post* as often as *plan* says, awaited; a cancellation ends it at once."""
    module = library(extra=post.extra)
    outcome: Outcome | None = None
    async with module.AsyncClient(timeout=post.timeout_s) as client:
        while True:
            try:
                step = plan.send(outcome)
            except StopIteration as end:
                return cast("Received", end.value)
            outcome = None
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
            else:
                outcome = await _aonce(client, post, heard)


def _once(client: Any, post: Post, heard: Heard) -> Outcome:
    chunks: list[bytes] = []
    response: Any = None
    fault: Fault | None = None
    try:
        asked = {"headers": post.headers, "content": post.body}
        with client.stream("POST", post.url, **asked) as response:
            for chunk in response.iter_bytes():
                chunks.append(chunk)
                heard(response.status_code, chunk)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is an attempt
        fault = Fault(type(error).__name__, printable(error))
    return _outcome(response, chunks, fault)


async def _aonce(client: Any, post: Post, heard: Heard) -> Outcome:
    chunks: list[bytes] = []
    response: Any = None
    fault: Fault | None = None
    try:
        asked = {"headers": post.headers, "content": post.body}
        async with client.stream("POST", post.url, **asked) as response:
            async for chunk in response.aiter_bytes():
                chunks.append(chunk)
                heard(response.status_code, chunk)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is an attempt
        fault = Fault(type(error).__name__, printable(error))
    return _outcome(response, chunks, fault)


def _outcome(response: Any, chunks: list[bytes], fault: Fault | None) -> Outcome:
    if response is None:
        if fault is None:
            raise AssertionError("what gave no answer gave an error")
        return fault
    headers = tuple(response.headers.multi_items())
    return Received(response.status_code, headers, tuple(chunks), fault)
