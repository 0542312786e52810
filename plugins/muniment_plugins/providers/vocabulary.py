"""The effect kind and the event type that providers add to the kernel's words.

    http.requested  {"request": {"method": "GET", "url": "https://…", …},
                     "about": {"host": "api.example", "method": "GET"}}
    llm.attempted   {"attempt": 1, "status": 429, "wait_s": 0.7, "message": "…"}

Rules: what a request means is known to its server alone, so a request in doubt is not
repeated without being asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast
from urllib.parse import urlsplit

from muniment.event_types import BLOB, VOLATILE, EventType, PlainData
from muniment.kinds import EffectKind

__all__ = ["KINDS", "TYPES"]


class LlmAttempted(PlainData):
    """A provider was asked once, inside an effect that may ask several times."""

    attempt: int
    status: int | None = None
    message: Annotated[str | None, BLOB] = None
    """Why there is another attempt, or none."""
    wait_s: Annotated[float | None, VOLATILE] = None
    request_id: Annotated[str | None, VOLATILE] = None


def _request(request: object) -> Mapping[str, object]:
    told = cast("Mapping[str, str]", request)
    return {"method": told["method"], "host": urlsplit(told["url"]).hostname or ""}


def _response(response: object) -> Mapping[str, object]:
    return {"status": cast("Mapping[str, object]", response)["status"]}


KINDS: tuple[EffectKind, ...] = (
    EffectKind(
        "http", on_doubt="ask", about_request=_request, about_response=_response
    ),
)

TYPES: tuple[EventType, ...] = (EventType("llm.attempted", LlmAttempted),)
