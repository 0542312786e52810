"""How much was compared: the other half of every verdict.

    rows 42 of 42, signatures 42 of 42, checkpoints 3 of 3, blobs 5 of 5 (1 erased)

Rules:

- *compared* counts completed comparisons. *total* counts everything that is there, or
  that should be there by a signed event, a checkpoint or a memory. Neither count is
  ever derived from the other.
- Anything neither compared nor left out on purpose (*unchecked*, by ``fast``) could not
  be compared, and then the ledger is not intact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Count", "lacking", "left_out", "said"]


@dataclass(frozen=True, slots=True)
class Count:
    """How many things of one sort there are, and how many were compared."""

    what: str
    compared: int
    total: int
    unchecked: int = 0
    """How many were left out on purpose."""
    erased: int = 0
    """How many of the compared ones are gone because an event erased them."""

    @property
    def lacking(self) -> int:
        """How many could not be compared."""
        return max(self.total - self.compared - self.unchecked, 0)

    def with_unchecked(self, number: int) -> Count:
        """Return the count with as many more that were left out."""
        more = self.total + number, self.unchecked + number
        return Count(self.what, self.compared, *more, self.erased)

    def __str__(self) -> str:
        """``blobs 5 of 5 (1 erased)``."""
        gone = f" ({self.erased} erased)" if self.erased else ""
        return f"{self.what} {self.compared} of {self.total}{gone}"


def said(counts: Iterable[Count]) -> str:
    """Say all *counts* that count anything, in one line."""
    return ", ".join(str(count) for count in counts if count.total)


def lacking(counts: Iterable[Count]) -> str:
    """Say what could not be compared: ``2 of 42 rows``; empty if all was."""
    short = [count for count in counts if count.lacking]
    return ", ".join(f"{one.lacking} of {one.total} {one.what}" for one in short)


def left_out(counts: Iterable[Count]) -> str:
    """Say what was left out on purpose: ``40 signatures, 3 blobs``."""
    return ", ".join(f"{one.unchecked} {one.what}" for one in counts if one.unchecked)
