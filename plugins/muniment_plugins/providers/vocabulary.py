"""The effect kind and the event types that providers add to the kernel's vocabulary.

    http.requested  {"request": {"method": "GET", "url": "https://…", …},
                     "about": {"host": "api.example", "method": "GET"}}
    llm.attempted   {"attempt": 1, "status": 429, "wait_s": 0.7, "message": "…"}
    recording.bypassed  {"connections": ["127.0.0.1:11434"], "programs": {"$blob": …}}
    recording.unsearched  {"bodies": {"$blob": …}}

Rule: only its server knows what a request means, so a request in doubt is repeated only
if somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast
from urllib.parse import urlsplit

from muniment.events.effect_kinds import EffectKind
from muniment.events.types import BLOB, LARGE, VOLATILE, EventType, PlainData

__all__ = ["KINDS", "TYPES"]


class LlmAttempted(PlainData):
    """A provider was asked once, inside an effect that may ask several times."""

    attempt: int
    status: int | None = None
    message: Annotated[str | None, BLOB] = None
    """Why another attempt follows, or none."""
    wait_s: Annotated[float | None, VOLATILE] = None
    request_id: Annotated[str | None, VOLATILE] = None


class RecordingBypassed(PlainData):
    """A recorded program connected or started what nobody records."""

    connections: Annotated[list[str], LARGE] = []
    libraries: list[str] = []
    """Modules that connect where Python does not see it."""
    programs: Annotated[list[list[str]], BLOB] = []
    """Command lines, without their secrets."""


class RecordingUnsearched(PlainData):
    """Bodies were recorded that could not be searched for secrets, or not to their end."""

    bodies: Annotated[list[list[str]], BLOB] = []
    """Of each: ``request`` or ``answer``, method and URL, and why."""


_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def _request(request: object) -> Mapping[str, object]:
    told = cast("Mapping[str, str]", request)
    return {"method": told["method"], "host": urlsplit(told["url"]).hostname or ""}


def _response(response: object) -> Mapping[str, object]:
    return {"status": cast("Mapping[str, object]", response)["status"]}


def _is_safe(request: object) -> bool:
    """Tell whether the method only reads (RFC 9110, 9.2.1)."""
    return cast("Mapping[str, str]", request)["method"].upper() in _SAFE


KINDS: tuple[EffectKind, ...] = (
    EffectKind(
        "http",
        on_doubt="ask",
        is_safe=_is_safe,
        names_secrets=True,
        about_request=_request,
        about_response=_response,
    ),
)

TYPES: tuple[EventType, ...] = (
    EventType("llm.attempted", LlmAttempted),
    EventType("recording.bypassed", RecordingBypassed),
    EventType("recording.unsearched", RecordingUnsearched),
)
