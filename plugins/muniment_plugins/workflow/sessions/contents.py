"""The texts of a transcript, read from the ledger when they are looked at.

Rule: what was erased is marked, and nothing else of the transcript is lost by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import ErasedError
from muniment.formats.statement import BlobRef
from muniment_plugins.workflow.sessions.transcript import TranscriptEntry

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["ERASED", "message_of", "messages_of", "part_of_event", "private_of"]

Message = dict[str, Any]
ERASED = "[erased]"


def part_of_event(ledger: Ledger, event: Event, name: str) -> Any:
    """Return the member *name* of the data of *event*.

    Raises:
        ErasedError: it was erased.

    """
    value = event.raw.get(name)
    if isinstance(value, Mapping) and "$blob" in value:
        return ledger.value(BlobRef.from_json(value))
    return value


def message_of(ledger: Ledger, entry: TranscriptEntry) -> Message:
    """Return what models are given of *entry*; what was erased is marked."""
    try:
        if entry.shortened_by is not None:
            event = ledger.event(entry.shortened_by)
            replaced = _members(part_of_event(ledger, event, "replaced"))
            return _members(replaced.get(entry.id))
        if entry.seq is None:
            return {"role": entry.role, "content": ""}
        name = "summary" if entry.is_summary else "message"
        return _members(part_of_event(ledger, ledger.event(entry.seq), name))
    except ErasedError:
        return {"role": entry.role, "content": ERASED}


def messages_of(ledger: Ledger, entries: Iterable[TranscriptEntry]) -> list[Message]:
    """Return what models are given of *entries*, in their order."""
    return [message_of(ledger, one) for one in entries]


def private_of(ledger: Ledger, entry: TranscriptEntry) -> Message | None:
    """Return what is private of *entry*; None if there is nothing."""
    if entry.seq is None or entry.is_summary:
        return None
    try:
        found = part_of_event(ledger, ledger.event(entry.seq), "private")
    except ErasedError:
        return {"private": ERASED}
    return None if found is None else _members(found)


def _members(value: object) -> Message:
    """Return *value* as a message, whatever a ledger has in its place."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    return {"content": value}
