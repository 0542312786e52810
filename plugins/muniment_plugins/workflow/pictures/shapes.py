"""The shapes of nodes: each kind has its own, so that no colour is needed to tell it.

    stage      a box           verify     a pill           condition   pointed sides
    fork       a bar behind    join       a bar in front   map         boxes on a pile
    reduce     a funnel        subagent   a box in a box   escalation  cut corners

Rule: a kind of a plugin has the shape of sharp corners, and its word, as every kind has.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

__all__ = ["Box", "inset", "outline"]

_POINT = 14.0
_CUT = 9.0
_FUNNEL = 12.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle around a node."""

    x: float
    """The middle."""
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.x - self.width / 2

    @property
    def top(self) -> float:
        """Where it begins, downwards."""
        return self.y - self.height / 2


def inset(kind: str, offset: float, height: float) -> float:
    """Return how far inside the box its side is, *offset* below the middle."""
    half = height / 2
    if kind == "condition":
        return _POINT * abs(offset) / half
    if kind == "verify":
        return half - sqrt(max(0.0, half * half - offset * offset))
    if kind == "reduce":
        return _FUNNEL * (offset + half) / height
    if kind == "escalation":
        return max(0.0, abs(offset) - (half - _CUT))
    return 0.0


def outline(kind: str, box: Box, downwards: bool) -> str:
    """Return the SVG elements of the shape of *kind*, where edges lead *downwards* or not."""
    corners = _corners(kind, box)
    if corners:
        listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        return f'<polygon class="shape" points="{listed}"/>'
    x, y, w, h = box.left, box.top, box.width, box.height
    radius = {
        "stage": 8,
        "verify": h / 2,
        "map": 8,
        "subagent": 8,
        "fork": 3,
        "join": 3,
    }
    shape = _rect(x, y, w, h, radius.get(kind, 0))
    if kind == "map":
        return "".join(_rect(x + d, y + d, w, h, 8) for d in (6, 3)) + shape
    if kind == "subagent":
        return shape + _rect(x + 4, y + 4, w - 8, h - 8, 5, "inner")
    if kind in ("fork", "join"):
        return shape + _bar(box, kind == "fork", downwards)
    return shape


def _corners(kind: str, box: Box) -> tuple[tuple[float, float], ...]:
    """Return the corners of a shape that is no rectangle; none if it is one."""
    x, y, right, low = box.left, box.top, box.left + box.width, box.top + box.height
    if kind == "condition":
        p = _POINT
        upper = ((x + p, y), (right - p, y), (right, box.y))
        return (*upper, (right - p, low), (x + p, low), (x, box.y))
    if kind == "reduce":
        return ((x, y), (right, y), (right - _FUNNEL, low), (x + _FUNNEL, low))
    if kind == "escalation":
        c = _CUT
        upper_half = ((x + c, y), (right - c, y), (right, y + c), (right, low - c))
        return (*upper_half, (right - c, low), (x + c, low), (x, low - c), (x, y + c))
    return ()


def _bar(box: Box, behind: bool, downwards: bool) -> str:
    x, y, w, h = box.left, box.top, box.width, box.height
    if downwards:
        return _rect(x, y + h - 5 if behind else y, w, 5, 2, "bar")
    return _rect(x + w - 5 if behind else x, y, 5, h, 2, "bar")


def _rect(
    x: float, y: float, w: float, h: float, radius: float, name: str = "shape"
) -> str:
    return (
        f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" '
        f'height="{h:.1f}" rx="{radius:.1f}"/>'
    )
