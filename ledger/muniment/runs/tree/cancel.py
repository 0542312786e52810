"""Canceling a run and the runs it called, from its own process or any other.

    run.canceled   data: {"generation": 2, "reason": "superseded by 01JD…"}

Rules:

- Anybody with a writer key may cancel a run that has no final end, whoever owns it. The
  unfinished runs that it called are canceled in the same commit.
- The event is written while nobody else can write, in the run's own scope, at the next
  ordinal. From then on the owner is fenced: whatever it was about to write is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muniment.formats.lifecycle import CANCELED, ENDS, LIFE, OPEN, RESUMED, UNFINISHED
from muniment.formats.statement import Event, Place
from muniment.programs.import_guard import refuse_importing
from muniment.recorded.descent import children_of
from muniment.runs.resume import refuse_final
from muniment.storage.lookup import events_of_run
from muniment.storage.sealing import Draft

if TYPE_CHECKING:
    from muniment.ledger_reads import LedgerReads

__all__ = ["cancel"]


def cancel(ledger: LedgerReads, run: str, reason: str) -> Event:
    """Write ``run.canceled`` and return it.

    Raises:
        RefusedError: the run is complete or canceled, or a plugin refuses.

    """
    refuse_importing()
    database, port = ledger.store.database, ledger.port
    refuse_final(events_of_run(database, run), run)

    def late() -> list[Draft]:
        events = list(events_of_run(database, run))
        refuse_final(events, run)
        below = [_draft(ledger, one, reason) for one in _unfinished(ledger, run)]
        return [*below, _draft(ledger, events, reason)]

    port.admit(CANCELED, {"reason": reason}, run)
    canceled = ledger.store.append([], late=late)
    port.tell(canceled)
    ledger.store.checkpoint()
    return canceled[-1]


def _unfinished(ledger: LedgerReads, run: str) -> Iterator[list[Event]]:
    """Yield the events of each unfinished run that *run* called, the last one first."""
    for started in children_of(ledger.store.database, run):
        child = str(started.run)
        yield from _unfinished(ledger, child)
        events = list(events_of_run(ledger.store.database, child))
        last = [event.type for event in events if event.type in LIFE][-1]
        if ENDS.get(last, OPEN) in UNFINISHED:
            yield events


def _draft(ledger: LedgerReads, events: list[Event], reason: str) -> Draft:
    """Return the event that cancels the run of *events*."""
    generation = 1 + sum(event.type == RESUMED for event in events)
    prepared = ledger.port.validate(
        CANCELED, {"reason": reason, "generation": generation}
    )
    own = [event.ordinal or 0 for event in events if not event.scope]
    place = Place(str(events[0].run), "", max(own, default=-1) + 1)
    return Draft(prepared, ledger.port.actor, events[0].tenant, place)
