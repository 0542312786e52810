"""The candidates that a pool knows, by what they belong to, and those that branches share.

Rules:

- Candidates that are not held are built anew, so what is dropped is time only. The last
  `MOST_VIEWS` ones are held, and at most `MOST_HELD` artifacts in them.
- Branches share what their origin was. The first branch that asks there builds the
  candidates for all of them, under a lock; each follows from there by its own additions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from muniment_plugins.workflow.artifacts.context.pooling.candidates import (
    Candidates,
    Standpoint,
    caught_up,
)
from muniment_plugins.workflow.artifacts.context.pooling.pool_history import PoolHistory

__all__ = ["MOST_HELD", "MOST_VIEWS", "HeldViews", "SharedViews"]

MOST_VIEWS = 128
MOST_HELD = 1_000_000


@dataclass(slots=True)
class HeldViews:
    """Candidates by standpoint, the last used ones last."""

    by_standpoint: dict[Standpoint, Candidates] = field(
        default_factory=dict[Standpoint, Candidates]
    )

    def get(self, at: Standpoint) -> Candidates | None:
        """Return candidates, which may know a beginning only."""
        return self.by_standpoint.get(at)

    def keep(self, at: Standpoint, found: Candidates) -> None:
        """Hold candidates as the last used ones, and drop others if there are too many."""
        is_new = self.by_standpoint.pop(at, None) is None
        self.by_standpoint[at] = found
        if is_new:
            self._drop()

    def keep_all(self, other: HeldViews) -> None:
        """Hold what *other* holds, too, unless it is known better here."""
        for at, found in other.by_standpoint.items():
            known = self.by_standpoint.pop(at, found)
            self.by_standpoint[at] = max(known, found, key=lambda one: one.number)
        self._drop()

    def _drop(self) -> None:
        views = self.by_standpoint
        held = sum(one.admitted for one in views.values())
        while len(views) > 1 and (len(views) > MOST_VIEWS or held > MOST_HELD):
            held -= views.pop(next(iter(views))).admitted


@dataclass(slots=True)
class SharedViews:
    """What branches share: a history that goes no further, and candidates of it."""

    history: PoolHistory
    _held: HeldViews = field(default_factory=HeldViews)
    _lock: Lock = field(default_factory=Lock)

    def get(self, at: Standpoint) -> Candidates:
        """Return the candidates of the history."""
        with self._lock:
            found = caught_up(self._held.get(at) or Candidates(), at, self.history)
            self._held.keep(at, found)
            return found

    def offer(self, other: HeldViews) -> None:
        """Share what *other* holds, which is of this history."""
        with self._lock:
            self._held.keep_all(other)

    def followed(self, history: PoolHistory) -> SharedViews:
        """Return the same for *history*, which goes on from this one."""
        found = SharedViews(history)
        with self._lock:
            found.offer(self._held)
        return found
