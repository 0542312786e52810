"""What the record says of a failure, in one form, whatever of it is left.

Rule: this reads records that anybody wrote, and of which parts were erased. What is not
there, or is not what it should be, is nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muniment import Event
from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError
from muniment.formats.statement import BlobRef
from muniment.hookspecs import ReadableLedger

__all__ = ["ToldEffect", "effects_in", "inside", "left_of", "members", "text_of"]


@dataclass(frozen=True, slots=True)
class ToldEffect:
    """The last attempt at an effect: what was asked, and how that ended."""

    kind: str
    asked: Event
    outcome: Event | None = None

    @property
    def failed(self) -> bool:
        """Whether the record says that it failed."""
        return self.outcome is not None and self.outcome.type == f"{self.kind}.failed"

    @property
    def answered_by(self) -> Mapping[str, JsonValue]:
        """Who answered, as the outcome says it."""
        return {} if self.outcome is None else members(self.outcome, "answered_by")


Place = tuple[str, int]


def effects_in(events: Iterable[Event]) -> dict[Place, ToldEffect]:
    """Return the last attempt at each effect, by scope and ordinal, in order."""
    found: dict[Place, ToldEffect] = {}
    for event in events:
        stem, _, verb = event.type.rpartition(".")
        place = event.scope or "", event.ordinal or 0
        if verb == "requested":
            found.pop(place, None)  # a further attempt is a later one
            found[place] = ToldEffect(stem, event)
        elif verb in ("completed", "failed"):
            known = found.get(place)
            if known is not None and known.kind == stem and known.outcome is None:
                found[place] = ToldEffect(stem, known.asked, event)
    return found


def inside(outer: Place, kind: str, other: Place) -> bool:
    """Tell whether the effect at *other* is one that the performer of *outer* asked."""
    scope, ordinal = outer
    here = f"{scope}/@{kind}.{ordinal}" if scope else f"@{kind}.{ordinal}"
    return f"{other[0]}/".startswith(f"{here}/")


def members(event: Event, name: str) -> Mapping[str, JsonValue]:
    """Return the object in the field *name*, if there is one."""
    value = event.raw.get(name)
    return value if isinstance(value, dict) else {}


def text_of(ledger: ReadableLedger, event: Event, name: str) -> str:
    """Return the text in the field *name*; empty if it is none, or was erased."""
    value = left_of(ledger, event, name)
    return value if isinstance(value, str) else ""


def left_of(ledger: ReadableLedger, event: Event, name: str) -> object:
    """Return the value of the field *name*; None if it is not there any more."""
    value = event.raw.get(name)
    if not isinstance(value, dict) or "$blob" not in value:
        return value
    try:
        return ledger.value(BlobRef.from_json(value))
    except MunimentError:
        return None
