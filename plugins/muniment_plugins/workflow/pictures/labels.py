"""Where the labels of edges stand: on their edge, and not on each other.

Rule: of a few places along the way from the source, the first that is free is taken; the
one in the middle if none is. What is near is found by a grid, so a picture takes time that
is linear in its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment_plugins.workflow.pictures.layout import Curve, Drawn, Point, Route
from muniment_plugins.workflow.pictures.shapes import Box

__all__ = ["label_places"]

_CELL = 64.0
_HEIGHT = 15.0
_TRIED = (0.5, 0.38, 0.62, 0.26, 0.74, 0.15, 0.85)


class _Grid:
    """What stands where."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], list[Box]] = {}

    def add(self, box: Box) -> None:
        for cell in _cells(box):
            self.cells.setdefault(cell, []).append(box)

    def is_free(self, box: Box) -> bool:
        return not any(
            _meet(box, other)
            for cell in _cells(box)
            for other in self.cells.get(cell, ())
        )


def label_places(
    drawn: Drawn, labels: Iterable[tuple[Route, float]]
) -> Iterator[Point]:
    """Yield the middle of the label of each route, which is so many pixels wide."""
    grid = _Grid()
    for box in drawn.boxes:
        grid.add(box)
    for route, width in labels:
        tried = [_at(route.curves[0], one) for one in _TRIED]
        if len(route.curves) > 1:
            tried += [_at(one, 0.5) for one in route.curves[1:6]]
        boxes = [Box(x, y, width + 6, _HEIGHT) for x, y in tried]
        taken = next(filter(grid.is_free, boxes), boxes[0])
        grid.add(taken)
        yield taken.x, taken.y


def _at(curve: Curve, part: float) -> Point:
    """Return the point after *part* of a Bézier curve."""
    left = 1 - part
    weights = (left**3, 3 * left * left * part, 3 * left * part * part, part**3)
    x = sum(weight * point[0] for weight, point in zip(weights, curve, strict=True))
    y = sum(weight * point[1] for weight, point in zip(weights, curve, strict=True))
    return x, y


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for column in range(
        int(box.left // _CELL), int((box.left + box.width) // _CELL) + 1
    ):
        for row in range(
            int(box.top // _CELL), int((box.top + box.height) // _CELL) + 1
        ):
            yield column, row


def _meet(one: Box, other: Box) -> bool:
    return (
        abs(one.x - other.x) * 2 < one.width + other.width
        and abs(one.y - other.y) * 2 < one.height + other.height
    )
