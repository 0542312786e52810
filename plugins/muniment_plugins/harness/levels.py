"""How strongly the code was held that a verdict stands on: by the weakest of its runs.

    levels_of(ledger, run)                     {"baseline": "os-strong", "half": "process"}
    weakest(["os-strong", "process"])          "process"

Rules:

- Every run of code says its level in ``execution.measured``; here the levels of all of
  them count, of every replicate and of every property that was tried.
- A word that is not listed says nothing that can be relied on: it ranks below all.
- Where no code ran there is no level.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muniment_plugins.harness.failing import place_in

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["LEVELS", "levels_of", "weakest"]

LEVELS = ("none", "process", "engine", "os-partial", "os-strong")
"""Weakest first, as the capsule names them."""


def weakest(levels: Iterable[str | None]) -> str | None:
    """Return the weakest of those that are there."""
    return min(filter(None, levels), key=_rank, default=None)


def levels_of(ledger: Ledger, run: str) -> dict[str, str]:
    """Return condition → the weakest level at which its code was run in *run*."""
    found: dict[str, str] = {}
    for event in ledger.events(run=run, type="execution.measured"):
        condition, level = place_in(event.scope)[0], str(event.data["level"])
        found[condition] = min(found.get(condition, level), level, key=_rank)
    return found


def _rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else -1
