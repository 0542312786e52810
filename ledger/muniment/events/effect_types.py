"""The event types of an effect kind: its request, parts of its answer, its outcome.

Rules: a kind named ``k`` writes these four types and no other. Request, parts and value
may be personal and are blobs; what differs between two honest runs is not compared.
"""

from __future__ import annotations

from typing import Annotated

from muniment.events.types import BLOB, LARGE, VOLATILE, EventType, PlainData

__all__ = ["EffectRequested", "effect_types"]

Free = dict[str, object]


class EffectRequested(PlainData):
    """An effect is about to be performed; durable before it is."""

    request: Annotated[object, BLOB] = None
    about: Annotated[Free | None, VOLATILE, LARGE] = None
    attempt: Annotated[int, VOLATILE] = 1
    doubt: Annotated[dict[str, str] | None, VOLATILE] = None
    """Of a further attempt: the decision about the one without an outcome."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class EffectStreamed(PlainData):
    """Parts of an answer were passed on; durable before whatever followed them."""

    parts: Annotated[list[object], BLOB]
    """In their order, since the last event of this type."""
    head: Annotated[object, BLOB] = None
    """What came before the parts; only in the first event of an attempt."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class EffectCompleted(PlainData):
    """An effect gave a value; durable before the program sees it."""

    value: Annotated[object, BLOB] = None
    about: Annotated[Free | None, VOLATILE, LARGE] = None
    answered_by: Annotated[Free, VOLATILE] = {}
    duration_us: Annotated[int, VOLATILE] = 0
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class EffectFailedData(PlainData):
    """An effect failed; live and replay raise the same from it."""

    error_type: str
    """Of one that was cancelled: what stopped the program while it waited."""
    message: Annotated[str, BLOB]
    data: Annotated[object, BLOB] = None
    reason: str | None = None
    """``cancelled`` if the program stopped waiting; a replay is struck there again."""
    answered_by: Annotated[Free, VOLATILE] = {}
    duration_us: Annotated[int, VOLATILE] = 0
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


def effect_types(kind: str, helps: tuple[str, ...] = ()) -> tuple[EventType, ...]:
    """Return the event types of the effect *kind*, whose outcomes have help at *helps*."""
    return (
        EventType(f"{kind}.requested", EffectRequested),
        EventType(f"{kind}.streamed", EffectStreamed),
        EventType(f"{kind}.completed", EffectCompleted, helps=helps),
        EventType(f"{kind}.failed", EffectFailedData, helps=helps),
    )
