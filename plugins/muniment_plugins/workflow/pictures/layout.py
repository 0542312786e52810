"""The layout of a picture: where each node stands, and which way each edge takes.

    drawn = laid_out(sizes, edges, labels, kinds)
    drawn.boxes[1].x, drawn.routes[0].curves, drawn.routes[0].label

Rules:

- Edges lead downwards, or to the right where that fits a page better. Those that lead back
  begin and end where the others do, the other way round.
- Each end of an edge has a place of its own at its node, in the order of the other ends, so
  edges between the same two nodes stay apart.
- Nothing depends on anything but the graph and its texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from muniment_plugins.workflow.pictures.layers import Chain, Layered, layered
from muniment_plugins.workflow.pictures.placing import placed
from muniment_plugins.workflow.pictures.shapes import Box, inset

__all__ = ["Curve", "Direction", "Drawn", "PictureParts", "Point", "Route", "laid_out"]

Direction: TypeAlias = Literal["down", "right"]
Point: TypeAlias = tuple[float, float]
Curve: TypeAlias = tuple[Point, Point, Point, Point]

_PAGE = 1200.0
_MARGIN = 20.0
_BESIDE = 26.0
"""Between two nodes of a row."""
_BETWEEN = 46.0
"""Between two rows."""
_BEND = 10.0
_TIP = 1.5
"""How far before the side of a node the tip of an edge ends."""
_LOOP = 34.0
_BARS = ("fork", "join")
_STEP = 10.0
_LONGEST = 400.0


@dataclass(frozen=True, slots=True)
class PictureParts:
    """What is laid out."""

    sizes: Sequence[Point]
    """Width and height of each node."""
    kinds: Sequence[str]
    edges: Sequence[tuple[int, int]]
    labels: Sequence[float]
    """How wide the label of each edge is; 0 without one."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way of an edge, from its source to its target."""

    edge: int
    curves: tuple[Curve, ...]
    back: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture without its texts."""

    width: float
    height: float
    direction: Direction
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    """In the order of the edges."""


def laid_out(parts: PictureParts, direction: Direction | None = None) -> Drawn:
    """Return the layout of *parts*; without a direction, in the one that fits a page."""
    made = layered(len(parts.sizes), parts.edges)
    if direction is None:
        direction = _direction(made, parts)
    return _Layout(made, parts, direction).drawn()


def _direction(made: Layered, parts: PictureParts) -> Direction:
    """Return the direction in which the picture fits a page, or is the smaller."""
    count = len(parts.sizes)
    widths = [size[0] for size in parts.sizes]
    rows = [[one for one in row if one < count] for row in made.rows]
    label = max(parts.labels, default=0)
    across = sum(max((widths[one] for one in row), default=0) for row in rows)
    right = across + len(rows) * (_BETWEEN + label)
    if right <= _PAGE:
        return "right"
    down = max(sum(widths[one] + _BESIDE for one in row) for row in rows)
    high = max(map(len, rows)) * 70.0
    return "down" if max(down, len(rows) * 95.0) < max(right, high) else "right"


class _Layout:
    """One layout, in places along the edges and across them."""

    def __init__(
        self, made: Layered, parts: PictureParts, direction: Direction
    ) -> None:
        self.made, self.parts = made, parts
        self.direction: Direction = direction
        self.count = len(parts.sizes)
        turned = direction == "right"
        self.along = [size[0 if turned else 1] for size in parts.sizes]
        self.side = [size[1 if turned else 0] for size in parts.sizes]
        """How long the side of each node is at which edges begin and end."""
        self._stretch_bars()
        self.across = [*self.side]
        for edge in made.loops:
            node = parts.edges[edge][0]
            room = 14.0 if turned else parts.labels[edge]
            self.across[node] = self.side[node] + 2 * (_LOOP + room)
        bends = len(made.layer) - self.count
        sizes = [*self.across, *[_BEND] * bends]
        self.cross = placed(made, self.count, sizes, _BESIDE)
        self.begin: list[float] = []
        self.end: list[float] = []
        self._place_rows()

    def _stretch_bars(self) -> None:
        """Make forks and joins so long that the ends of their edges stay apart."""
        ends = [0] * self.count
        for pair in self.parts.edges:
            for node in pair:
                ends[node] += 1
        for node, kind in enumerate(self.parts.kinds):
            if kind in _BARS:
                wanted = min(_LONGEST, _STEP * ends[node] + 20)
                self.side[node] = max(self.side[node], wanted)

    def _place_rows(self) -> None:
        """Set where each row begins and ends, with room for the labels between."""
        room = [0.0] * len(self.made.rows)
        for chain in self.made.chains:
            label = self.parts.labels[chain.edge]
            if label:
                one = chain.items[-2 if chain.back else 0]
                layer = self.made.layer[one]
                need = 22.0 if self.direction == "down" else label + 12
                room[layer] = max(room[layer], need)
        at = _MARGIN
        for row, more in zip(self.made.rows, room, strict=True):
            thick = max((self.along[one] for one in row if one < self.count), default=0)
            self.begin.append(at)
            self.end.append(at + thick)
            at += thick + _BETWEEN + more

    def drawn(self) -> Drawn:
        """Return the layout."""
        shift = _MARGIN - min(
            (self.cross[one] - self._half(one) for one in range(len(self.cross))),
            default=0,
        )
        self.cross = [one + shift for one in self.cross]
        boxes = tuple(self._box(node) for node in range(self.count))
        routes = sorted(
            [*self._routes(), *map(self._loop, self.made.loops)],
            key=lambda one: one.edge,
        )
        long = (self.end[-1] if self.end else 0) + _MARGIN
        wide = _MARGIN + max(
            (self.cross[one] + self._half(one) for one in range(len(self.cross))),
            default=0,
        )
        width, height = self._turned(long, wide)
        return Drawn(width, height, self.direction, boxes, tuple(routes))

    def _half(self, item: int) -> float:
        return (self.across[item] if item < self.count else _BEND) / 2

    def _turned(self, along: float, across: float) -> Point:
        return (along, across) if self.direction == "right" else (across, along)

    def _middle(self, node: int) -> float:
        layer = self.made.layer[node]
        return (self.begin[layer] + self.end[layer]) / 2

    def _box(self, node: int) -> Box:
        x, y = self._turned(self._middle(node), self.cross[node])
        return Box(x, y, *self._turned(self.along[node], self.side[node]))

    # -- edges ---------------------------------------------------------------------

    def _routes(self) -> list[Route]:
        chains = self.made.chains
        leave = self._ports({n: (c.items[0], c.items[1]) for n, c in enumerate(chains)})
        enter = self._ports(
            {n: (c.items[-1], c.items[-2]) for n, c in enumerate(chains)}
        )
        return [
            self._route(chain, leave[number], enter[number])
            for number, chain in enumerate(chains)
        ]

    def _ports(self, ends: dict[int, tuple[int, int]]) -> list[float]:
        """Return the offset of each end from the middle of its node.

        Edges that lead ahead are around the middle, so that what follows on is in line.
        """
        at: dict[int, list[tuple[float, int]]] = {}
        for number, (node, other) in ends.items():
            at.setdefault(node, []).append((self.cross[other], number))
        found = [0.0] * len(ends)
        turned = self.direction == "right"
        most, corners = (12.0, 16.0) if turned else (24.0, 36.0)
        for node, listed in at.items():
            listed.sort()
            ahead = [
                place
                for place, (_, number) in enumerate(listed)
                if not self.made.chains[number].back
            ] or [*range(len(listed))]
            middle = sum(ahead) / len(ahead)
            widest = max(middle, len(listed) - 1 - middle)
            usable = max(self.side[node] - corners, 4) / 2
            step = min(most, usable / widest) if widest else 0.0
            for place, (_, number) in enumerate(listed):
                found[number] = (place - middle) * step
        return found

    def _route(self, chain: Chain, leave: float, enter: float) -> Route:
        first, *bends, last = chain.items
        start = self.along[first] / 2 - self._inset(first, leave)
        stop = self.along[last] / 2 - self._inset(last, enter)
        tips = (_TIP, 0.0) if chain.back else (0.0, _TIP)
        points = [(self._middle(first) + start + tips[0], self.cross[first] + leave)]
        for one in bends:
            layer = self.made.layer[one]
            points += [
                (self.begin[layer], self.cross[one]),
                (self.end[layer], self.cross[one]),
            ]
        points.append((self._middle(last) - stop - tips[1], self.cross[last] + enter))
        curves = [self._curve(one, other) for one, other in pairwise(points)]
        if chain.back:
            curves = [(d, c, b, a) for a, b, c, d in reversed(curves)]
        return Route(chain.edge, tuple(curves), chain.back)

    def _inset(self, node: int, offset: float) -> float:
        if self.direction == "down":
            return 0.0
        return inset(self.parts.kinds[node], offset, self.side[node])

    def _curve(self, one: Point, other: Point) -> Curve:
        bow = (other[0] - one[0]) / 2
        points = (one, (one[0] + bow, one[1]), (other[0] - bow, other[1]), other)
        a, b, c, d = (self._turned(*point) for point in points)
        return a, b, c, d

    def _loop(self, edge: int) -> Route:
        """Return the way of an edge from a node to itself, beside it."""
        node = self.parts.edges[edge][0]
        side, middle = self.cross[node] + self.side[node] / 2, self._middle(node)
        far = side + _LOOP
        along = min(14.0, self.along[node] / 4)
        points = (
            (middle + along, side),
            (middle + along * 1.6, far),
            (middle - along * 1.6, far),
            (middle - along, side + _TIP),
        )
        a, b, c, d = (self._turned(*point) for point in points)
        return Route(edge, ((a, b, c, d),), back=True)
