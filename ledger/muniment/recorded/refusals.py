"""The refusals of plugins in a run, so that a replay and a resume repeat them.

    plugin.refused  {"plugin": "gate", "event_type": "note.added", "scope": "", "reason": …}

Rules:

- The event names the type and scope of the refused event, and the reason. It has not
  even a hash of the data, since the plugin refused to have that written.
- So a refusal is found by scope and type, in the order of the record: if an equal fact
  or request was allowed later, the refusal comes first.
- If nothing followed it before the run ended, a resume asks the plugins again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import cast

from muniment.formats.lifecycle import FAILED, INTERRUPTED, LIFE, PAUSED, RESUMED
from muniment.formats.statement import Event
from muniment.recorded.compare import is_of_plugin

__all__ = ["REFUSED", "UNREFUSED", "Refusals"]

REFUSED = "plugin.refused"
UNREFUSED = frozenset({FAILED, INTERRUPTED, PAUSED})
"""Events that are written whatever plugins say: the run stopped."""


class Refusals:
    """The refusals of one run that the program has not reached yet."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], deque[Event]] = {}
        self.known: list[Event] = []
        """All that a program comes to again, in the order of the record."""
        self._went_on = 0
        """The last event with which the program continued."""

    def take_in(self, event: Event) -> bool:
        """Remember *event* or its effect on refusals; tell whether it is a refusal."""
        if event.type == REFUSED:
            told = event.raw.get("scope"), event.raw.get("event_type")
            refused = cast("tuple[str, str]", told)
            self._waiting.setdefault(refused, deque()).append(event)
            self.known.append(event)
            return True
        if event.type == RESUMED:
            for waiting in self._waiting.values():
                while waiting and waiting[-1].seq > self._went_on:
                    waiting.pop()
            while self.known and self.known[-1].seq > self._went_on:
                self.known.pop()
        elif event.type not in LIFE and not is_of_plugin(event.scope or ""):
            self._went_on = event.seq
        return False

    def next(self, scope: str, kind: str, before: int | None) -> Event | None:
        """Use up the next refusal of a *kind* of event in *scope*, or return None.

        *before* is the recorded event that equals the asked one, if there is one.
        """
        waiting = self._waiting.get((scope, kind))
        if not waiting or (before is not None and before < waiting[0].seq):
            return None
        return waiting.popleft()

    def left(self) -> Iterator[tuple[str, Event]]:
        """Yield each refusal that was not reached, with its scope."""
        for (scope, _), waiting in self._waiting.items():
            for event in waiting:
                yield scope, event
