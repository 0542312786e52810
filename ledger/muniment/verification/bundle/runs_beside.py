"""Everything in a bundle that is of other runs: related ones, and those in its series.

Rules:

- Related runs come first: what is related is judged whole, and is not in the file of the
  series again.
- The closing event comes after all of them.
- Neighbours in the log follow each other whichever files they are in, by hash and time.
- Of each series, the events that are here have rising numbers, and each names the one
  before it if that is here.
"""

from __future__ import annotations

from itertools import pairwise

from muniment.formats.evidence import CLOSING, EVENTS, RELATED, SERIES
from muniment.verification.bundle.comparison import RunComparison
from muniment.verification.bundle.elsewhere import Elsewhere
from muniment.verification.bundle.members import Members
from muniment.verification.bundle.record import BundledEvent, BundleRecord
from muniment.verification.bundle.related_lines import RelatedLines
from muniment.verification.bundle.shown_series import ShownSeries
from muniment.verification.counts import Count
from muniment.verification.report import Findings
from muniment.verification.series import SeriesInPart

__all__ = ["RunsBeside"]

_EARLIER = "earlier than the event before"
_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


class RunsBeside:
    """Reads the events of other runs, and compares the runs with each other."""

    def __init__(
        self, members: Members, record: BundleRecord, findings: Findings
    ) -> None:
        self._members = members
        self._record = record
        self._findings = findings
        self.related = RelatedLines(members, record, findings)
        self.series = ShownSeries(members, record, self.related, findings)
        self.elsewhere: Elsewhere = record.elsewhere
        self.counts: tuple[Count, ...] = ()
        """How much of what runs say of each other was compared."""

    @property
    def events(self) -> list[BundledEvent | None]:
        """Those of all files, in the order of their proofs."""
        return [*self.related.events, *self.series.events]

    @property
    def names(self) -> str:
        """Those of the files of events that are here."""
        here = (name for name in (RELATED, SERIES) if name in self._members.sizes)
        return " and ".join([EVENTS, *here])

    @property
    def lines(self) -> int:
        """How many lines the files have."""
        return len(self.events)

    @property
    def sound(self) -> int:
        """How many of them were judged and found sound."""
        return self.related.sound + self.series.sound

    @property
    def signatures(self) -> int:
        """How many signatures of theirs were checked."""
        return self.related.signatures + self.series.signatures

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the bundle should hold of other runs, and does not."""
        return self.elsewhere.lacks + self.related.lacks

    @property
    def notes(self) -> list[str]:
        """What the reader has to know."""
        of_runs = [*self.related.notes, *self.elsewhere.notes, *self.series.notes]
        return self._record.notes + of_runs

    def read(self) -> None:
        """Judge every line, and compare the runs that name each other."""
        self.counts = self.elsewhere.counts
        self.related.read()
        self.series.read()
        keyring = self._record.keyring
        if not self.related.is_here or keyring is None:
            return
        files = {EVENTS: self._record.events, RELATED: self.related.events}
        comparison = RunComparison(self._members, files)
        comparison.compare(self._findings, self.related.whole, keyring.event_format)
        self.elsewhere, self.counts = comparison.elsewhere, comparison.counts

    def compare(self, closing: BundledEvent) -> None:
        """Compare what the closing event says of other runs, and its place after them.

        Raises:
            WrongError: it does not count series in the one form.

        """
        for one in self.events:
            if one is None:
                continue
            if one.seq >= closing.seq:
                self._add("bundle/closing", f"it comes before event {one.seq}", closing)
            elif one.seq + 1 == closing.seq and closing.prev != one.leaf.hex():
                what = "prev is not the hash of the event before"
                self._add("event/prev", what, closing)
        self.series.compare(closing)

    def finish(self, closing: BundledEvent | None) -> None:
        """Compare all events in the order of the log, the *closing* one last.

        What each file alone shows was found before, and is not found a second time.
        """
        placed = self.series.placed()
        self._compare_neighbours([*placed, *([(closing, CLOSING)] if closing else [])])
        places = {one.seq: place for one, place in placed}
        for seq, what in self.elsewhere.odd:
            place = places.get(seq, EVENTS)
            self._findings.add(
                "run", "fork/answer", what, seq=seq, place=place, remedy=_ASK
            )
        parts = SeriesInPart()
        for one, place in placed:
            for link in one.links:
                broken = parts.broken(link, one.leaf)
                if broken is not None and link.key not in self.series.shown:
                    self._found("series", *broken, one, place)
        for stray in (*self.related.strays, *self.series.strays):
            if not self._findings.has(stray.rule, stray.seq):
                place = places.get(-1 if stray.seq is None else stray.seq, EVENTS)
                found = stray.kind, stray.rule, stray.message
                self._findings.add(*found, seq=stray.seq, place=place, remedy=_ASK)

    def _compare_neighbours(self, placed: list[tuple[BundledEvent, str]]) -> None:
        """Require that events follow each other whichever files they are in."""
        for (before, at), (one, place) in pairwise(placed):
            if one.time < before.time and not self._findings.has("event/time", one.seq):
                self._found("edited", "event/time", _EARLIER, one, place)
            own = at.partition(":")[0] == place.partition(":")[0] == EVENTS
            if own or place == CLOSING:
                continue  # the rest is compared there
            if before.seq == one.seq:
                what = f"event {one.seq} is here twice"
                self._found("series", "bundle/series", what, one, place)
                continue
            if before.seq + 1 == one.seq and one.prev != before.leaf.hex():
                what = "prev is not the hash of the event before"
                self._found("edited", "event/prev", what, one, place)

    def _found(
        self, kind: str, rule: str, message: str, one: BundledEvent, place: str
    ) -> None:
        self._findings.add(kind, rule, message, seq=one.seq, place=place, remedy=_ASK)

    def _add(self, rule: str, message: str, closing: BundledEvent) -> None:
        self._findings.add(
            "edited", rule, message, seq=closing.seq, place=CLOSING, remedy=_ASK
        )
