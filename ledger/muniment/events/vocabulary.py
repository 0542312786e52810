"""The vocabulary of one ledger: the event types and effect kinds that it knows.

    words = Vocabulary()
    words.register(EffectKind("sensor", source="data"))
    words.types.find("sensor.requested")

Rules: the kernel's are there from the start. A kind brings the types of its events; no
name can be registered twice.
"""

from __future__ import annotations

from muniment.events.effect_kinds import KERNEL_KINDS, EffectKind
from muniment.events.kernel_types import KERNEL_TYPES, effect_types
from muniment.events.types import EventType, EventTypes

__all__ = ["Vocabulary"]


class Vocabulary:
    """Event types and effect kinds, by name."""

    def __init__(self) -> None:
        self.types = EventTypes(KERNEL_TYPES)
        self.kinds: dict[str, EffectKind] = {}
        for kind in KERNEL_KINDS:
            self.register(kind)

    def register(self, declaration: EventType | EffectKind) -> None:
        """Add an event type, or an effect kind with the types of its events.

        Raises:
            UsageError: the name is taken.

        """
        if isinstance(declaration, EventType):
            self.types.register(declaration)
            return
        for event_type in effect_types(declaration.name, declaration.helps):
            self.types.register(event_type)
        self.kinds[declaration.name] = declaration
