"""What a verifier knows of one fork: what it asked for, and which of it is unanswered.

Rules:

- What the origin answers, a fork does not perform: each request, and each reading of the
  clock, is *due* an answer, in the order in which the fork came to it.
- Something lets a scope, and those below it, take another path from that request on: a
  changed answer, an answer that a plugin refused to have written, or an answered failure
  that a resume performed again. The latter two supersede what followed in the origin, in
  that scope and in those around it.
- A fork that completes was answered everything up to ``at``, but for such scopes. Before
  that, nobody can tell what it would still have asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from muniment.verification.runs.copies import Copies, EventCopy
from muniment.verification.runs.fork_facts import ForkFacts
from muniment.verification.runs.origins import (
    OUTCOMES,
    Asked,
    Key,
    OriginRecord,
    is_around,
    is_of_plugin,
    is_of_program,
)

__all__ = ["ForkState", "ForkedEffect"]


@dataclass(slots=True)
class ForkedEffect:
    """One effect of a fork."""

    request: EventCopy
    key: Key
    due: int | None
    """The outcome in the origin that answers it, if one does for certain."""
    again: bool = False
    """Whether it was requested a second time."""
    answered: int = 0
    """The event that answered it, from the origin or as a plugin refused that."""
    twice: bool = False
    """Whether its answer had answered before."""
    streamed: bool = False
    performed: EventCopy | None = None
    """The first event by which it was performed, although an answer was due."""


@dataclass(slots=True)
class ForkState:
    """A fork while its events are read."""

    origin: str
    at: int
    changes: dict[int, str]
    changed: Any
    """The reference to the values of the changes."""
    facts: ForkFacts
    effects: dict[tuple[str, int], ForkedEffect] = field(
        default_factory=dict[tuple[str, int], ForkedEffect]
    )
    """The effects that may be asked for again, or that await an answer."""
    used: set[int] = field(default_factory=set[int])
    """The outcomes that answered."""
    resumed: int = 0
    """The last resumption."""
    _requests: Counter[Key] = field(default_factory=Counter[Key])
    _readings: Counter[str] = field(default_factory=Counter[str])
    _unsure: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _loose: dict[str, int] = field(default_factory=dict[str, int])
    """The scopes that may take another path → the request from which on."""
    _superseded: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Scope and outcome in the origin of each effect that went another way."""

    def request(self, event: EventCopy, record: OriginRecord) -> str:
        """Take a request; say what is wrong with asking again, "" for nothing."""
        effect = self.effects.get(event.place)
        if effect is not None:
            return self._again(effect, event)
        key = record.key(event)
        if key[2] is None:
            self._unsure.add(key[:2])
        sure = not (key[:2] in self._unsure or is_of_plugin(key[0]))
        asked = record.find(key, self._requests[key]) if sure else None
        self._requests[key] += 1
        if asked is None or not asked.superseded:
            self.facts.step(key[0])
        there = None if asked is None else asked.answer
        due = None if there is None else there.seq
        self.effects[event.place] = ForkedEffect(event, key, due)
        return ""

    def _again(self, effect: ForkedEffect, event: EventCopy) -> str:
        effect.again = True
        if not effect.answered:
            return ""
        self._depart(effect, event.seq)
        if self.resumed > effect.answered:
            return ""
        return f"{event.kind} asks again for what was answered, and nobody resumed it"

    def _depart(self, effect: ForkedEffect, seq: int) -> None:
        """Let the fork go its own way after *effect*, from the event *seq* on."""
        scope = effect.key[0]
        self._loosen(scope, seq)
        if effect.due is not None:
            self._superseded.append((scope, effect.due))

    def _loosen(self, scope: str, seq: int) -> None:
        self._loose[scope] = min(seq, self._loose.get(scope, seq))

    def awaits(self, event: EventCopy) -> bool:
        """Tell whether *event* is an outcome of what was asked at its place."""
        effect, (stem, _, verb) = (
            self.effects.get(event.place),
            event.kind.rpartition("."),
        )
        return effect is not None and effect.key[1] == stem and verb in OUTCOMES

    def answer(self, event: EventCopy, there: int) -> ForkedEffect:
        """Take an outcome that the event *there* of the origin answered."""
        effect = self.effects[event.place]
        self.facts.follow()
        effect.answered, effect.twice = event.seq, there in self.used
        self.used.add(there)
        if there in self.changes:
            self._loosen(effect.key[0], effect.request.seq)
        if event.kind.endswith(".completed"):
            self._forget(event.place)
        return effect

    def performed(self, event: EventCopy) -> None:
        """Take parts or an outcome that the origin did not answer."""
        effect = self.effects.get(event.place)
        stem, _, verb = event.kind.rpartition(".")
        if effect is None or effect.key[1] != stem:
            return
        effect.streamed |= verb not in OUTCOMES
        if effect.due is not None and not effect.answered:
            if _is_refused(event) and not effect.again:
                effect.answered = event.seq
                self._depart(effect, effect.request.seq)
            else:
                effect.performed = effect.performed or event
        if verb == "completed":
            self._forget(event.place)

    def _forget(self, place: tuple[str, int]) -> None:
        """Keep a completed effect only if it lacks an answer, or may be asked again."""
        effect = self.effects[place]
        if effect.due is None or (effect.answered and effect.performed is None):
            del self.effects[place]

    def read(self, event: EventCopy, record: OriginRecord) -> EventCopy | None:
        """Take a reading of the clock; return the one that is due, if one is.

        After a resume, a thread may come to a reading again that was superseded.
        """
        scope = event.place[0]
        nth, known = self._readings[scope], record.clocks.get(scope, [])
        self._readings[scope] += 1
        if nth < len(known) and not is_of_plugin(scope):
            self.facts.follow()
            self.facts.step(scope)
        if self.resumed or nth >= len(known) or not is_of_program(scope):
            return None
        return None if self._is_loose(scope, event.seq) else known[nth]

    def state(self, event: EventCopy, record: OriginRecord, copies: Copies) -> None:
        """Take a fact."""
        unsure = {scope for scope, _ in self._unsure | record.unsure}
        self.facts.take(event, record, copies, sure=event.place[0] not in unsure)

    def lacks(self, end: int, record: OriginRecord | None) -> Iterator[tuple[int, str]]:
        """Yield the events that lack an answer of the origin, and what is wrong there.

        With the origin's *record*, the fork completed by the event *end*.
        """
        for effect in self.effects.values():
            event = effect.performed or effect.request
            lacks = effect.performed is not None or record is not None
            if effect.due is None or effect.answered or not lacks:
                continue
            if not self._is_loose(effect.key[0], effect.request.seq):
                answer = f"event {effect.due} of the run that it follows"
                yield event.seq, f"{event.kind} lacks the answer of {answer}"
        if record is not None:
            for there in self._left(record):
                what = f"event {there.seq} of the run that it follows"
                yield end, f"it completed without what {what} answers"
            for fact in self.facts.lacks(record, self._may_leave_out):
                what = f"event {fact.seq} of the run that it follows"
                yield end, f"it completed without what {what} states, a {fact.kind}"

    def _left(self, record: OriginRecord) -> Iterator[EventCopy]:
        """Yield the answers of the origin that nobody asked for."""
        for key, equal in record.effects.items():
            skipped = key[:2] in self._unsure or key[:2] in record.unsure
            for asked in () if skipped else equal[self._requests[key] :]:
                if asked.answer is not None and not self._may_lack(asked):
                    yield asked.answer
        for scope, known in record.clocks.items():
            if not is_of_program(scope) or self._is_loose(scope, None):
                continue
            for one in known[self._readings[scope] :]:
                if not self._is_superseded(scope, one.seq):
                    yield one

    def _may_lack(self, asked: Asked) -> bool:
        scope = asked.key[0]
        return (
            asked.superseded
            or not is_of_program(scope)
            or self._is_loose(scope, None)
            or self._is_superseded(scope, asked.request.seq)
        )

    def _may_leave_out(self, scope: str, seq: int) -> bool:
        free = not is_of_program(scope) or self._is_loose(scope, None)
        return free or self._is_superseded(scope, seq)

    def _is_superseded(self, scope: str, seq: int) -> bool:
        return any(
            is_around(scope, failed) and seq > outcome
            for failed, outcome in self._superseded
        )

    def _is_loose(self, scope: str, seq: int | None) -> bool:
        """Tell whether *scope* may take another path at the event *seq*, or at any."""
        return any(
            is_around(one, scope) and (seq is None or since <= seq)
            for one, since in self._loose.items()
        )


def _is_refused(event: EventCopy) -> bool:
    """Tell whether a plugin refused to have the answer written."""
    by = event.data.get("answered_by")
    who = cast("dict[str, Any]", by).get("who") if isinstance(by, dict) else None
    refused = event.data.get("reason") == "refused"
    return event.kind.endswith(".failed") and who == "plugin" and refused
