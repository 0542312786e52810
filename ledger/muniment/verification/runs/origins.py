"""The record that answers a fork, as a verifier reads it.

Rules:

- Only events up to ``at`` answer; of an effect, its last outcome, unless it was
  requested again after it, or the program had stopped waiting.
- The n-th request for a content, in a scope and of a kind, is answered by the n-th there.
  Where a content is gone, nobody knows which one is the n-th.
- What followed a failure that was performed again is superseded: readings of the clock
  do not answer, facts need not be stated, and effects need not be asked for.
- A refusal of a plugin that nothing followed before a resume does not count: the resume
  asked again.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, cast

from orjson import loads

from muniment.formats.answers import CLOCK
from muniment.formats.lifecycle import LIFE, RESUMED, STARTED
from muniment.verification.report import MALFORMED
from muniment.verification.runs.copies import Copies, EventCopy
from muniment.verification.snapshot import MAX_PAYLOAD, Snapshot

__all__ = [
    "OUTCOMES",
    "Asked",
    "Key",
    "OriginRecord",
    "Stated",
    "is_around",
    "is_of_plugin",
    "is_of_program",
]

OUTCOMES = ("completed", "failed")
REFUSED = "plugin.refused"
Key: TypeAlias = tuple[str, str, bytes | None]
"""Scope, kind and digest of a request; without digest, its content is gone."""

_ROWS = (
    "SELECT seq, type, CASE WHEN typeof(payload) = 'blob' AND length(payload) <= ? "
    "THEN payload END, hash FROM event WHERE run = ? AND seq <= ? ORDER BY seq"
)


@dataclass(slots=True)
class Asked:
    """One effect of an origin."""

    request: EventCopy
    key: Key
    nth: int
    """How many before it have the same key."""
    outcome: EventCopy | None = None
    superseded: bool = False

    @property
    def answer(self) -> EventCopy | None:
        """The outcome, if it answers a fork."""
        if self.outcome is None or self.outcome.data.get("reason") == "cancelled":
            return None
        return self.outcome


@dataclass(slots=True)
class Stated:
    """One fact of a run, or the refusal of one, as a fork has to repeat it."""

    seq: int
    scope: str
    kind: str
    """Its type, or the one that was refused."""
    said: bytes | None
    """The digest of all that it says; None if a content is gone."""
    outline: bytes
    """The digest of what it says beside its contents."""
    after: int = 0
    """How many requests and readings come before it in its scope."""

    @classmethod
    def of(cls, event: EventCopy, copies: Copies) -> Self:
        """Return what *event* states."""
        scope, kind = event.place[0], event.kind
        told = event.data.get("scope"), event.data.get("event_type")
        if kind == REFUSED and all(isinstance(one, str) for one in told):
            scope, kind = cast("tuple[str, str]", told)
        return cls(event.seq, scope, kind, *copies.said(event))

    @property
    def key(self) -> tuple[str, str]:
        """Its scope and type."""
        return self.scope, self.kind


class OriginRecord:
    """The events of one run that can answer a fork."""

    __slots__ = (
        "_copies",
        "_facts",
        "_open",
        "_refused",
        "_went_on",
        "clocks",
        "effects",
        "gone",
        "outcomes",
        "said",
        "start",
        "stated",
        "unsure",
    )

    def __init__(self, snapshot: Snapshot, copies: Copies, run: str, at: int) -> None:
        self._copies = copies
        self._open: dict[tuple[str, int], Asked] = {}
        self.start: EventCopy | None = None
        self.clocks: dict[str, list[EventCopy]] = {}
        """The readings of the clock, by scope."""
        self.effects: dict[Key, list[Asked]] = {}
        self.outcomes: dict[int, Asked] = {}
        """The effects that ended, by the number of their last outcome."""
        self.unsure: set[tuple[str, str]] = set()
        """Scopes and kinds where the content of a request is gone."""
        self._facts: list[Stated] = []
        self._refused: list[Stated] = []
        self._went_on = 0
        self.stated: dict[tuple[str, str], list[Stated]] = {}
        """The facts of the program and of performers, by scope and type."""
        self.said: dict[tuple[str, str], dict[bytes, list[Stated]]] = {}
        """The same, by the digests of what they say, too."""
        self.gone: dict[tuple[str, str], dict[bytes, list[Stated]]] = {}
        """Those with contents that are gone, by what they say beside these, too."""
        rows = snapshot.connection.execute(_ROWS, (MAX_PAYLOAD, run, at))
        for seq, kind, payload, leaf in rows:
            try:
                event = EventCopy.of(seq, kind, leaf.hex(), loads(payload))
                if kind not in LIFE and not is_of_plugin(event.place[0]):
                    self._went_on = seq
                self._take(event)
            except MALFORMED:
                continue  # the row itself is a finding
        for asked in self._open.values():
            if asked.outcome is not None:
                self.outcomes[asked.outcome.seq] = asked
        self._place()

    def key(self, request: EventCopy) -> Key:
        """Return what a *request* is found by."""
        stem = request.kind.rpartition(".")[0]
        return request.place[0], stem, self._copies.digest(request.data, "request")

    def find(self, key: Key, nth: int) -> Asked | None:
        """Return the *nth* effect with that *key*, if there is one for certain."""
        found = [] if key[:2] in self.unsure else self.effects.get(key, [])
        return found[nth] if nth < len(found) else None

    def _place(self) -> None:
        """Index the facts, each with its place among requests and readings."""
        steps: dict[str, list[int]] = {
            scope: [one.seq for one in read] for scope, read in self.clocks.items()
        }
        for asked in self._open.values():
            if not asked.superseded:
                steps.setdefault(asked.key[0], []).append(asked.request.seq)
        for one in steps.values():
            one.sort()
        for fact in sorted([*self._facts, *self._refused], key=lambda one: one.seq):
            fact.after = bisect_left(steps.get(fact.scope, []), fact.seq)
            self.stated.setdefault(fact.key, []).append(fact)
            said = self.said.setdefault(fact.key, {})
            said.setdefault(fact.outline, []).append(fact)
            if fact.said is not None:
                said.setdefault(fact.said, []).append(fact)
            else:
                gone = self.gone.setdefault(fact.key, {})
                gone.setdefault(fact.outline, []).append(fact)

    def _take(self, event: EventCopy) -> None:
        stem, _, verb = event.kind.rpartition(".")
        known = self._open.get(event.place)
        if event.kind == STARTED:
            self.start = self.start or event
        elif event.kind == CLOCK:
            self.clocks.setdefault(event.place[0], []).append(event)
        elif event.kind == RESUMED:
            self._refused = [one for one in self._refused if one.seq <= self._went_on]
            self._supersede(event.data.get("supersedes", []))
        elif verb == "requested" and known is not None:
            known.outcome = None
        elif verb == "requested":
            key = self.key(event)
            if key[2] is None:
                self.unsure.add(key[:2])
            equal = self.effects.setdefault(key, [])
            equal.append(Asked(event, key, len(equal)))
            self._open[event.place] = equal[-1]
        elif known is not None:
            if verb in OUTCOMES and known.key[1] == stem:
                known.outcome = event
        elif event.kind not in LIFE:
            self._state(event)

    def _state(self, event: EventCopy) -> None:
        """Take a fact of the program or of a performer, or the refusal of one."""
        if event.kind == REFUSED:
            refused = Stated.of(event, self._copies)
            self._refused += [refused] * (not is_of_plugin(refused.scope))
        elif not is_of_plugin(event.place[0]):
            self._facts.append(Stated.of(event, self._copies))

    def _supersede(self, named: Any) -> None:
        for scope, ordinal in cast("list[tuple[str, int]]", named):
            failed = self._open.get((scope, ordinal))
            if failed is None or failed.outcome is None:
                continue
            seq = failed.outcome.seq
            for asked in self._open.values():
                if is_around(asked.key[0], scope) and asked.request.seq > seq:
                    asked.superseded = True
            self._facts = [
                one
                for one in self._facts
                if one.seq < seq or not is_around(one.scope, scope)
            ]
            for name, read in self.clocks.items():
                if is_around(name, scope):
                    self.clocks[name] = [one for one in read if one.seq < seq]


def is_around(scope: str, other: str) -> bool:
    """Tell whether *scope* is *other*, or around it."""
    return not scope or f"{other}/".startswith(f"{scope}/")


def is_of_program(scope: str) -> bool:
    """Tell whether a program states *scope* itself, and no performer or plugin."""
    inside = any(one[:1] == "@" for one in scope.split("/"))
    return not (inside or is_of_plugin(scope))


def is_of_plugin(scope: str) -> bool:
    """Tell whether *scope* is the lane of a plugin, in which no record answers."""
    return scope.partition("/")[0] == "plugin"
