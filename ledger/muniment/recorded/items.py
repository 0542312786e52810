"""One item of a run's record: a fact, or an effect; and what a replay sees again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Self

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.formats.statement import Event
from muniment.recorded.divergence import Divergence
from muniment.recorded.links import NO_LINKS, FactLinks

__all__ = ["Item", "LogOrder", "Scope", "Seen", "is_cancelled"]


@dataclass(slots=True)
class Item:
    """A recorded fact, or a recorded effect with its last outcome."""

    event: Event
    scope: str
    ordinal: int
    key: str
    """The match key of an effect, the entry hash of a fact."""
    kind: str = ""
    """The kind of an effect; empty for a fact."""
    links: FactLinks = NO_LINKS
    """The subjects and series that a fact was stated with."""
    says_all: bool = True
    """Whether a fact that names none has none."""
    outcome: Event | None = None
    streamed: list[Event] = field(default_factory=list[Event])
    """The parts that the last attempt passed on before anything else was written."""
    attempts: int = 1
    used: bool = False
    superseded: bool = False
    """Whether it followed a failure that a resume performed again."""
    beside: bool = False
    """Whether it did so in a scope beside: the program now may come to it at any time."""

    @property
    def waits(self) -> bool:
        """Whether the program has to ask for it, and has not yet."""
        return not (self.used or self.superseded)

    @property
    def leads(self) -> bool:
        """Whether the program has to ask for it before anything that is new."""
        return not (self.used or self.superseded or self.beside)

    def if_due(self, before: int | None) -> Self | None:
        """Return it if it leads, and comes *before* that event."""
        late = before is not None and self.event.seq > before
        return self if self.leads and not late else None

    def is_about(self, links: FactLinks) -> bool:
        """Tell whether the fact has these subjects and series, as far as it says."""
        unsaid = not self.says_all and self.links == NO_LINKS
        return unsaid or self.links == links

    @property
    def missing(self) -> Divergence:
        """Return the divergence of a program that never reached it."""
        return Divergence.missing(self.scope, self.event.seq, self.event.type)

    @property
    def completed(self) -> bool:
        """Whether the effect returned a value."""
        return self.outcome is not None and self.outcome.type.endswith(".completed")

    def settled(self, run: str) -> Event:
        """Return the outcome.

        Raises:
            CannotTellError: the record ends before it.

        """
        if self.outcome is None:
            raise CannotTellError(
                "the record ends before this effect's outcome",
                rule="replay/open",
                place=f"run {run}, event {self.event.seq}",
                remedy="what it came to was never recorded",
            )
        return self.outcome

    @property
    def is_gated(self) -> bool:
        """Whether a plugin or another run's record answered, not its performer."""
        by = None if self.outcome is None else self.outcome.raw.get("answered_by")
        return isinstance(by, dict) and by.get("who") in ("plugin", "record", "change")

    @property
    def cancelled(self) -> bool:
        """Whether the program stopped waiting for the effect."""
        return is_cancelled(self.outcome)


@dataclass(slots=True)
class Seen:
    """A fact or a request of a replayed program, and what it got.

    What equals the record is not kept a second time.
    """

    scope: str
    type: str
    item: Item | None = None
    """The recorded fact or effect that it equals, or that answered it."""
    data: dict[str, JsonValue] | None = None
    """Its data, if no recorded item has the same."""
    outcome: tuple[str, dict[str, JsonValue]] | None = None
    """Type and data of its outcome, if it was performed again and differs."""
    refused: Event | None = None
    """The recorded refusal that it ran into."""
    asks: bool = False
    """Whether it is a request."""
    links: FactLinks = NO_LINKS
    """Its subjects and series."""
    private: bool = False
    """Whether the program keeps it private."""
    private_outcome: bool = False
    """The same of its outcome, if it was performed again and differs."""


@dataclass(slots=True)
class Scope:
    """The items of one scope, in the order of their ordinals."""

    items: list[Item] = field(default_factory=list[Item])
    facts: deque[Item] = field(default_factory=deque[Item])
    effects: dict[str, deque[Item]] = field(default_factory=dict[str, deque[Item]])
    next_ordinal: int = 0
    reached: int = 0
    """The latest event that was used up."""
    waits: int = 0
    """The position of the first item that may wait to be used up."""


@dataclass(slots=True)
class LogOrder:
    """The items that are compared, in the order of the log."""

    items: list[Item] = field(default_factory=list[Item])
    leading: int = 0
    """The position of the first item that may lead."""

    def first(self, before: int | None) -> Item | None:
        """Return the first that has to be asked for, if it is *before* that event."""
        while self.leading < len(self.items) and not self.items[self.leading].leads:
            self.leading += 1
        if self.leading == len(self.items):
            return None
        return self.items[self.leading].if_due(before)

    def loosen(self, after: int) -> None:
        """Let the items that come *after* that event be asked for at any time."""
        for item in self.items:
            item.beside |= item.event.seq > after


def is_cancelled(event: Event | None) -> bool:
    """Tell whether *event* says that the program stopped waiting."""
    return event is not None and event.raw.get("reason") == "cancelled"
