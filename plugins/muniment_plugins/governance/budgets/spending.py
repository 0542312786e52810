"""What a run and the runs that it calls have spent, as a fold over their events.

Rules:

- An effect is spent when its performer is called: once for each attempt, whether or not
  it succeeds. What a plugin, a record or a change answered was not performed, and what was
  refused is not spent.
- A performer that asks again by itself states ``<kind>.attempted``; each such attempt
  after the first is spent, too.
- Timers and calls of runs spend nothing: time passes, and what a child does is counted
  as its own.
- Tokens and cost are what the outcomes say. A model's answer that does not say them is
  counted as one of which nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import cast

from muniment import EffectKind, Event
from muniment.events.effect_kinds import Magnitude
from muniment.formats.statement import when

__all__ = ["UNCOUNTED", "Spending", "performed", "seconds_of"]

UNCOUNTED = frozenset({"child", "timer"})
"""Kinds of the kernel's own, which no budget counts."""

_MODEL = "llm"
_TOKENS = ("input_tokens", "output_tokens")


@dataclass(slots=True)
class Spending:
    """How much was spent."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Source → effects."""
    weights: dict[str, int] = field(default_factory=dict[str, int])
    """Source → their weights together."""
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    """Kind → effects."""
    tokens: int = 0
    unmetered: int = 0
    """Answers of models that do not say their tokens."""
    cost: Decimal = Decimal(0)
    """US dollars."""
    unpriced: int = 0
    """Answers of models that do not say their cost."""
    events: int = 0

    @property
    def effects(self) -> int:
        """How many effects were performed."""
        return sum(self.kinds.values())

    def spend(self, kind: EffectKind, weights: Mapping[Magnitude, int]) -> None:
        """Count one more effect of *kind* that is performed."""
        if kind.name in UNCOUNTED:
            return
        source = kind.source
        self.counts[source] = self.counts.get(source, 0) + 1
        weight = weights[kind.magnitude]
        self.weights[source] = self.weights.get(source, 0) + weight
        self.kinds[kind.name] = self.kinds.get(kind.name, 0) + 1

    def take_in(self, event: Event) -> None:
        """Count what *event* says of itself: that it is one, tokens, and cost."""
        self.events += 1
        stem, _, verb = event.type.rpartition(".")
        if stem != _MODEL or verb != "completed" or not was_performed(event):
            return
        about = event.raw.get("about")
        told = about if isinstance(about, dict) else {}
        usage, cost = told.get("usage"), told.get("cost")
        counts = cast("Mapping[str, int]", usage) if isinstance(usage, dict) else {}
        if any(type(counts.get(name)) is int for name in _TOKENS):
            self.tokens += sum(counts.get(name, 0) for name in _TOKENS)
        else:
            self.unmetered += 1
        amount = cost.get("usd") if isinstance(cost, dict) else None
        try:
            self.cost += Decimal(str(amount))
        except InvalidOperation:
            self.unpriced += 1


def was_performed(outcome: Event) -> bool:
    """Tell whether the performer answered, rather than a plugin or a record."""
    by = outcome.raw.get("answered_by")
    return not isinstance(by, dict) or by.get("who", "performer") == "performer"


def performed(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Return scope and kind of each attempt at an effect in the record of one run.

    A request without an outcome is an attempt: it may have been performed.
    """
    found: list[tuple[str, str]] = []
    waiting: dict[tuple[str, int], str] = {}
    for event in events:
        stem, _, verb = event.type.rpartition(".")
        place = event.scope or "", event.ordinal or 0
        if verb == "requested":
            if place in waiting:
                found.append((place[0], waiting[place]))
            waiting[place] = stem
        elif verb in ("completed", "failed") and waiting.get(place) == stem:
            del waiting[place]
            if was_performed(event):
                found.append((place[0], stem))
        elif verb == "attempted" and is_another(event):
            found.append((place[0], stem))
    return found + [(scope, kind) for (scope, _), kind in waiting.items()]


def is_another(event: Event) -> bool:
    """Tell whether *event* states an attempt after the first."""
    attempt = event.raw.get("attempt")
    return type(attempt) is int and attempt > 1


def seconds_of(events: Iterable[Event]) -> float:
    """Return how long a run was under way: from each start or resumption to its end."""
    total, began, last = 0.0, None, None
    for event in events:
        now = when(event.time)
        if event.type in ("run.started", "run.resumed"):
            if began is not None and last is not None:
                total += (last - began).total_seconds()
            began = now
        last = now
    if began is not None and last is not None:
        total += (last - began).total_seconds()
    return total
