"""The rows of a run, verified while they are read, for replays and resumes.

    check = RunCheck(database, ledger_id, run)
    events = check.events()
    check.checked()     Checked(rows=11, signatures=12, proven=True)

Rules:

- The returned events are made from the very bytes that were judged.
- Any finding is raised before the first event is returned: nothing is answered from a
  record that does not verify.
- The answers to the run's questions are judged with them.
- If a run grows, judging continues where it was; the same holds for the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import WrongError
from muniment.events.readable import as_signed, repaired
from muniment.formats.decisions import ASKED, GIVEN
from muniment.formats.statement import Event, read_event
from muniment.storage.connections import Database
from muniment.verification.runs.run_record import KEY_TYPES, RunRecord

if TYPE_CHECKING:
    from muniment.ledger_reads import LedgerReads

__all__ = ["Checked", "RunCheck", "checked_events"]

_COLUMNS = "seq, type, run, payload, signature, key, hash"
_OF_RUN = f"SELECT {_COLUMNS} FROM event WHERE run = ? AND seq >= ? ORDER BY seq"  # noqa: S608 - our names
_OF_KEYS = (
    f"SELECT {_COLUMNS} FROM event WHERE type = ? AND run IS NOT ? AND seq >= ? "  # noqa: S608 - the same
    "ORDER BY seq"
)
_ANSWERS = (
    f"SELECT {_COLUMNS} FROM event WHERE seq IN (SELECT seq FROM subject "  # noqa: S608 - the same
    "WHERE digest = ?) AND type = ? AND seq >= ? ORDER BY seq"
)
_GENESIS = f"SELECT {_COLUMNS} FROM event WHERE seq = 0 AND type <> ? AND ? <= 0"  # noqa: S608 - the same


@dataclass(frozen=True, slots=True)
class Checked:
    """How much of a run was verified before its program was called."""

    rows: int
    """The events of the run: leaf hash, signature, key, ordinal of each."""
    signatures: int
    """The signatures of the run's events, and of the events about keys."""
    proven: bool
    """Whether the run has an end whose root and counts cover all of them."""

    def __str__(self) -> str:
        """One line."""
        rows = "1 event" if self.rows == 1 else f"{self.rows:,} events"
        root = "root and counts" if self.proven else "no end yet"
        return f"{rows}, {self.signatures:,} signatures, {root}"

    def to_json(self) -> dict[str, JsonValue]:
        """Return it as plain JSON."""
        return {
            "rows": self.rows,
            "signatures": self.signatures,
            "root": self.proven,
        }

    def plus(self, other: Checked) -> Checked:
        """Return the sums for two runs."""
        return Checked(
            self.rows + other.rows,
            self.signatures + other.signatures,
            self.proven and other.proven,
        )

    @classmethod
    def from_json(cls, value: Mapping[str, JsonValue]) -> Self:
        """Read back what `to_json` wrote."""
        rows, signatures = (cast("int", value[name]) for name in ("rows", "signatures"))
        return cls(rows, signatures, bool(value["root"]))


class RunCheck:
    """Reads and verifies the rows of one run, from its start and then as it grows."""

    def __init__(self, database: Database, ledger_id: str, run: str) -> None:
        self._database = database
        self._run = run
        self._record = RunRecord(ledger_id, run)
        self._next = 0
        self._signatures = 0
        self._asked: list[bytes] = []
        """The leaf hashes of the events in which the run asks people."""

    def events(self) -> list[Event]:
        """Return the run's events that were not returned yet.

        Raises:
            WrongError: one of them does not verify; ``seq`` is the first.

        """
        rows = self._rows()
        for row in rows:
            self._record.add(row)
        self._signatures, findings = self._record.finish()
        if findings:
            first = findings[0]
            more = f"; {len(findings) - 1} findings more" if len(findings) > 1 else ""
            raise WrongError(
                f"the record does not verify: {first.message}{more}",
                rule=first.rule,
                seq=first.seq,
                place=f"run {self._run}, {first.place}",
                remedy="`muniment verify` judges the whole ledger; restore a copy that "
                "verifies",
            )
        own = [row for row in rows if row[2] == self._run]
        self._next = max((row[0] + 1 for row in rows), default=self._next)
        return [read_event(row[3], row[4], row[5], row[6]) for row in own]

    def checked(self) -> Checked:
        """Return how much was verified so far."""
        return Checked(self._record.rows, self._signatures, self._record.proven)

    def _rows(self) -> list[Any]:
        with self._database.reading() as driver:
            driver.execute("BEGIN")  # keys and rows from one snapshot
            try:
                parts = [driver.execute(_OF_RUN, (self._run, self._next)).fetchall()]
                parts += [
                    driver.execute(_OF_KEYS, (kind, self._run, self._next)).fetchall()
                    for kind in KEY_TYPES
                ]
                own = [row for row in parts[0] if row[1] == ASKED]
                self._asked += [row[6] for row in own]
                parts += [
                    driver.execute(_ANSWERS, (leaf, GIVEN, self._next)).fetchall()
                    for leaf in self._asked
                ]
                genesis = ("ledger.opened", self._next)
                parts.append(driver.execute(_GENESIS, genesis).fetchall())
            finally:
                driver.execute("COMMIT")
        return list(merge(*parts, key=itemgetter(0)))


def checked_events(ledger: LedgerReads, run: str) -> tuple[list[Event], Checked]:
    """Return the events of *run*, after verifying their rows, and how much was verified.

    For whoever judges what they say: each has the fields that its type declares.

    Raises:
        WrongError: a row does not verify, or an event has not what its type declares.

    """
    database = ledger.store.database
    check = RunCheck(database, ledger.id, run)
    read = (repaired(one, database.declared) for one in check.events())
    return [*map(as_signed, read)], check.checked()
