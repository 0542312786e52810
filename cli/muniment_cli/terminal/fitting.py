"""Fitting tables and texts into the columns of a terminal.

    shares([26, 9, 40], ["never", "end", "first"], 60)     [26, 9, 25]
    breaks("a word, and more", 8)                          [8], where a line starts

Rules:

- A column shrinks at most to a readable part; otherwise there is no table.
- Words are never divided: an id, a path or a digest is copied whole, or not at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

__all__ = ["LEAST", "Give", "breaks", "columns", "ending", "shares"]

Give = Literal["first", "end", "start", "never"] | int
"""How a column shrinks: before the others, at its end, at its start, never, or (ids) to
so many characters, which identify it as well as the whole."""

LEAST = 8
"""The least width of a column that shrinks."""


def columns(text: str) -> int:
    """Return how many columns *text* takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def shares(widths: Sequence[int], gives: Sequence[Give], room: int) -> list[int] | None:
    """Return the width of each column within *room*; None if one were unreadable."""
    found = list(widths)
    for at, give in enumerate(gives):
        if isinstance(give, int) and sum(found) > room:
            found[at] = min(found[at], give)
    for at, give in enumerate(gives):
        if give == "first" and found[at] > LEAST:
            found[at] = max(LEAST, found[at] - max(0, sum(found) - room))
    free = [at for at, give in enumerate(gives) if give in ("end", "start")]
    while sum(found) > room:
        widest = max(free, key=found.__getitem__, default=None)
        if widest is None or found[widest] <= LEAST:
            return None
        found[widest] -= 1
    return found


def ending(text: str, room: int) -> str:
    """Return *text*, or as much of its end as fits *room* columns."""
    if columns(text) <= room:
        return text
    while columns(text) >= room:
        text = text[1:]
    return f"…{text}"


def breaks(text: str, room: int) -> list[int]:
    """Return where to divide *text* into lines of at most *room* columns."""
    found: list[int] = []
    taken = 0
    for word in re.finditer(r"\S+\s*|\s+", text):
        if taken and taken + columns(word.group().rstrip()) > room:
            found.append(word.start())
            taken = 0
        taken += columns(word.group())
    return found
