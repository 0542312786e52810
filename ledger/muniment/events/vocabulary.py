"""The vocabulary of one ledger: the event types and effect kinds that it knows.

    words = Vocabulary()
    words.register(EffectKind("sensor", source="data"), "plugin lab")
    words.types.find("sensor.requested")

Rules: the kernel's are there from the start. A kind brings the types of its events; no
name can be registered twice, and the error says who was first.
"""

from __future__ import annotations

import difflib

from muniment.errors import UsageError
from muniment.events.effect_kinds import KERNEL_KINDS, EffectKind
from muniment.events.effect_types import effect_types
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventType, EventTypes

__all__ = ["Vocabulary"]

_KERNEL = "muniment itself"


class Vocabulary:
    """Event types and effect kinds, by name."""

    def __init__(self) -> None:
        self.types = EventTypes(KERNEL_TYPES, _KERNEL)
        self.kinds: dict[str, EffectKind] = {}
        for kind in KERNEL_KINDS:
            self.register(kind, _KERNEL)

    def register(self, declaration: EventType | EffectKind, by: str) -> None:
        """Add what *by* declares: an event type, or a kind with its events' types.

        Raises:
            UsageError: the name is taken.

        """
        if isinstance(declaration, EventType):
            self.types.register(declaration, by)
            return
        for event_type in effect_types(declaration.name, declaration.helps):
            self.types.register(event_type, by)
        self.kinds[declaration.name] = declaration

    def kind(self, name: str) -> EffectKind:
        """Return the effect kind *name*.

        Raises:
            UsageError: it is not declared; the message names the nearest.

        """
        try:
            return self.kinds[name]
        except KeyError:
            near = difflib.get_close_matches(name, self.kinds, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"no effect kind is called {name!r}",
                rule="effect/kind-unknown",
                remedy=f"{hint}plugins add kinds through the effect_kinds hook, if they "
                "may load: see `muniment plugins`; programs add them with "
                f"ledger.register(EffectKind({name!r}))",
            ) from None
