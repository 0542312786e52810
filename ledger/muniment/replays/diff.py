"""Comparing two runs: where they first differ, and how their structure differs.

    found = contrast(ledger, one, other)
    found.differences[0]     effect in scope "map/0" at event 7: request.q was 0, is 1
    found.structure          {"tool.requested": (3, 4)}

Rules:

- The runs are matched as a replay matches: facts by their content in their scope,
  effects by scope, kind and request. Times, positions and salts are not compared.
- Whether events say that they are private is compared, since both are records; a replay
  does not compare it, which is of one run alone, and not told what is kept private around.
- An item without a match is paired with the next of its type in the same scope, so that
  the difference can be named by field.
- Effects that the performers of two equal requests asked for are compared in the same
  way, lane by lane, and so are the runs that two equal calls came to, with all that is
  below. An effect that somebody else than its performer answered holds nothing to compare.
- Differences come in the order of the first run's log; items that only the second run
  has follow, and the result comes last.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.events.visibility import VISIBILITY
from muniment.formats.lifecycle import CONCLUDED, ENDS, LIFE, OPEN
from muniment.recorded.compare import differences, first_difference, is_compared
from muniment.recorded.divergence import Divergence, discreet
from muniment.recorded.items import Item
from muniment.recorded.run import Recorded
from muniment.replays.nested import child_called, lanes_of
from muniment.runs.resume import recorded_run

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["Contrast", "contrast"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """The differences between two runs."""

    one: str
    other: str
    differences: tuple[Divergence, ...]
    """`expected` and `seq` are the first run's, `got` is the second's."""
    structure: dict[str, tuple[int, int]]
    """Event type → how many in each run, if that differs."""
    compared: dict[str, int]
    """How many facts, effects, outcomes, results and child runs were compared, with what
    is in effects and child runs."""

    @property
    def equal(self) -> bool:
        """Whether both state, ask and return the same."""
        return not self.differences

    def to_json(self) -> dict[str, JsonValue]:
        """Return the contrast as plain JSON."""
        return {
            "one": self.one,
            "other": self.other,
            "equal": self.equal,
            "compared": dict(self.compared),
            "differences": [one.to_json() for one in self.differences],
            "structure": {name: list(both) for name, both in self.structure.items()},
        }


def contrast(ledger: Ledger, one: str, other: str) -> Contrast:
    """Return the differences between the runs *one* and *other*.

    Raises:
        CannotTellError: neither holds anything to compare: that is not being equal.
        ErasedError: a content that is needed was erased.

    """
    first = recorded_run(ledger, ledger.run_id(one))
    second = recorded_run(ledger, ledger.run_id(other))
    ids = (str(first.events[0].run), str(second.events[0].run))
    work = _Work(ledger, first, second, {ids}, _compared(first, second))
    found = [*_params(first, second), *work.differences()]
    if not (found or any(work.compared.values())):
        raise CannotTellError(
            "the two runs hold nothing that could be compared",
            rule="diff/nothing",
            place=f"runs {ids[0]} and {ids[1]}",
            remedy="a run without facts, effects and a result says nothing; "
            f"`muniment runs explain {ids[0]}` says how it went",
        )
    told = discreet(found, ledger.event)
    return Contrast(*ids, told, _structure(first, second), dict(work.compared))


def _compared(first: Recorded, second: Recorded) -> Counter[str]:
    """Return how much of *first* is compared; a run without an end has no result.

    What its effects hold is counted where they are compared.
    """
    items = _items(first)
    effects = [one for one in items if one.kind]
    ended = [one for one in (first, second) if _end(one) != {"status": "open"}]
    return Counter(
        facts=len(items) - len(effects),
        effects=len(effects),
        outcomes=sum(one.outcome is not None for one in effects),
        results=len(ended) // 2,
        child_runs=0,
    )


def _params(first: Recorded, second: Recorded) -> Iterator[Divergence]:
    started = first.events[0]
    mine = first.data(started).get("params")
    theirs = second.data(second.events[0]).get("params")
    for difference in differences(mine, theirs):
        found = Divergence("params", "", started.seq, *difference)
        yield found.shown(started, second.events[0])


def _items(record: Recorded) -> list[Item]:
    items = [
        item
        for name, scope in record.scopes.items()
        if is_compared(name)
        for item in scope.items
        if item.kind or not item.superseded
    ]
    return sorted(items, key=lambda item: item.event.seq)


@dataclass(frozen=True, slots=True)
class _Work:
    """The comparison of two records."""

    ledger: Ledger
    first: Recorded
    second: Recorded
    runs: set[tuple[str, str]]
    """The pairs of runs that were compared."""
    compared: Counter[str]

    def differences(self) -> list[Divergence]:
        """Return what differs, but for what the runs were given."""
        return [
            *sorted(self._unmatched(), key=lambda one: one.position),
            *_extra(self.second),
            *_ends(self.first, self.second),
        ]

    def _unmatched(self) -> Iterator[Divergence]:
        """Yield items of the first without an equal in the second; use up the others."""
        first, second = self.first, self.second
        lonely: list[Item] = []
        for item in _items(first):
            partner = (
                second.find_effect(item.scope, item.key)
                if item.kind
                else second.find_fact(item.scope, item.event.type, first.stated(item))
            )
            if partner is None:
                lonely.append(item)
                continue
            second.use(partner)
            if item.kind:
                yield from self._effects(item, partner)
            else:
                yield from _visible("fact", item.event, partner.event)
        for item in lonely:
            near = second.next_in(item.scope, effect=bool(item.kind))
            if near is not None:
                near.used = True
            yield from self._lonely(item, near)

    def _lonely(self, item: Item, near: Item | None) -> Iterator[Divergence]:
        """Yield how *item*, which has no equal, differs from what stands there."""
        if near is None:
            yield item.missing
        else:
            what = "effect" if item.kind else "fact"
            yield from _pair(what, self.first, item, self.second, near)

    def _effects(self, item: Item, partner: Item) -> Iterator[Divergence]:
        """Compare two effects that asked for the same."""
        yield from _visible("effect", item.event, partner.event)
        yield from _outcomes(self.first, item, self.second, partner)
        mine, theirs = lanes_of(self.first, item), lanes_of(self.second, partner)
        if mine is None or theirs is None:
            return
        for lane in {**mine, **theirs}:
            yield from self._inside(item, mine.get(lane, []), theirs.get(lane, []))
        yield from self._called(item, partner)

    def _inside(
        self, item: Item, mine: list[Item], theirs: list[Item]
    ) -> Iterator[Divergence]:
        """Compare the effects of one lane inside *item*."""
        self.compared["effects"] += len(mine)
        self.compared["outcomes"] += sum(one.outcome is not None for one in mine)
        waiting: dict[str, deque[Item]] = {}
        for one in theirs:
            waiting.setdefault(one.key, deque()).append(one)
        lonely: list[Item] = []
        for one in mine:
            if alike := waiting.get(one.key):
                yield from self._effects(one, alike.popleft())
            else:
                lonely.append(one)
        left = sorted(chain(*waiting.values()), key=lambda one: one.event.seq)
        for one, near in zip_longest(lonely, left):
            if one is not None:
                yield from self._lonely(one, near)
            elif near is not None:
                kind, after = near.event.type, item.event.seq
                yield Divergence("extra", near.scope, None, "type", None, kind, after)

    def _called(self, item: Item, partner: Item) -> Iterator[Divergence]:
        """Compare the child runs that both called, whose parameters were asked for."""
        one = child_called(self.ledger, self.first, item)
        other = child_called(self.ledger, self.second, partner)
        if one is None or other is None or (one, other) in self.runs:
            return
        self.runs.add((one, other))
        mine, theirs = recorded_run(self.ledger, one), recorded_run(self.ledger, other)
        self.compared.update(_compared(mine, theirs))
        self.compared["child_runs"] += 1
        work = _Work(self.ledger, mine, theirs, self.runs, self.compared)
        for found in work.differences():
            after = item.event.seq if found.seq is None else found.after
            yield replace(found, run=found.run or one, after=after)


def _pair(
    what: str, first: Recorded, item: Item, second: Recorded, other: Item
) -> Iterator[Divergence]:
    mine: JsonValue = {"type": item.event.type, **first.data(item.event)}
    theirs: JsonValue = {"type": other.event.type, **second.data(other.event)}
    difference = first_difference(mine, theirs) or item.links.difference(other.links)
    if difference is not None:
        found = Divergence(what, item.scope, item.event.seq, *difference)
        yield found.shown(item.event, other.event)


def _outcomes(
    first: Recorded, item: Item, second: Recorded, partner: Item
) -> Iterator[Divergence]:
    mine, theirs = _outcome(first, item), _outcome(second, partner)
    difference = first_difference(mine, theirs)
    if difference is not None:
        seq = item.event.seq if item.outcome is None else item.outcome.seq
        found = Divergence("outcome", item.scope, seq, *difference)
        yield found.shown(*(one.outcome or one.event for one in (item, partner)))
    elif item.outcome is not None and partner.outcome is not None:
        yield from _visible("outcome", item.outcome, partner.outcome)


def _visible(what: str, one: Event, other: Event) -> Iterator[Divergence]:
    """Compare whether two events say that they are private."""
    mine, theirs = one.raw.get(VISIBILITY), other.raw.get(VISIBILITY)
    if mine != theirs:
        yield Divergence(what, one.scope or "", one.seq, VISIBILITY, mine, theirs)


def _outcome(record: Recorded, item: Item) -> JsonValue:
    if item.outcome is None:
        return {"type": "(none)"}
    return {"type": item.outcome.type, **record.data(item.outcome)}


def _extra(second: Recorded) -> Iterator[Divergence]:
    for item in _items(second):
        if not item.used:
            kind = item.event.type
            yield Divergence("extra", item.scope, None, "type", None, kind)


def _ends(first: Recorded, second: Recorded) -> Iterator[Divergence]:
    mine, theirs = _end(first), _end(second)
    difference = first_difference(mine, theirs)
    if difference is not None:
        found = Divergence("result", "", first.events[-1].seq, *difference)
        yield found.shown(*(_last(one) for one in (first, second)))


def _end(record: Recorded) -> JsonValue:
    """Return how the run ended, and its result or error."""
    last = _last(record)
    if last.type not in CONCLUDED:
        return {"status": OPEN}
    data = record.data(last)
    names = ("result", "error_type", "message")
    return {
        "status": ENDS[last.type],
        **{name: data[name] for name in names if name in data},
    }


def _last(record: Recorded) -> Event:
    """Return what was last said of the run itself."""
    return [event for event in record.events if event.type in LIFE][-1]


def _structure(first: Recorded, second: Recorded) -> dict[str, tuple[int, int]]:
    mine = Counter(event.type for event in first.events)
    theirs = Counter(event.type for event in second.events)
    return {
        kind: (mine[kind], theirs[kind])
        for kind in sorted(mine.keys() | theirs.keys())
        if mine[kind] != theirs[kind]
    }
