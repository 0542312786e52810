"""The events of related runs in a bundle: those upon which its run rests.

    related.intoto.jsonl    a child, whole; its own children, whole; the origin of a fork,
                            up to the event at which it was forked

Rules:

- Each run is judged as the run of the bundle is: statement, key and interval, signature,
  ordinals, decisions, root and counts of its end. Its blobs are here, too.
- With them are the answers to their questions, and the erasures of their blobs that are
  not among the events of the run of the bundle. No event stands in two files.
- A run that nothing here names is a stranger: `NamedRuns`.
- A redacted bundle has none of this: their contents are not withheld one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from muniment.errors import WrongError
from muniment.formats.decisions import ASKED, GIVEN
from muniment.formats.dsse import Envelope
from muniment.formats.evidence import RELATED, WITHHELD
from muniment.verification.bundle.members import Members
from muniment.verification.bundle.record import (
    ERASED,
    LONGEST_LINE,
    UNREAD,
    BundledEvent,
    BundleRecord,
)
from muniment.verification.report import MALFORMED, Finding, Findings
from muniment.verification.runs.run_record import RunRecord
from muniment.verification.statements.blob_references import blob_tag

if TYPE_CHECKING:
    from muniment.verification.statements.rows import Row

__all__ = ["RelatedLines", "judge_lines"]

_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


class _Related:
    """The judgement of one run, and how many of the rows about keys it was told."""

    def __init__(self, ledger: str, run: str) -> None:
        self.record = RunRecord(ledger, run)
        self.keys = 0

    def add(self, row: Row, keys: list[Row]) -> None:
        """Judge the next row, after those about keys that come before it."""
        while self.keys < len(keys) and keys[self.keys][0] < row[0]:
            self.record.add(keys[self.keys])
            self.keys += 1
        self.record.add(row)


class RelatedLines:
    """Reads and judges the events of related runs."""

    def __init__(
        self, members: Members, record: BundleRecord, findings: Findings
    ) -> None:
        self._members = members
        self._record = record
        self._findings = findings
        self._runs: dict[str, _Related] = {}
        self._asked: dict[str, str] = {}
        """Leaf hash of a question → its run."""
        self._own_blobs = frozenset[bytes | None]()
        self.events: list[BundledEvent | None] = []
        """One for each line; None if it could not be read."""
        self.whole: set[str] = set()
        """The runs of which every event should be here, that of the bundle too."""
        self.strays: list[Finding] = []
        """What was found of events that are in another file."""
        self.sound = self.signatures = 0
        self.ends = self.decisions = (0, 0)
        """How many were compared, and how many there are."""

    @property
    def is_here(self) -> bool:
        """Whether the bundle has such a file."""
        return RELATED in self._members.sizes

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the bundle should hold of child runs, and does not."""
        return tuple(
            f"an end of child run {run} that covers its events"
            for run, one in self._runs.items()
            if run in self.whole and not one.record.proven
        )

    @property
    def notes(self) -> list[str]:
        """What the reader has to know."""
        number = sum(run in self.whole for run in self._runs)
        told = [f"child runs here, and judged as this one is: {number}"]
        return told * bool(number) + [
            f"origin {run} is here up to the fork, and no end covers its events: one that "
            "nothing names would not be missed"
            for run, one in self._runs.items()
            if run not in self.whole and not one.record.proven
        ]

    def placed(self) -> list[tuple[BundledEvent, str]]:
        """Return the events, with their places."""
        lines = enumerate(self.events, 1)
        return [
            (one, f"{RELATED}:{number}") for number, one in lines if one is not None
        ]

    def read(self) -> None:
        """Judge every line of the file, if there is one."""
        if not self.is_here:
            return
        if WITHHELD in self._members.sizes:
            what = "a redacted bundle has no related runs"
            self._add("inserted", "bundle/related", what, RELATED)
        self._own_blobs = frozenset(self._record.blobs.known)
        judge_lines(self._members, RELATED, self._read, self.events, self._findings)
        if not self.events:
            self._add("missing", "bundle/related", "the file has no events", RELATED)
        self._finish()
        self._compare_reach()

    def _read(self, line: bytes, place: str) -> BundledEvent | None:
        try:
            envelope = Envelope.from_json(line[:-1])
        except WrongError as error:
            self._findings.add_error("edited", error, place=place)
            return None
        event = self._record.read_event(envelope, place)
        if event is None:
            return None
        run = self._run_of(event)
        if run is None:
            what = f"{event.kind} belongs to no run that is related"
            self._add("inserted", "bundle/stranger", what, place, event.seq)
            return event
        if run not in self._runs:
            self._runs[run] = _Related(self._record.ledger, run)
        self._runs[run].add(event.row(envelope), self._record.key_rows)
        if event.kind == ASKED:
            self._asked[event.leaf.hex()] = run
        with self._record.shaped(event, place):
            self._record.compare_content(event, place)
        self._record.show(event)
        return event

    def _run_of(self, one: BundledEvent) -> str | None:
        """Return the run to which the event belongs, in it or not."""
        if one.run is not None:
            return None if one.run == self._record.run else one.run
        try:
            if one.kind == GIVEN:
                about: list[Any] = one.statement["subject"]
                named = (self._asked.get(item["digest"]["sha256"]) for item in about)
                return next(filter(None, named), None)
            if one.kind == ERASED:
                tags = one.statement["predicate"]["data"]["blobs"]
                digests = {blob_tag(tag) for tag in tags}
                known = digests & self._record.blobs.known.keys()
                if known and not digests & self._own_blobs:
                    return next(iter(self._runs), None)
        except MALFORMED:
            pass
        return None

    def _finish(self) -> None:
        """Report what the rows break, each with its line."""
        places = {one.seq: place for one, place in self.placed()}
        bad: set[int | None] = set()
        for one in self._runs.values():
            checked, findings = one.record.finish()
            self.signatures += checked - one.keys
            self.ends = _sum(self.ends, one.record.ends)
            self.decisions = _sum(self.decisions, one.record.decisions)
            for found in findings:
                if found.seq in places:
                    bad.add(found.seq)
                    place = places[found.seq or 0]
                    self._add(found.kind, found.rule, found.message, place, found.seq)
                else:
                    self.strays.append(found)
        self.sound = len(places.keys() - bad)

    def _compare_reach(self) -> None:
        """Refuse runs that nothing here names, and what follows a fork in its origin."""
        self.whole, until = self._record.named.reached(self._record.run)
        for event, place in self.placed():
            run = event.run
            if run is None or run in self.whole or event.seq <= until.get(run, -1):
                continue
            what = f"{event.kind} is of no run that is related, or comes after a fork"
            self._add("inserted", "bundle/stranger", what, place, event.seq)

    def _add(
        self, kind: str, rule: str, message: str, place: str, seq: int | None = None
    ) -> None:
        self._findings.add(kind, rule, message, seq=seq, place=place, remedy=_ASK)


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def judge_lines(
    members: Members,
    name: str,
    read: Callable[[bytes, str], BundledEvent | None],
    events: list[BundledEvent | None],
    findings: Findings,
) -> None:
    """Add the event of each line of the file *name* to *events*, None if there is none.

    Args:
        members: the files of the bundle.
        name: the file.
        read: judges a line, and is told its place.
        events: gets one for each line.
        findings: is told of one that is out of order, or of too many that are none.

    """
    last, unread = -1, 0
    for line in members.lines(name, LONGEST_LINE):
        place = f"{name}:{len(events) + 1}"
        event = read(line, place)
        events.append(None if event is None else event.judged())
        if event is not None and event.seq <= last:
            what = f"event {event.seq} comes after event {last}"
            findings.add(
                "reordered",
                "event/seq",
                what,
                seq=event.seq,
                place=place,
                remedy=_ASK,
            )
        last = last if event is None else event.seq
        unread += event is None
        if unread == UNREAD:
            what = "too much is no event"
            findings.add("edited", "event/shape", what, place=name, remedy=_ASK)
            return
