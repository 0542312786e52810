"""The layers of a picture: which node stands in which, and in which order.

Rules (after Sugiyama, Tagawa and Toda, 1981):

- An edge that leads back to a node on the way to it is a *back edge*; it is laid out in
  the other direction. Without those, each edge leads to a later layer.
- An edge that passes layers has a *bend* in each, so that nothing stands on it. There are
  not more bends than a few for each node and edge: edges that would take more have none.
- The order of a layer follows that of its neighbours. The same graph is laid out in the
  same way, always.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Chain", "Layered", "layered", "neighbours"]

_BENDS = 4
"""How many bends there may be for each node and edge."""
_SWEEPS = 12
_FEW = 4000
"""Up to so many pieces of edges, crossings are counted and the best order is taken."""


@dataclass(frozen=True, slots=True)
class Chain:
    """An edge: the items that it touches, from the earlier layer to the later one."""

    edge: int
    items: tuple[int, ...]
    back: bool = False
    """Whether it leads from the last item to the first."""


@dataclass(slots=True)
class Layered:
    """Items, each in its layer: nodes by their numbers, then bends."""

    layer: list[int]
    chains: list[Chain]
    loops: list[int]
    """Edges from a node to itself."""
    rows: list[list[int]] = field(default_factory=list[list[int]])
    """The items of each layer, in order."""


def layered(count: int, edges: Sequence[tuple[int, int]]) -> Layered:
    """Return the layers of *count* nodes, the first of which comes first."""
    loops = [
        number for number, (source, target) in enumerate(edges) if source == target
    ]
    order, back = _walked(count, edges)
    made = Layered(_layers(order, edges, back), [], loops)
    _add_chains(made, edges, back)
    _put_in_rows(made, order)
    _sort_rows(made)
    return made


def _walked(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[int], set[int]]:
    """Return the nodes in the order in which they are met, and the edges that lead back."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, (source, target) in enumerate(edges):
        if source != target:
            leaving[source].append(number)
    state, order, back = bytearray(count), list[int](), set[int]()
    for first in range(count):
        if state[first]:
            continue
        state[first] = 1
        order.append(first)
        stack = [(first, iter(leaving[first]))]
        while stack:
            node, left = stack[-1]
            for number in left:
                target = edges[number][1]
                if state[target] == 0:
                    state[target] = 1
                    order.append(target)
                    stack.append((target, iter(leaving[target])))
                    break
                if state[target] == 1:
                    back.add(number)
            else:
                state[node] = 2
                stack.pop()
    return order, back


def _layers(
    order: Sequence[int], edges: Sequence[tuple[int, int]], back: set[int]
) -> list[int]:
    """Return the layer of each node: one after the latest that leads to it."""
    after: list[list[int]] = [[] for _ in order]
    entered = bytearray(len(order))
    for number, (source, target) in enumerate(edges):
        if source != target:
            one, other = (target, source) if number in back else (source, target)
            after[one].append(other)
            entered[other] = 1
    layer = [0] * len(order)
    for node in _sorted_by_edges(order, after):
        for other in after[node]:
            layer[other] = max(layer[other], layer[node] + 1)
    for node in order:
        if not entered[node] and after[node] and node:
            layer[node] = min(layer[one] for one in after[node]) - 1
    return layer


def _sorted_by_edges(order: Sequence[int], after: list[list[int]]) -> list[int]:
    """Return the nodes so that each comes before those that are *after* it."""
    left = [0] * len(order)
    for others in after:
        for one in others:
            left[one] += 1
    found = [one for one in order if not left[one]]
    for node in found:
        for other in after[node]:
            left[other] -= 1
            if not left[other]:
                found.append(other)
    return found


def _add_chains(
    made: Layered, edges: Sequence[tuple[int, int]], back: set[int]
) -> None:
    """Give each edge its bends, the short ones first, as long as there may be more."""
    left = _BENDS * (len(made.layer) + len(edges))
    bent = set[int]()
    spans = sorted(
        (abs(made.layer[target] - made.layer[source]) - 1, number)
        for number, (source, target) in enumerate(edges)
    )
    for length, number in spans:
        if 0 < length <= left:
            left -= length
            bent.add(number)
    for number, (source, target) in enumerate(edges):
        if source == target:
            continue
        one, other = (target, source) if number in back else (source, target)
        bends = list[int]()
        if number in bent:
            for layer in range(made.layer[one] + 1, made.layer[other]):
                bends.append(len(made.layer))
                made.layer.append(layer)
        made.chains.append(Chain(number, (one, *bends, other), number in back))


def _put_in_rows(made: Layered, order: Sequence[int]) -> None:
    """Put the items in rows, those of one branch beside each other."""
    made.rows = [[] for _ in range(max(made.layer, default=-1) + 1)]
    bends: dict[int, list[Chain]] = {}
    for chain in made.chains:
        bends.setdefault(chain.items[0], []).append(chain)
    for node in order:
        made.rows[made.layer[node]].append(node)
        for chain in bends.get(node, ()):
            for item in chain.items[1:-1]:
                made.rows[made.layer[item]].append(item)


def _sort_rows(made: Layered) -> None:
    """Order each row by its neighbours, down and up again, until nothing is gained."""
    above, below = neighbours(made)
    pieces = sum(map(len, above))
    best, kept = _crossings(made, below) if pieces <= _FEW else 0, made.rows
    if not best and pieces <= _FEW:
        return
    for sweep in range(_SWEEPS if pieces <= _FEW else 4):
        rows = made.rows if sweep % 2 == 0 else made.rows[::-1]
        beside = above if sweep % 2 == 0 else below
        place = _places(made)
        fresh: list[list[int]] = []
        for row in rows:
            fresh.append(_by_neighbours(row, beside, place))
            for number, item in enumerate(fresh[-1]):
                place[item] = number
        made.rows = fresh if sweep % 2 == 0 else fresh[::-1]
        if pieces <= _FEW:
            crossed = _crossings(made, below)
            if crossed < best:
                best, kept = crossed, made.rows
            if not best:
                break
    if pieces <= _FEW:
        made.rows = kept


def neighbours(made: Layered) -> tuple[list[list[int]], list[list[int]]]:
    """Return the items before and after each item, along the edges."""
    above: list[list[int]] = [[] for _ in made.layer]
    below: list[list[int]] = [[] for _ in made.layer]
    for chain in made.chains:
        for one, other in pairwise(chain.items):
            above[other].append(one)
            below[one].append(other)
    return above, below


def _places(made: Layered) -> list[float]:
    place = [0.0] * len(made.layer)
    for row in made.rows:
        for number, item in enumerate(row):
            place[item] = number
    return place


def _by_neighbours(
    row: list[int], beside: list[list[int]], place: list[float]
) -> list[int]:
    def wanted(item: int) -> float:
        others = beside[item]
        if not others:
            return place[item]
        return sum(place[one] for one in others) / len(others)

    return sorted(row, key=wanted)


def _crossings(made: Layered, below: list[list[int]]) -> int:
    """Return how many pieces of edges cross between the rows."""
    place, found = _places(made), 0
    for row in made.rows:
        seen: list[float] = []
        for item in row:
            ends = sorted(place[one] for one in below[item])
            for end in ends:
                found += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return found
