"""The marks of pictures: dots, spans and lines, each with its citation, on one scale.

    scale = GraphScale.of([0.0, 15.0, 47.3], log=False)
    scale.left(15.0)                                    "117.1"
    read_mark('<circle cx="117.1" cy="10" r="5" data-…><title>15</title></circle>')

Rules:

- A mark shows one number, and a *span* two, which are a list in the record. Where it is
  follows from the numbers of all marks of its picture: the least is at the left edge, the
  largest at the right. On a scale of powers of ten (``log``) all are above zero.
- A *full* and a *dashed* line are upright, and go through a row. The full one is zero or
  one, and nothing else that is drawn is: so a bound is never shown as what means no change.

Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.verification.page.quotes import plain

__all__ = [
    "AXIS",
    "DRAWN",
    "FIGURES",
    "GraphMark",
    "GraphScale",
    "numbers_of",
    "read_mark",
]

WIDTH, EDGE = 360, 8
"""Of a picture, and how far its outermost marks are from its edges."""
AXIS = (
    f'<svg viewBox="0 0 {WIDTH} 20" role="img" aria-label="one mark each">'
    f'<line x1="0" x2="{WIDTH}" y1="10" y2="10"/>'
)
FIGURES = ("<figure>", '<figure data-scale="log">')
"""How a picture begins; the second is on a scale of powers of ten."""
FARTHEST = 1e300
"""A difference of two numbers below it is finite."""
PLACE, MARKED = r"([0-9]{1,4}\.[0-9])", r'((?: [a-z-]+="[^"<>]*")+)'
TITLED = "<title>([^<]*)</title>"
DOT_DRAWN = rf'<circle cx="{PLACE}" cy="10" r="5"{MARKED}>{TITLED}</circle>'
SPAN_DRAWN = rf'<line class="span" x1="{PLACE}" x2="{PLACE}" y1="10" y2="10"{MARKED}>{TITLED}</line>'
LINE_DRAWN = (
    rf'<line class="(full|dashed)" x1="{PLACE}" x2="{PLACE}" y1="1" y2="19"{MARKED}>'
    rf"{TITLED}</line>"
)
DRAWN = "|".join(
    re.sub(r"\((?!\?)", "(?:", one) for one in (DOT_DRAWN, SPAN_DRAWN, LINE_DRAWN)
)
"""What a mark looks like, as a part of a regular expression."""


@dataclass(frozen=True, slots=True)
class GraphMark:
    """A mark as a page has it."""

    kind: str
    """``dot``, ``span``, ``full`` or ``dashed``."""
    places: tuple[str, ...]
    """How far from the left edge it is; where a span begins, and where it ends."""
    attributes: str
    title: str


@dataclass(frozen=True, slots=True)
class GraphScale:
    """Where numbers are, between the least and the largest of a picture."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def of(cls, numbers: Sequence[float], *, log: bool) -> GraphScale:
        """Return the scale of a picture that shows *numbers*."""
        return cls(min(numbers), max(numbers), log)

    def at(self, number: float) -> float:
        """Return how far from the left edge *number* is."""
        low, high, value = (self._on(one) for one in (self.low, self.high, number))
        share = 0.5 if high <= low else (value - low) / (high - low)
        return EDGE + share * (WIDTH - 2 * EDGE)

    def left(self, number: float) -> str:
        """Return the same as a page writes it."""
        return f"{self.at(number):.1f}"

    def _on(self, number: float) -> float:
        # `math.log10` is that of the machine; this one is rounded rightly everywhere.
        return float(Decimal(number).log10()) if self.log else number


def read_mark(written: str) -> GraphMark | None:
    """Return the mark that is *written* so; None if no report has it."""
    if found := re.fullmatch(DOT_DRAWN, written):
        return GraphMark("dot", (found[1],), found[2], found[3])
    if found := re.fullmatch(SPAN_DRAWN, written):
        return GraphMark("span", (found[1], found[2]), found[3], found[4])
    found = re.fullmatch(LINE_DRAWN, written)
    if found is None or found[2] != found[3]:
        return None
    return GraphMark(found[1], (found[2],), found[4], found[5])


def numbers_of(value: JsonValue, kind: str, *, log: bool) -> tuple[float, ...]:
    """Return the numbers of a mark that shows *value*; none if it has no place."""
    both = kind == "span" and isinstance(value, list) and len(value) == 2  # noqa: PLR2004 - from, to
    parts = cast("list[JsonValue]", value) if both else [value]
    numbers = [plain(one) for one in parts]
    if both is not (kind == "span") or not all(_fits(one, log=log) for one in numbers):
        return ()
    return tuple(float(cast("float", one)) for one in numbers)


def _fits(value: JsonValue, *, log: bool) -> bool:
    """Tell whether *value* is a finite number, above zero if it has to be."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) < FARTHEST and (value > 0 or not log)
