"""The result digest of a completed run, from its events alone.

    digest_of(ledger, run)      'sha256:…', the same that the run computed

Rule: it counts what `muniment.recorded.compare` counts: each fact once, each effect by its last
attempt, and the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment.recorded.compare import Digest, comparable_event

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["digest_of"]


def digest_of(ledger: Ledger, events: Iterable[Event]) -> str:
    """Return the result digest of the completed run that has *events*."""
    counted: dict[tuple[object, ...], Event] = {}
    result: JsonValue = None
    for event in events:
        stem, _, verb = event.type.rpartition(".")
        if event.type.startswith("run."):
            if event.type == "run.completed":
                result = _data(ledger, event).get("result")
            continue
        if verb == "streamed" and (*_place(event), stem, "requested") in counted:
            continue  # the outcome holds all of it
        effect = verb in ("requested", "completed", "failed")
        part = "outcome" if verb in ("completed", "failed") else verb
        key = (*_place(event), stem, part) if effect else (event.seq,)
        counted[key] = event
    digest = Digest()
    for event in counted.values():
        digest.add(event.scope or "", event.type, _data(ledger, event))
    return digest.result(result)


def _place(event: Event) -> tuple[object, object]:
    return event.scope, event.ordinal


def _data(ledger: Ledger, event: Event) -> dict[str, JsonValue]:
    event_type = ledger.event_types.find(event.type)
    return comparable_event(event, event_type, ledger.get_blob)
