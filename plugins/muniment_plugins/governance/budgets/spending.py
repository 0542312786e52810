"""What a run and the runs that it calls have spent, as a fold over their events.

Rules:

- An effect is spent when its performer is called: once for each attempt, whether or not
  it succeeds, and whether or not its answer is refused. What a plugin, a record or a change
  answered was not performed, and a request that was refused is not spent.
- A performer that asks again by itself states ``<kind>.attempted``; each such attempt
  after the first is spent, too.
- Timers and calls of runs spend nothing: time passes, and what a child does is counted
  as its own.
- Tokens and cost are what the outcomes say. A model's answer that does not say both input
  and output as whole numbers below 2**53 is counted as one of which nobody knows: what it
  does say is spent in any case. A total that is more than its parts was spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Protocol, TypeVar

from muniment import EffectKind, Event
from muniment.encoding.canonical import JsonValue
from muniment.events.effect_kinds import KERNEL_KINDS, Magnitude
from muniment.events.token_counts import INEXACT, tokens_taken
from muniment.formats.statement import when
from muniment_plugins.governance.vocabulary import KINDS

__all__ = [
    "UNCOUNTED",
    "Spending",
    "Spent",
    "is_another",
    "performed",
    "seconds_of",
    "was_performed",
]

UNCOUNTED = frozenset(
    one.name for one in (*KERNEL_KINDS, *KINDS) if one.own is not None
)
"""Kinds that no budget counts: their own code alone performs them, and asks nothing of
the world. What another plugin declares so is counted."""
_UNSEEN = ("dataset_check.", "dataset.checked")
"""How events begin that no budget counts: a flow looks after its data in any case."""

_MODEL = "llm"


class Spent(Protocol):
    """What is looked at of an event, or of what an observation has of one."""

    @property
    def type(self) -> str:
        """Its type."""
        ...

    @property
    def scope(self) -> str | None:
        """Its scope."""
        ...

    @property
    def ordinal(self) -> int | None:
        """Its place in the scope."""
        ...

    @property
    def raw(self) -> Mapping[str, JsonValue]:
        """Its data."""
        ...


E = TypeVar("E", bound=Spent)


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

    def __add__(self, other: Spending) -> Spending:
        """Return what both have spent."""

        def together(one: dict[str, int], more: dict[str, int]) -> dict[str, int]:
            names = one.keys() | more.keys()
            return {name: one.get(name, 0) + more.get(name, 0) for name in names}

        return Spending(
            together(self.counts, other.counts),
            together(self.weights, other.weights),
            together(self.kinds, other.kinds),
            self.tokens + other.tokens,
            self.unmetered + other.unmetered,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
            self.events + other.events,
        )

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

    def take_in(self, event: Spent) -> None:
        """Count what *event* says of itself: that it is one, tokens, and cost."""
        self.events += not event.type.startswith(_UNSEEN)
        stem, _, verb = event.type.rpartition(".")
        if stem != _MODEL or verb != "completed" or not was_performed(event):
            return
        about = event.raw.get("about")
        told = about if isinstance(about, dict) else {}
        usage, cost = told.get("usage"), told.get("cost")
        taken = tokens_taken(usage)
        self.tokens += taken.total
        self.unmetered += not taken.is_known
        amount = _amount(cost.get("usd") if isinstance(cost, dict) else None)
        if amount is None:
            self.unpriced += 1
        else:
            self.cost += amount


def _amount(said: object) -> Decimal | None:
    """Return the amount that an answer says, if that can be spent."""
    try:
        amount = Decimal(str(said))
    except InvalidOperation:
        return None
    if not amount.is_finite() or not 0 <= amount < INEXACT:
        return None
    return amount


def was_performed(outcome: Spent) -> bool:
    """Tell whether the performer answered, rather than a plugin or a record."""
    by = outcome.raw.get("answered_by")
    if not isinstance(by, dict) or by.get("performed") is True:
        return True
    return by.get("who", "performer") == "performer"


def performed(events: Iterable[E]) -> list[tuple[E, str]]:
    """Return each attempt at an effect in the record of one run, with its kind.

    The event of an attempt is its request, or what states another attempt. A request
    without an outcome is one: it may have been performed.
    """
    found: list[tuple[E, str]] = []
    waiting: dict[tuple[str, int], tuple[E, str]] = {}
    for event in events:
        stem, _, verb = event.type.rpartition(".")
        place = event.scope or "", event.ordinal or 0
        if verb == "requested":
            found += [waiting[place]] if place in waiting else []
            waiting[place] = event, stem
        elif verb in ("completed", "failed") and place in waiting:
            asked = waiting[place]
            if asked[1] == stem:
                del waiting[place]
                found += [asked] if was_performed(event) else []
        elif verb == "attempted" and is_another(event):
            found.append((event, stem))
    return [*found, *waiting.values()]


def is_another(event: Spent) -> bool:
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
