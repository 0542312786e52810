"""The facts of one fork, compared with those of its origin.

    origin   note.added "a"   tool.completed   note.added "b"
    fork     note.added "a"   tool.completed   note.added "c"   llm.completed
             repeats it       is answered      is its own       …

Rules:

- A fact *repeats* one of the origin that says all that it says, in the same scope, after
  the same facts, and after as many requests and readings of the clock that the origin has
  there.
- Contents that are gone are not compared, all else is.
- Any other fact is the fork's *own*: its program may state it, and only a plugin knows
  which fields of its facts may differ. It is not compared, and counts so, if the fork
  still repeats its origin later, or if it is in the place of one that was left out.
- A fork that completes has a fact for each that its origin states: of the same type, in
  the same scope, or refused there by a plugin. Where it may take another path, it may
  lack some.
- The refusal of a plugin counts as a fact of the scope and type that it refused.
- Facts of performers may repeat the origin's, too, but may be left out: what is answered
  is not performed. Those of plugins' lanes are the fork's own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from muniment.verification.runs.copies import Copies, EventCopy
from muniment.verification.runs.origins import OriginRecord, Stated, is_of_plugin

__all__ = ["FactTally", "ForkFacts"]

_NAMED = 5
"""How many events a note names."""


@dataclass(slots=True)
class FactTally:
    """How many facts of forks repeat their origins, and how many are their own."""

    repeated: int = 0
    own: int = 0
    erased: int = 0
    """How many of those that repeat have contents that are gone."""


@dataclass(slots=True)
class _Some:
    """How many events there are of a sort, and which came first."""

    number: int = 0
    first: list[int] = field(default_factory=list[int])

    def add(self, number: int, first: Iterable[int]) -> None:
        """Add as many, of which these came first."""
        self.number += number
        self.first = sorted([*self.first, *first])[:_NAMED]


@dataclass(slots=True)
class ForkFacts:
    """The facts of a fork while its events are read."""

    tally: FactTally
    _own: _Some = field(default_factory=_Some)
    """Those that are its own for certain."""
    _late: dict[tuple[str, str], _Some] = field(
        default_factory=dict[tuple[str, str], _Some]
    )
    """Those after which it has not repeated anything yet, by scope and type."""
    _stood: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """How many are its own for certain, by scope and type."""
    _steps: Counter[str] = field(default_factory=Counter[str])
    """How many requests, and readings of its origin, it came to, by scope."""
    _reached: dict[str, int] = field(default_factory=dict[str, int])
    """The last fact of the origin that it repeated, by scope."""
    _used: set[int] = field(default_factory=set[int])
    """The facts of the origin that it repeated."""

    def step(self, scope: str) -> None:
        """Notice that the fork came to a request, or to a reading of its origin."""
        self._steps[scope] += 1

    def follow(self) -> None:
        """Notice that the fork repeats its origin here: what came before is decided."""
        for key, late in self._late.items():
            self._stood[key] += late.number
            self._add_own(late.number, late.first)
        self._late.clear()

    def take(
        self, event: EventCopy, record: OriginRecord, copies: Copies, *, sure: bool
    ) -> None:
        """Compare a fact; its place counts if it is *sure* which requests came before."""
        stated = Stated.of(event, copies)
        found = self._find(stated, record, sure=sure)
        if found is None:
            self._late.setdefault(stated.key, _Some()).add(1, [event.seq])
            return
        self.follow()
        self._used.add(found.seq)
        self._reached[stated.scope] = found.seq
        self.tally.repeated += 1
        self.tally.erased += stated.said is None or found.said is None

    def _add_own(self, number: int, first: Iterable[int]) -> None:
        self.tally.own += number
        self._own.add(number, first)

    def _find(self, fact: Stated, record: OriginRecord, *, sure: bool) -> Stated | None:
        """Return the fact of the origin that *fact* repeats."""
        if is_of_plugin(fact.scope):
            return None
        said, gone = record.said.get(fact.key, {}), record.gone.get(fact.key, {})
        equal = said.get(fact.said or fact.outline, [])
        found = self._next(fact.scope, equal, sure=sure)
        if found is None and fact.said is not None:
            found = self._next(fact.scope, gone.get(fact.outline, []), sure=sure)
        return found

    def _next(self, scope: str, equal: list[Stated], *, sure: bool) -> Stated | None:
        """Return the one of *equal* facts of the origin that is at this place."""
        reached, steps = self._reached.get(scope, -1), self._steps[scope]
        if not sure:
            at = bisect_right(equal, reached, key=lambda one: one.seq)
            return equal[at] if at < len(equal) else None
        at = bisect_left(
            equal, (steps, reached + 1), key=lambda one: (one.after, one.seq)
        )
        found = equal[at] if at < len(equal) else None
        return found if found is not None and found.after == steps else None

    def lacks(
        self, record: OriginRecord, may_lack: Callable[[str, int], bool]
    ) -> Iterator[Stated]:
        """Yield what a fork that completed should have stated, and did not.

        Args:
            record: what its origin states.
            may_lack: whether a fact of a scope, by its number, may be left out.

        """
        for key, stated in record.stated.items():
            left = [
                one
                for one in stated
                if one.seq not in self._used and not may_lack(one.scope, one.seq)
            ]
            instead = min(len(left), self._stood[key])
            instead += self._stand_in(key, len(left) - instead)
            yield from left[instead:][:1]

    def _stand_in(self, key: tuple[str, str], number: int) -> int:
        """Count up to *number* of the late facts as its own; return how many."""
        late = self._late.get(key, _Some())
        number = min(number, late.number)
        self._add_own(number, late.first[:number])
        return number

    def note(self, run: str, origin: str) -> str:
        """Return what a reader has to know of the fork's own facts; "" for nothing."""
        if not self._own.number:
            return ""
        more = self._own.number - len(self._own.first)
        named = ", ".join(map(str, self._own.first)) + (
            f" and {more} more" * (more > 0)
        )
        return (
            f"the facts {named} of run {run} are its own words: the run from which it "
            f"was forked, {origin}, states no such there"
        )
