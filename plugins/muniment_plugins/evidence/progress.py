"""How far the writing of a bundle has come.

Rule: a pass is one reading of all events. How many passes there are depends on whether the
bundle was closed before, so the bar may end a step early; it never goes back.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Advance", "Passes"]

Advance = Callable[[int, int], None]
"""Is told how much is done, and of how much."""
_WRITING, _PACKING, _VERIFYING = 4, 2, 4
_TICK = 256


class Passes:
    """Counts the events that were read, and the part that was verified."""

    def __init__(self, advance: Advance | None, events: int, *, packed: bool) -> None:
        """Tell *advance* of passes over *events*; a zip file is *packed*, and measured first."""
        self._advance = advance
        self._events = events
        self._written = (_WRITING + _PACKING * packed) * events
        self._total = self._written + _VERIFYING * events
        self._done = 0

    def read(self) -> None:
        """Count one more event."""
        self._done += 1
        if not self._done % _TICK:
            self._tell(min(self._done, self._written))

    def verified(self, done: int, total: int) -> None:
        """Take how much the verifier has read."""
        self._tell(self._written + _VERIFYING * self._events * done // max(total, 1))

    def _tell(self, done: int) -> None:
        if self._advance is not None:
            self._advance(done, self._total)
