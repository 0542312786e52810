"""A recorded run, ready to answer: its facts by scope, its effects by match key.

Rules:

- An effect is found by (scope, kind, hash of the request, n-th occurrence), never by
  global order: parallel calls whose latencies swapped still match.
- A fact is found in its scope, in order where it is there, else wherever an equal one
  stands; the latter is remembered as a finding of its own.
- An effect that is answered consumes what its performer recorded inside, as one
  subtree. Lifecycle events of the run answer nothing.
- Nothing is answered twice; what is left at the end was not asked for.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from muniment.canonical import JsonValue
from muniment.comparing import (
    EFFECT_SCOPE,
    PLUGIN_SCOPE,
    ReadContent,
    comparable_event,
    entry,
)
from muniment.divergence import Divergence
from muniment.errors import CannotTellError, WrongError
from muniment.event_types import EventTypes
from muniment.events import BlobRef, Event
from muniment.vocabulary import EffectRequested

__all__ = ["LIFECYCLE", "Item", "Recorded", "effect_scope", "match_key"]

LIFECYCLE = frozenset(
    {
        "run.started",
        "run.resumed",
        "run.interrupted",
        "run.completed",
        "run.failed",
    }
)


def effect_scope(scope: str, kind: str, ordinal: int) -> str:
    """Return the scope of what the performer of that effect records."""
    segment = f"{EFFECT_SCOPE}{kind}.{ordinal}"
    return f"{scope}/{segment}" if scope else segment


def match_key(kind: str, content: bytes) -> str:
    """Return the key under which a request is found: kind and hash, in memory only."""
    return f"{kind} {hashlib.sha256(content).hexdigest()}"


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
    outcome: Event | None = None
    streamed: list[Event] = field(default_factory=list[Event])
    """What was handed on of the last attempt before anything else was written."""
    attempts: int = 1
    used: bool = False

    @property
    def completed(self) -> bool:
        """Whether the effect gave a value."""
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
    def cancelled(self) -> bool:
        """Whether the program stopped waiting for the effect."""
        return _is_cancelled(self.outcome)


@dataclass(slots=True)
class Scope:
    """The items of one scope, in the order of their ordinals."""

    items: list[Item] = field(default_factory=list[Item])
    facts: deque[Item] = field(default_factory=deque[Item])
    effects: dict[str, deque[Item]] = field(default_factory=dict[str, deque[Item]])
    next_ordinal: int = 0


class Recorded:
    """The events of one run, indexed for answering."""

    def __init__(
        self, events: Iterable[Event], types: EventTypes, read: ReadContent
    ) -> None:
        self._types = types
        self._read = read
        self.scopes: dict[str, Scope] = {}
        self.events: list[Event] = []
        self.reordered: list[Item] = []
        self._inside: dict[str, list[Scope]] = {}
        """The scope of an effect's performer → it and the scopes below."""
        self._failures: list[Event] = []
        self._asked: list[Item] = []
        """The effects in the order of the log, from the first that nobody asked for."""
        self._open: dict[tuple[str, int], Item] = {}
        """The last effect at each ordinal of a scope: an outcome may follow."""
        self.extend(events)

    def extend(self, events: Iterable[Event]) -> None:
        """Take in the *events* that followed."""
        for event in events:
            if event.fault:
                raise WrongError(
                    f"the event is malformed: {event.fault}",
                    rule="event/malformed",
                    seq=event.seq,
                    place=f"event {event.seq} {event.type}",
                    remedy="nothing goes on from such a record; run `muniment verify`",
                )
            self.events.append(event)
            self._index(event)

    def _index(self, event: Event) -> None:
        name, ordinal = event.scope or "", event.ordinal or 0
        scope = self.scopes.get(name) or self._new_scope(name)
        scope.next_ordinal = max(scope.next_ordinal, ordinal + 1)
        stem, _, verb = event.type.rpartition(".")
        if event.type in LIFECYCLE:
            if event.type == "run.failed":
                self._failures.append(event)
            return
        earlier = self._open.get((name, ordinal))
        if verb in ("completed", "failed") and earlier and earlier.kind == stem:
            earlier.outcome = event
        elif verb == "streamed" and earlier and earlier.kind == stem:
            earlier.streamed.append(event)
        elif verb == "requested" and earlier is not None:
            earlier.outcome, earlier.attempts = None, earlier.attempts + 1
            earlier.streamed = []
        elif verb == "requested" and self._is_effect(event.type):
            key = match_key(stem, self._content(event, "request"))
            item = Item(event, name, ordinal, key, stem)
            self._open[name, ordinal] = item
            self._asked.append(item)
            scope.items.append(item)
            scope.effects.setdefault(key, deque()).append(item)
        else:
            item = Item(event, name, ordinal, self._entry(event))
            scope.items.append(item)
            scope.facts.append(item)

    def _new_scope(self, name: str) -> Scope:
        scope = self.scopes[name] = Scope()
        segments = name.split("/")
        for end, segment in enumerate(segments, 1):
            if segment.startswith(EFFECT_SCOPE):
                self._inside.setdefault("/".join(segments[:end]), []).append(scope)
        return scope

    def _is_effect(self, name: str) -> bool:
        known = self._types.find(name)
        return known is None or issubclass(known.model, EffectRequested)

    def _content(self, event: Event, name: str) -> bytes:
        value = event.raw.get(name)
        if isinstance(value, dict) and "$blob" in value:
            return self._read(BlobRef.from_json(value))
        return b"null"

    def _entry(self, event: Event) -> str:
        return entry(event.scope or "", event.type, self.data(event))

    def data(self, event: Event) -> dict[str, JsonValue]:
        """Return the data of *event* as it is compared."""
        return comparable_event(event, self._types.find(event.type), self._read)

    def fact(self, scope: str, kind: str, data: Mapping[str, JsonValue]) -> Item | None:
        """Use up the recorded fact that equals this one; None where there is none."""
        here = self.scopes.get(scope)
        if here is None:
            return None
        key = entry(scope, kind, dict(data))
        for position, item in enumerate(here.facts):
            if item.key == key:
                if position:
                    self.reordered.append(item)
                del here.facts[position]
                item.used = True
                return item
        return None

    def effect(self, scope: str, key: str) -> Item | None:
        """Use up the next recorded effect with this match key, and its subtree."""
        here = self.scopes.get(scope)
        waiting = None if here is None else here.effects.get(key)
        if not waiting:
            return None
        item = waiting.popleft()
        item.used = True
        inside = effect_scope(scope, item.kind, item.ordinal)
        for other in self._inside.get(inside, ()):
            for one in other.items:
                one.used = True
        return item

    def was_fatal(self, item: Item) -> bool:
        """Tell whether the run ended by the failure of this effect."""
        outcome, effect = item.outcome, [item.scope, item.ordinal]
        return outcome is not None and any(
            effect in cast("list[object]", event.raw.get("cause", []))
            for event in self._failures
            if event.seq > outcome.seq
        )

    def was_cut_off(self, item: Item) -> bool:
        """Tell whether the run stopped waiting for this effect only as it ended."""
        outcome = item.outcome
        return _is_cancelled(outcome) and all(
            event.type in LIFECYCLE or _is_cancelled(event)
            for event in self.events
            if outcome is not None and event.seq > outcome.seq
        )

    def went_on(self, item: Item) -> bool:
        """Tell whether more was written after parts of the effect were handed on."""
        return bool(item.streamed) and any(
            event.seq > item.streamed[0].seq
            and event.type not in LIFECYCLE
            and not (event.scope or "").startswith(f"{PLUGIN_SCOPE}/")
            and (event.scope, event.ordinal) != (item.event.scope, item.event.ordinal)
            for event in self.events
        )

    def has_asked(self, seq: int) -> bool:
        """Tell whether every effect that was asked for before the event *seq* was again."""
        self._asked = [item for item in self._asked if not item.used]
        return not self._asked or self._asked[0].event.seq > seq

    def gaps(self, scope: str, kind: str, what: str) -> list[Divergence]:
        """Return that each fact *kind* of *scope* tells of what the record lacks."""
        here = self.scopes.get(scope)
        return [
            Divergence("unrecorded", "", item.event.seq, what, None, None)
            for item in ([] if here is None else here.items)
            if item.event.type == kind
        ]

    def use(self, item: Item) -> None:
        """Use up a fact of the record in the place of one that differs."""
        item.used = True
        self.scopes[item.scope].facts.remove(item)

    def next_in(self, scope: str, *, effect: bool) -> Item | None:
        """Return the earliest unused fact or effect of *scope*, for a report."""
        here = self.scopes.get(scope)
        for item in [] if here is None else here.items:
            if not item.used and bool(item.kind) == effect:
                return item
        return None

    def has_facts(self, scope: str) -> bool:
        """Tell whether facts of *scope* still wait to be stated again."""
        here = self.scopes.get(scope)
        return here is not None and bool(here.facts)

    def unused(self) -> Item | None:
        """Return the first item that nobody asked for, in the order of the log.

        Facts of plugins' hooks are not among them: an answered effect asks no hook.
        """
        left = [
            item
            for name, scope in self.scopes.items()
            for item in scope.items
            if not item.used and not name.startswith(f"{PLUGIN_SCOPE}/")
        ]
        return min(left, key=lambda item: item.event.seq, default=None)


def _is_cancelled(event: Event | None) -> bool:
    return event is not None and event.raw.get("reason") == "cancelled"
