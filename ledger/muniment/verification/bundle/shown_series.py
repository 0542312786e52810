"""The series of a bundle's run: all runs that share one with it, and how many there are.

    note: 1 of 20 runs in the series experiment.claim/c1, and all are here: 17 completed,
          2 failed, 1 open

Rules:

- The series of a run are those of its start, and of the claims that it states. The
  closing event counts each of them, and no other.
- Of a *shown* series every event is here, in this file, among those of the run, or among
  those of related runs: by its
  number and the hash that it names no one is missing, repeated, moved, or from elsewhere.
  The last has the number that the closing event states.
- Of each run in a shown series the start is here. Ends and verdicts are those that the
  writer put here; which there are, only its ledger shows.
- Each event is judged as a row, and proven to be in the tree. Contents of other runs are
  not in a bundle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

from muniment.errors import WrongError
from muniment.formats.dsse import Envelope
from muniment.formats.evidence import (
    CLOSING,
    COUNTED_BY,
    EVENTS,
    SERIES,
    TOLD_OF_RUNS,
    StatedSeries,
    read_stated,
)
from muniment.formats.lifecycle import (
    ENDS,
    LIFE,
    OPEN,
    STARTED,
    STATUSES,
)
from muniment.formats.series import SeriesLink
from muniment.verification.bundle.members import Members
from muniment.verification.bundle.record import (
    BundledEvent,
    BundleRecord,
)
from muniment.verification.bundle.related_lines import RelatedLines, judge_lines
from muniment.verification.report import Finding, Findings
from muniment.verification.runs.run_record import KEY_TYPES, RunRecord
from muniment.verification.series import SeriesCheck
from muniment.verification.statements.kernel_data import described, fault

if TYPE_CHECKING:
    from muniment.verification.statements.rows import Row

__all__ = ["ShownSeries"]

_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"
_Placed = tuple[BundledEvent, str]
_InSeries = tuple[BundledEvent, str, SeriesLink]


class ShownSeries:
    """Reads the events of other runs, and compares the series of the run."""

    def __init__(
        self,
        members: Members,
        record: BundleRecord,
        related: RelatedLines,
        findings: Findings,
    ) -> None:
        self._members = members
        self._record = record
        self._related = related
        self._findings = findings
        self._rows: list[Row] = []
        self.events: list[BundledEvent | None] = []
        """One for each line; None if it could not be read."""
        self.strays: list[Finding] = []
        """What was found of events that are in another file."""
        self.sound = self.signatures = 0
        self.compared = self.total = 0
        """How many places in series were compared, and how many there should be."""
        self.notes: list[str] = []
        self.shown: frozenset[str] = frozenset()
        """The series of which the closing event says that every event is here."""

    @property
    def lines(self) -> int:
        """How many lines the file has."""
        return len(self.events)

    def read(self) -> None:
        """Judge every line of the file, if there is one."""
        if SERIES not in self._members.sizes:
            return
        judge_lines(self._members, SERIES, self._read, self.events, self._findings)
        if not self.events:
            self._add("series", "bundle/series", "the file has no events", SERIES)
        self._judge_rows()

    def compare(self, closing: BundledEvent) -> None:
        """Compare the series of the run with what the closing event counts.

        Raises:
            WrongError: it does not say that in the one form.

        """
        data = closing.statement["predicate"]["data"]
        stated = {one.key: one for one in read_stated(data)}
        wanted = {
            link.key
            for one in self._record.events
            if one is not None and one.run == self._record.run
            for link in one.links
            if one.kind in COUNTED_BY
        }
        for key in sorted(wanted ^ stated.keys()):
            which = "does not count" if key in wanted else "counts, without this run,"
            what = f"the closing event {which} the series {key!a:.80}"
            self._add("series", "bundle/series", what, CLOSING, closing.seq)
        series: dict[str, list[_InSeries]] = {}
        for event, place in self.placed():
            for link in event.links:
                series.setdefault(link.key, []).append((event, place, link))
        shown = [one for key, one in stated.items() if one.shown and key in wanted]
        self.shown = frozenset(one.key for one in shown)
        counted = [one for one in stated.values() if not one.shown]
        for one in shown:
            self._compare_shown(one, series[one.key])
        for one in counted:
            self._compare_counted(one, series.get(one.key, []))
        self._compare_runs([series[one.key] for one in shown])

    def placed(self) -> list[_Placed]:
        """Return all events of the bundle, in the order of the log."""
        lines = enumerate(self._record.events, 1)
        of_run = [(one, f"{EVENTS}:{number}") for number, one in lines if one]
        all_of_them = [*of_run, *self._related.placed(), *self._own()]
        return sorted(all_of_them, key=lambda placed: placed[0].seq)

    # -- lines -----------------------------------------------------------------------

    def _read(self, line: bytes, place: str) -> BundledEvent | None:
        try:
            envelope = Envelope.from_json(line[:-1])
        except WrongError as error:
            self._findings.add_error("edited", error, place=place)
            return None
        event = self._record.read_event(envelope, place)
        if event is not None:
            self._rows.append(event.row(envelope))
            self._compare_data(event, place)
            self._record.show(event)
        return event

    def _compare_data(self, event: BundledEvent, place: str) -> None:
        keyring = self._record.keyring
        version = 1 if keyring is None else keyring.event_format
        predicate = event.statement["predicate"]
        self._record.marks.take(event.run, event.kind, event.seq, predicate["data"])
        first = predicate["muniment"].get("version") == 1
        known = first and event.kind in described(version)
        if known and (wrong := fault(event.kind, predicate["data"])):
            self._add("edited", "event/data", wrong, place, event.seq)

    def _judge_rows(self) -> None:
        """Judge the rows as those of a ledger, between the events about keys."""
        keys = self._record.key_rows
        judge = RunRecord(self._record.ledger, "")
        numbers = {row[0] for row in self._rows}
        for row in sorted([*keys, *self._rows], key=lambda row: row[0]):
            judge.add(row)
        checked, findings = judge.finish()
        bad = {one.seq for one in findings}
        self.sound = sum(row[0] not in bad for row in self._rows)
        self.signatures = checked - len(keys)
        places: dict[int | None, str] = {one.seq: at for one, at in self._own()}
        for one in findings:
            if one.seq in numbers:
                self._add(one.kind, one.rule, one.message, places[one.seq], one.seq)
            else:
                self.strays.append(one)

    # -- series ----------------------------------------------------------------------

    def _compare_shown(self, stated: StatedSeries, here: list[_InSeries]) -> None:
        """Require every event of a series up to the number that is stated."""
        found = Findings()
        check = SeriesCheck(found)
        for event, _, link in here:
            check.check(event.seq, [link], event.leaf)
        places: dict[int | None, str] = {event.seq: at for event, at, _ in here}
        for one in found.sorted():
            self._add(one.kind, one.rule, one.message, places[one.seq], one.seq)
        last = here[-1][2].count
        if last != stated.count:
            what = f"it counts {stated.count} events of the series {stated.key!a:.80},"
            what += f" and the last one here is number {last}"
            self._add("series", "series/stated", what, CLOSING)
        self.compared += check.compared
        self.total += max(stated.count, check.total)
        runs = {event.run for event, _, _ in here if event.run is not None}
        self.notes.append(
            f"1 of {len(runs)} runs in the series {stated.key}, and all are here: "
            f"{self._became(runs)}"
        )

    def _compare_counted(self, stated: StatedSeries, here: list[_InSeries]) -> None:
        """Require a number that is stated to be at least that of each event here."""
        last = max((link.count for _, _, link in here), default=0)
        if last > stated.count:
            what = f"it counts {stated.count} events of the series {stated.key!a:.80},"
            what += f" and number {last} is here"
            self._add("series", "series/stated", what, CLOSING)
        run = self._record.run
        own = max((link.count for one, _, link in here if one.run == run), default=0)
        self.notes.append(
            f"number {own} of {stated.count} in the series {stated.key}: counted, and "
            "the others are not here"
        )

    def _compare_runs(self, shown: list[list[_InSeries]]) -> None:
        """Require the start of each run that is shown, and no event of any other."""
        members = {event.seq for here in shown for event, _, _ in here}
        runs = {event.run for here in shown for event, _, _ in here if event.run}
        started = {self._record.run}
        for event, _ in [*self._related.placed(), *self._own()]:
            started |= {str(event.run)} if event.kind == STARTED else set()
        for event, place in self._own():
            told = event.kind in TOLD_OF_RUNS and event.run in runs
            elsewhere = event.run == self._record.run or event.kind in KEY_TYPES
            if elsewhere or not (told or event.seq in members):
                what = f"{event.kind} tells of no other run in a series that is shown"
                self._add("inserted", "bundle/stranger", what, place, event.seq)
        for run in sorted(runs - started):
            what = f"the start of run {run} is not here"
            self._add("missing", "bundle/series", what, SERIES)

    def _became(self, runs: Collection[str]) -> str:
        """Say how many of *runs* ended how."""
        status = dict.fromkeys(runs, OPEN)
        for event, _ in self.placed():
            if event.run in status and event.kind in LIFE:
                status[event.run] = event.became or ENDS.get(event.kind, OPEN)
        tally = Counter(status.values())
        return ", ".join(f"{tally[one]} {one}" for one in STATUSES if tally[one])

    def _own(self) -> list[_Placed]:
        """Return the events of the file, with their places."""
        lines = enumerate(self.events, 1)
        return [(one, f"{SERIES}:{number}") for number, one in lines if one is not None]

    def _add(
        self, kind: str, rule: str, message: str, place: str, seq: int | None = None
    ) -> None:
        self._findings.add(kind, rule, message, seq=seq, place=place, remedy=_ASK)
