"""Which entries of two runs belong together: equal ones first, then those alike.

    paired = pair_facts([a, b, c], [a, c, d])
    paired.pairs      [(a, a), (c, c)]          paired.missing  [b]
    paired.extra      [d]                       paired.moved    frozenset()

Rules:

- It is done in one scope at a time. Equal beginnings and ends are taken off first: so a
  single entry that was dropped, doubled or changed is the one that remains.
- Facts that are equal belong together wherever they stand. Those outside the longest
  series that kept its order were *moved*.
- The nth of equal requests belongs to the nth, whatever was answered, and whatever was
  asked inside: a program that got the same answers in another order was told something
  else. The order of effects that ask for different things is not compared, since calls
  that were made at once are recorded as they come.
- What has no equal belongs to what is alike between the same neighbours, else anywhere:
  a fact or an effect of the same type.
- What is left is paired with one of another type between the same neighbours: its type
  changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from muniment.encoding.canonical import JsonValue, canonical
from muniment.replays.account import AccountEntry

__all__ = ["PairedEntries", "pair_effects", "pair_facts"]

Key: TypeAlias = Callable[[AccountEntry], Hashable]


@dataclass(slots=True)
class PairedEntries:
    """What belongs together of one scope, and what is left."""

    pairs: list[tuple[AccountEntry, AccountEntry]] = field(
        default_factory=list[tuple[AccountEntry, AccountEntry]]
    )
    """Expected and observed, in the order in which they are expected."""
    missing: list[AccountEntry] = field(default_factory=list[AccountEntry])
    extra: list[AccountEntry] = field(default_factory=list[AccountEntry])
    moved: frozenset[int] = frozenset()
    """The positions in `pairs` of facts that stand elsewhere."""


def pair_facts(
    expected: Sequence[AccountEntry], observed: Sequence[AccountEntry]
) -> PairedEntries:
    """Pair the facts of one scope."""
    work = _Pairing(expected, observed)
    work.trim(_whole)
    work.take(_whole)
    equal = work.in_order()
    work.take(_kind, between=equal)
    work.take(_kind)
    work.take(_any, between=equal)
    return work.result(ordered=True)


def pair_effects(
    expected: Sequence[AccountEntry], observed: Sequence[AccountEntry]
) -> PairedEntries:
    """Pair the effects of one scope, whose order is not compared."""
    work = _Pairing(expected, observed)
    work.trim(_whole)
    work.take(_request)
    equal = work.in_order()
    work.take(_kind, between=equal)
    work.take(_kind)
    work.take(_any, between=equal)
    return work.result(ordered=False)


def _whole(entry: AccountEntry) -> Hashable:
    answer = None if entry.answer is None else _parts(entry.answer)
    return (*_request(entry), entry.outcome, answer)


def _request(entry: AccountEntry) -> tuple[Hashable, ...]:
    return entry.type, _parts(entry.data), entry.links


def _parts(data: Mapping[str, JsonValue]) -> Hashable:
    """Return *data* in parts, each of which may be as deep as canonical JSON goes."""
    return tuple((name, canonical(data[name])) for name in sorted(data))


def _kind(entry: AccountEntry) -> Hashable:
    return entry.type


def _any(_: AccountEntry) -> Hashable:
    return None


class _Pairing:
    """Two sequences, and what was found to belong together so far."""

    def __init__(
        self, expected: Sequence[AccountEntry], observed: Sequence[AccountEntry]
    ) -> None:
        self._mine, self._theirs = expected, observed
        self.found: dict[int, int] = {}
        """Position in what is expected → position in what was observed."""
        self._left = list(range(len(expected)))
        self._right = list(range(len(observed)))

    def trim(self, key: Key) -> None:
        """Pair equal beginnings and equal ends.

        Where both have an equal number of one request, its nth stays with the nth.
        """
        mine, theirs = [key(one) for one in self._mine], [key(o) for o in self._theirs]
        short, start, end = min(len(mine), len(theirs)), 0, 0
        while start < short and mine[start] == theirs[start]:
            start += 1
        while end < short - start and mine[-1 - end] == theirs[-1 - end]:
            end += 1
        self.found |= {one: one for one in range(start)}
        self.found |= {len(mine) - one: len(theirs) - one for one in range(end, 0, -1)}
        self._left = list(range(start, len(mine) - end))
        self._right = list(range(start, len(theirs) - end))

    def take(self, key: Key, between: Sequence[int] | None = None) -> None:
        """Pair what has the same *key*, in order; with the same neighbours, if given.

        *between* are the observed positions of neighbours that kept their order.
        """
        ours: list[int] = []
        if between is not None:
            back = {seen: one for one, seen in self.found.items()}
            ours = [back[one] for one in between]
        waiting: dict[Hashable, deque[int]] = {}
        for one in self._right:
            gap = None if between is None else bisect_left(between, one)
            waiting.setdefault((gap, key(self._theirs[one])), deque()).append(one)
        left: list[int] = []
        for one in self._left:
            gap = None if between is None else bisect_left(ours, one)
            alike = waiting.get((gap, key(self._mine[one])))
            if alike:
                self.found[one] = alike.popleft()
            else:
                left.append(one)
        self._left = left
        self._right = sorted(one for many in waiting.values() for one in many)

    def in_order(self) -> list[int]:
        """Return the observed positions of as many pairs as kept their order."""
        return _longest_rise([self.found[one] for one in sorted(self.found)])

    def result(self, *, ordered: bool) -> PairedEntries:
        """Return what belongs together, what is left, and what moved, if that counts."""
        order, kept = sorted(self.found), frozenset(self.in_order())
        moved = {one for one in order if ordered and self.found[one] not in kept}
        return PairedEntries(
            [(self._mine[one], self._theirs[self.found[one]]) for one in order],
            [self._mine[one] for one in self._left],
            [self._theirs[one] for one in self._right],
            frozenset(at for at, one in enumerate(order) if one in moved),
        )


def _longest_rise(numbers: Sequence[int]) -> list[int]:
    """Return the longest part of *numbers* that rises, in order."""
    ends: list[int] = []
    """The smallest number with which a rise of each length ends: its position."""
    before: list[int | None] = []
    values: list[int] = []
    for at, number in enumerate(numbers):
        length = bisect_left(values, number)
        before.append(ends[length - 1] if length else None)
        if length == len(ends):
            ends.append(at)
            values.append(number)
        else:
            ends[length], values[length] = at, number
    rise: list[int] = []
    last = ends[-1] if ends else None
    while last is not None:
        rise.append(numbers[last])
        last = before[last]
    return rise[::-1]
