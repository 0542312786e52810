"""What a run needs of the ledger that it is recorded in, and of those who answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from muniment.batch import Draft
from muniment.event_types import Prepared
from muniment.events import Event
from muniment.kinds import EffectKind
from muniment.store import Fence
from muniment.value_types import ValueTypes

if TYPE_CHECKING:
    from muniment.runs import Recording

__all__ = ["Answer", "Port", "Stream"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a plugin's ``before_effect`` gives in the place of the performer."""

    value: object
    by: Mapping[str, str] = field(default_factory=dict[str, str])
    refusal: str | None = None
    """Why the effect may not happen; set by the ledger for a plugin that says so."""


class Port(Protocol):
    """What a run needs of the ledger that it is recorded in."""

    values: ValueTypes
    """The classes whose instances cross into JSON."""

    def kind(self, name: str) -> EffectKind:
        """Return the effect kind *name*, or raise with a suggestion."""
        ...

    def refuse_reserved(self, name: str) -> None:
        """Refuse types that only the kernel writes."""
        ...

    def validate(self, name: str, data: Mapping[str, object]) -> Prepared:
        """Validate the data of an event."""
        ...

    def admit(self, name: str, data: Mapping[str, object], run: str | None) -> None:
        """Ask ``before_append``, for an event that is about to be written."""
        ...

    def commit(self, drafts: list[Draft], fence: Fence | None) -> list[Event]:
        """Append *drafts* in one durable commit."""
        ...

    def tell(self, events: list[Event]) -> None:
        """Tell ``after_append``."""
        ...

    def before_effect(
        self, run: Recording, scope: str, kind: str, request: object
    ) -> Answer | None:
        """Ask the plugins; None when nobody answers or refuses."""
        ...

    def hook(self, name: str, **arguments: object) -> object:
        """Return the first plugin's answer to the hook *name*, or raise."""
        ...


class Stream(Protocol):
    """An effect whose answer is handed on in parts."""

    def draft(self) -> Draft | None:
        """Return the event of the parts that were handed on since, if any were."""
        ...

    def close(self) -> None:
        """Write the outcome of a stream that nobody reads on."""
        ...
