"""Which events of other runs belong into a bundle: those of the series of its run.

    experiment.claim/c1    20 runs: of each its start, its ends, its verdicts
    experiment.data/9f86…  31 runs: counted

Rules:

- The series of a run are those of its start, and of the claims that it states: each is
  counted, and shown with all runs in it, whatever their data.
- Runs on the same data are counted only: what else was asked of it is no part of this
  claim. So is a series of more than `MOST` events; verifiers say that it is not shown.
- Nothing after the closing event is read. No content of another run is disclosed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.formats.evidence import TOLD_OF_RUNS, StatedSeries
from muniment_plugins.evidence.selection import KEY_EVENTS, Selected

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["MOST", "SeriesOfRun"]

MOST = 20_000
"""How many events a series may have, to be shown."""
_DATA = "experiment.data/"


@dataclass(frozen=True, slots=True)
class SeriesOfRun:
    """The series of one run, and the events of other runs that a bundle shows."""

    stated: tuple[StatedSeries, ...]
    """Each series, in the order of the keys."""
    events: tuple[Event, ...]
    """In the order of the log; none of the run itself, nor of those related to it."""

    @classmethod
    def of(cls, selected: Selected, before: int | None = None) -> SeriesOfRun:
        """Gather the series of the run that was *selected*, as far as *before*."""
        ledger, known = selected.ledger, {one.seq for one in selected.about}
        related = selected.related
        stated: list[StatedSeries] = []
        found: dict[int, Event] = {}
        for key in sorted(selected.series):
            count = _count(ledger, key, before)
            shown = count <= MOST and not key.startswith(_DATA)
            stated.append(StatedSeries(key, count, shown))
            if shown:
                members = ledger.events(series=key, to_seq=before)
                found |= {one.seq: one for one in members if one.run != selected.run}
        types = ",".join(sorted(TOLD_OF_RUNS))
        for run in {one.run for one in found.values()} - {None}:
            told = ledger.events(run=run, type=types, to_seq=before)
            found |= {one.seq: one for one in told}
        others = (
            one
            for seq, one in sorted(found.items())
            if seq not in known
            and one.type not in KEY_EVENTS
            and not (related and related.holds(one))
        )
        return cls(tuple(stated), tuple(others))

    @property
    def last(self) -> int:
        """The number of the last event; -1 if there is none."""
        return self.events[-1].seq if self.events else -1

    @property
    def data(self) -> list[dict[str, object]]:
        """The series as the closing event states them."""
        return [
            {"count": one.count, "key": one.key, "shown": one.shown}
            for one in self.stated
        ]


def _count(ledger: Ledger, key: str, before: int | None) -> int:
    """Return how many events the series *key* has."""
    last = next(ledger.events(series=key, order="desc", to_seq=before, limit=1), None)
    links = () if last is None else last.series
    return next((link.count for link in links if link.key == key), 0)
