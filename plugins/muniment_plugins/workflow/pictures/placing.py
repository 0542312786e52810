"""Where the items of a row stand: as near to their neighbours as the others let them.

Rule: each row is placed so that the squares of the distances to the wanted places are
least, in the order of the row and without overlap. That takes one pass ("pool adjacent
violators"), so a picture takes time that is linear in its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from muniment_plugins.workflow.pictures.layers import Layered, neighbours

__all__ = ["placed"]

_MANY = 20_000
_STIFF = 8.0
"""How much more than a node a bend pulls on a bend: long edges should be straight."""
_LOOSE = 0.2
"""How much less the first bend after a node holds on to its place."""


def placed(
    made: Layered, nodes: int, sizes: Sequence[float], gap: float
) -> list[float]:
    """Return the middle of each item across the direction of the edges.

    Args:
        made: the items in their rows.
        nodes: how many of them are nodes; the others are bends.
        sizes: how much room each takes.
        gap: the room between two nodes.

    """
    above, below = neighbours(made)
    middle = [0.0] * len(made.layer)
    apart = [_distances(row, nodes, sizes, gap) for row in made.rows]
    for row, steps in zip(made.rows, apart, strict=True):
        at = 0.0
        for item, step in zip(row, [0.0, *steps], strict=False):
            at += step
            middle[item] = at
        for item in row:
            middle[item] -= at / 2
    for sweep in range(5 if len(made.layer) > _MANY else 13):
        downwards = sweep % 2 == 0  # the last one, too: what follows on is in line then
        beside = above if downwards else below
        numbers = range(len(made.rows))
        for number in numbers if downwards else reversed(numbers):
            row = made.rows[number]
            wanted = [_wanted(item, beside, middle, nodes) for item in row]
            weights = [_weight(item, beside, nodes) for item in row]
            found = _spread(wanted, weights, apart[number])
            for item, at in zip(row, found, strict=True):
                middle[item] = at
    _straighten(made, nodes, middle, apart)
    return middle


def _weight(item: int, beside: list[list[int]], nodes: int) -> float:
    """Return how much *item* holds on to its place: bends in a line do most."""
    if item < nodes:
        return 1.0
    return _STIFF if any(one >= nodes for one in beside[item]) else _LOOSE


def _straighten(
    made: Layered, nodes: int, middle: list[float], apart: list[list[float]]
) -> None:
    """Put bends that follow on each other in one line, as far as others leave room."""
    where = {
        item: (layer, number)
        for layer, row in enumerate(made.rows)
        for number, item in enumerate(row)
        if item >= nodes
    }

    def room(item: int) -> tuple[float, float]:
        layer, number = where[item]
        row, steps = made.rows[layer], apart[layer]
        low = middle[row[number - 1]] + steps[number - 1] if number else -inf
        last = number + 1 == len(row)
        return low, inf if last else middle[row[number + 1]] - steps[number]

    for chain in made.chains:
        line, low, high = list[int](), -inf, inf
        for item in chain.items[1:-1]:
            left, right = room(item)
            if line and min(high, right) < max(low, left):
                _align(line, low, high, middle)
                line, low, high = [], -inf, inf
            line.append(item)
            low, high = max(low, left), min(high, right)
        _align(line, low, high, middle)


def _align(line: list[int], low: float, high: float, middle: list[float]) -> None:
    if line:
        mean = sum(middle[item] for item in line) / len(line)
        at = max(low, min(high, mean))
        for item in line:
            middle[item] = at


def _distances(
    row: Sequence[int], nodes: int, sizes: Sequence[float], gap: float
) -> list[float]:
    return [
        (sizes[one] + sizes[other]) / 2
        + (gap if one < nodes and other < nodes else gap / 2)
        for one, other in pairwise(row)
    ]


def _wanted(
    item: int, beside: list[list[int]], middle: list[float], nodes: int
) -> float:
    others = beside[item]
    if not others:
        return middle[item]
    pull = weight = 0.0
    for one in others:
        much = _STIFF if one >= nodes and item >= nodes else 1.0
        pull += much * middle[one]
        weight += much
    return pull / weight


def _spread(
    wanted: Sequence[float], weights: Sequence[float], apart: Sequence[float]
) -> list[float]:
    """Return places near those that are *wanted*, at least so far *apart*."""
    pools: list[tuple[float, float, int]] = []
    shift, shifts = 0.0, list[float]()
    for number, (want, weight) in enumerate(zip(wanted, weights, strict=True)):
        shift += apart[number - 1] if number else 0.0
        shifts.append(shift)
        mean, heavy, size = want - shift, weight, 1
        while pools and pools[-1][0] > mean:
            other, more, items = pools.pop()
            mean = (mean * heavy + other * more) / (heavy + more)
            heavy, size = heavy + more, size + items
        pools.append((mean, heavy, size))
    means = [mean for mean, _, size in pools for _ in range(size)]
    return [mean + move for mean, move in zip(means, shifts, strict=True)]
