"""Comparing two runs: where they first differ, and how their structure differs.

    found = contrast(ledger, one, other)
    found.differences[0]     effect in scope "map/0" at event 7: request.q was 0, is 1
    found.structure          {"tool.requested": (3, 4)}

Rules:

- The runs are matched as a replay matches: facts by their content in their scope,
  effects by scope, kind and request. Times, positions and salts are not compared.
- An item without a match is paired with the next of its type in the same scope, so that
  the difference can be named by field.
- Differences come in the order of the first run's log; items that only the second run
  has follow, and the result comes last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import CONCLUDED, ENDS, LIFE, OPEN
from muniment.recorded.compare import differences, first_difference, is_compared
from muniment.recorded.divergence import Divergence
from muniment.recorded.items import Item
from muniment.recorded.run import Recorded
from muniment.runs.resume import recorded_run

if TYPE_CHECKING:
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
    """How many facts, effects, outcomes and results were compared."""

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
        ErasedError: a content that is needed was erased.

    """
    first = recorded_run(ledger, ledger.run_id(one))
    second = recorded_run(ledger, ledger.run_id(other))
    ids = (str(first.events[0].run), str(second.events[0].run))
    compared = _compared(first, second)
    found = [
        *_params(first, second),
        *sorted(_unmatched(first, second), key=lambda one: one.seq or 0),
        *_extra(second),
        *_ends(first, second),
    ]
    return Contrast(*ids, tuple(found), _structure(first, second), compared)


def _compared(first: Recorded, second: Recorded) -> dict[str, int]:
    """Return how much of *first* is compared; a run without an end has no result."""
    items = _items(first)
    effects = [one for one in items if one.kind]
    ended = [one for one in (first, second) if _end(one) != {"status": "open"}]
    return {
        "facts": len(items) - len(effects),
        "effects": len(effects),
        "outcomes": sum(one.outcome is not None for one in effects),
        "results": len(ended) // 2,
    }


def _params(first: Recorded, second: Recorded) -> Iterator[Divergence]:
    started = first.events[0]
    mine = first.data(started).get("params")
    theirs = second.data(second.events[0]).get("params")
    for difference in differences(mine, theirs):
        yield Divergence("params", "", started.seq, *difference)


def _items(record: Recorded) -> list[Item]:
    items = [
        item
        for name, scope in record.scopes.items()
        if is_compared(name)
        for item in scope.items
        if item.kind or not item.superseded
    ]
    return sorted(items, key=lambda item: item.event.seq)


def _unmatched(first: Recorded, second: Recorded) -> Iterator[Divergence]:
    """Yield items of *first* without an equal in *second*; use up the others."""
    lonely: list[Item] = []
    for item in _items(first):
        partner = (
            second.find_effect(item.scope, item.key)
            if item.kind
            else second.find_fact(item.scope, item.event.type, first.data(item.event))
        )
        if partner is None:
            lonely.append(item)
            continue
        second.use(partner)
        if item.kind:
            yield from _outcomes(first, item, second, partner)
    for item in lonely:
        near = second.next_in(item.scope, effect=bool(item.kind))
        what = "effect" if item.kind else "fact"
        if near is None:
            yield item.missing
            continue
        near.used = True
        yield from _pair(what, first, item, second, near)


def _pair(
    what: str, first: Recorded, item: Item, second: Recorded, other: Item
) -> Iterator[Divergence]:
    mine: JsonValue = {"type": item.event.type, **first.data(item.event)}
    theirs: JsonValue = {"type": other.event.type, **second.data(other.event)}
    difference = first_difference(mine, theirs)
    if difference is not None:
        yield Divergence(what, item.scope, item.event.seq, *difference)


def _outcomes(
    first: Recorded, item: Item, second: Recorded, partner: Item
) -> Iterator[Divergence]:
    mine, theirs = _outcome(first, item), _outcome(second, partner)
    difference = first_difference(mine, theirs)
    if difference is not None:
        seq = item.event.seq if item.outcome is None else item.outcome.seq
        yield Divergence("outcome", item.scope, seq, *difference)


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
        yield Divergence("result", "", first.events[-1].seq, *difference)


def _end(record: Recorded) -> JsonValue:
    """Return how the run ended, and its result or error."""
    last = [event for event in record.events if event.type in LIFE][-1]
    if last.type not in CONCLUDED:
        return {"status": OPEN}
    data = record.data(last)
    names = ("result", "error_type", "message")
    return {
        "status": ENDS[last.type],
        **{name: data[name] for name in names if name in data},
    }


def _structure(first: Recorded, second: Recorded) -> dict[str, tuple[int, int]]:
    mine = Counter(event.type for event in first.events)
    theirs = Counter(event.type for event in second.events)
    return {
        kind: (mine[kind], theirs[kind])
        for kind in sorted(mine.keys() | theirs.keys())
        if mine[kind] != theirs[kind]
    }
