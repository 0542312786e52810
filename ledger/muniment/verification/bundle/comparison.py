"""What the runs of a bundle say of each other, compared as in a ledger.

    the run       child.completed about 01JE7…      compared with the start and end of 01JE7…
    a fork        tool.completed  answered by 9     compared with event 9 of its origin

Rules:

- The comparison is that of the ledger's verifier, `AcrossRuns`, over the events and blobs
  that are here: they are put into a table of the form that it reads.
- What names a run that is not here is counted, and compared with nothing: `Elsewhere`.
- The table is a temporary file, which has no name and is gone afterwards: the record of a
  child may be large.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

from orjson import loads

from muniment.encoding.canonical import MAX_INTEGER
from muniment.errors import CannotTellError
from muniment.formats.dsse import Envelope
from muniment.formats.evidence import RELATED, blob_name, blob_of
from muniment.formats.lifecycle import FINAL, STARTED
from muniment.verification.bundle.elsewhere import Elsewhere
from muniment.verification.bundle.members import Members
from muniment.verification.bundle.record import LONGEST_LINE, BundledEvent
from muniment.verification.counts import Count
from muniment.verification.report import MALFORMED, Findings
from muniment.verification.runs.across_runs import AcrossRuns
from muniment.verification.runs.descent import CALLED, is_performed
from muniment.verification.runs.places import Places
from muniment.verification.snapshot import Snapshot

__all__ = ["RunComparison"]

_TABLES = """
CREATE TABLE event (seq INTEGER PRIMARY KEY, type TEXT, run TEXT, payload BLOB, hash BLOB);
CREATE INDEX event_run ON event (run, seq);
CREATE TABLE held (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE VIEW blob AS SELECT digest, content(digest) AS data FROM held;
"""
_ONE = "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?)"
_ALL = "SELECT seq, type, run, payload FROM event ORDER BY seq"
_Row: TypeAlias = tuple[int, str, str, bytes]
_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


class RunComparison:
    """Compares the runs of a bundle with each other."""

    def __init__(
        self, members: Members, files: Mapping[str, list[BundledEvent | None]]
    ) -> None:
        """Take the events of the *files*, one for each line; None could not be read."""
        self._members = members
        self._files = files
        self._here = {one.run for events in files.values() for one in events if one}
        self._children: list[tuple[str, str]] = []
        """Parent and child, of each child that is here."""
        self._named = set[str]()
        """The runs that results of calls name."""
        self._places: dict[str, Places] = {}
        self.elsewhere = Elsewhere()
        self.counts: tuple[Count, ...] = ()
        """How much was compared."""

    def compare(self, findings: Findings, whole: Collection[str], version: int) -> None:
        """Compare all events.

        Args:
            findings: get what contradicts.
            whole: the runs of which every event should be here.
            version: that of the events, as the genesis states it.

        Raises:
            CannotTellError: there is no room for a temporary file.

        """
        found = Findings()
        try:
            with self._table() as snapshot:
                across = AcrossRuns(snapshot, found, self._asked, fast=False)
                for row in snapshot.connection.execute(_ALL):
                    with suppress(*MALFORMED):  # the event itself is a finding
                        self._compare(across, row, whole, version)
                across.forks.finish()
        except sqlite3.Error as error:
            raise CannotTellError(
                f"the related runs could not be compared ({error})",
                rule="bundle/unreadable",
                place=RELATED,
                remedy="make room for temporary files",
            ) from None
        for parent, child in self._children:
            self.elsewhere.begin(parent, named=child in self._named)
        self._report(found, findings)
        left = {one.what: one.total for one in self.elsewhere.counts}
        self.counts = tuple(one.with_unchecked(left[one.what]) for one in across.counts)

    def _compare(
        self, across: AcrossRuns, row: _Row, whole: Collection[str], version: int
    ) -> None:
        seq, kind, run, payload = row
        statement = loads(payload)
        predicate = statement["predicate"]
        data, chain = predicate["data"], predicate["muniment"]
        places = self._places.setdefault(run, Places())
        places.broken(chain, kind, data, version)
        if run in whole:
            self.elsewhere.follow(run, kind, data, chain)
        if self._is_left(run, kind, data):
            self.elsewhere.take_fork(run, kind, data, chain)
        else:
            across.forks.check(seq, run, kind, statement)
        if self._is_absent(run, kind, data):
            self.elsewhere.take_call(kind, data)
        else:
            across.descent.check(seq, run, kind, statement, version)
        if kind in FINAL:
            del self._places[run]

    def _asked(self, run: str, place: tuple[str, int], kind: str) -> bool:
        return run in self._places and self._places[run].asked(place, kind)

    def _is_left(self, run: str, kind: str, data: Any) -> bool:
        """Tell whether the event is of a fork whose origin is not here."""
        if kind == STARTED and isinstance(told := data.get("fork"), dict):
            origin = cast("dict[str, Any]", told).get("run")
            if isinstance(origin, str) and origin not in self._here:
                self.elsewhere.leave(run)
        return self.elsewhere.leaves(run)

    def _is_absent(self, run: str, kind: str, data: Any) -> bool:
        """Tell whether the event names a caller or a child that is not here."""
        if kind == STARTED and isinstance(told := data.get("parent"), dict):
            named = cast("dict[str, Any]", told).get("run")
            self._children.append((str(named), run))
        elif (
            kind == CALLED
            and is_performed(data)
            and isinstance(told := data.get("about"), dict)
        ):
            named = cast("dict[str, Any]", told).get("run")
            self._named.add(str(named))
        else:
            return False
        return isinstance(named, str) and named not in self._here

    def _report(self, found: Findings, findings: Findings) -> None:
        """Add what was *found*, each with the line that it is about."""
        findings.notes += found.notes
        if not len(found):
            return
        places = {
            one.seq: f"{name}:{number}"
            for name, events in self._files.items()
            for number, one in enumerate(events, 1)
            if one is not None
        }
        for one in found.sorted():
            place = places.get(-1 if one.seq is None else one.seq, RELATED)
            findings.add(
                one.kind, one.rule, one.message, seq=one.seq, place=place, remedy=_ASK
            )

    @contextmanager
    def _table(self) -> Generator[Snapshot]:
        """Lend the events and blobs that are here as a ledger's tables."""
        connection = sqlite3.connect("", isolation_level=None)
        try:
            connection.create_function("content", 1, self._content)
            connection.executescript(_TABLES)
            connection.execute("BEGIN")
            connection.executemany(_ONE, self._rows())
            held = (blob_of(name) for name in self._members.sizes)
            connection.executemany(
                "INSERT INTO held VALUES (?)", ((one,) for one in held if one)
            )
            yield Snapshot(Path(), connection, "")
        finally:
            connection.close()

    def _rows(self) -> Iterator[tuple[int, str, str, bytes, bytes]]:
        for name, events in self._files.items():
            lines = self._members.lines(name, LONGEST_LINE)
            for one, line in zip(events, lines, strict=False):
                if one is not None and one.run is not None and one.seq <= MAX_INTEGER:
                    payload = Envelope.from_json(line[:-1]).payload
                    yield one.seq, one.kind, one.run, payload, one.leaf

    def _content(self, digest: bytes) -> bytes:
        return b"".join(self._members.pieces(blob_name(f"sha256:{digest.hex()}")))
