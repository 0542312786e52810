"""The events that a bundle withholds, in their turn between those that it shows.

Rules:

- Each has a number that no event here has, comes after the run's start, and is counted in
  the run by its leaf hash and scope: root and counts of the run's end cover these.
- Number and leaf hash are proven to be in the tree. Scope and ordinal are what the closing
  event says: two that are exchanged give the same root and counts.
- Its signature, data and type are unchecked. It may be anything: a claim, whose series are
  then not counted, or an end that was not the last. The report says so.
"""

from __future__ import annotations

from collections import deque

from muniment.errors import WrongError
from muniment.formats.evidence import (
    NOTHING,
    WITHHELD,
    Withheld,
    WithheldEvent,
    parse_withheld,
)
from muniment.verification.bundle.members import Members
from muniment.verification.report import Findings
from muniment.verification.runs.run_record import RunRecord

__all__ = ["WithheldEvents"]

_LONGEST_LINE = 8192
_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


class WithheldEvents:
    """Hands the withheld events to the record of the run, each in its turn."""

    def __init__(self, members: Members, findings: Findings) -> None:
        self._findings = findings
        self.all = self._read(members)
        self._left = deque(self.all.events)

    def _read(self, members: Members) -> Withheld:
        if WITHHELD not in members.sizes:
            return NOTHING
        try:
            return parse_withheld(members.lines(WITHHELD, _LONGEST_LINE))
        except WrongError as error:
            self._findings.add_error("edited", error, place=WITHHELD)
            return NOTHING

    def before(self, seq: int | None, record: RunRecord | None) -> WithheldEvent | None:
        """Count those before event *seq*, or all; return the last one."""
        last = None
        while self._left and (seq is None or self._left[0].seq < seq):
            last = self._left.popleft()
            if record is None:
                self._add("it is withheld, and comes before the run", last.seq)
            else:
                record.withhold(last)
        if self._left and self._left[0].seq == seq:
            self._add(f"event {seq} is withheld, and here", self._left.popleft().seq)
        return last

    def _add(self, message: str, seq: int) -> None:
        self._findings.add(
            "edited", "bundle/withheld", message, seq=seq, place=WITHHELD, remedy=_ASK
        )

    @property
    def notes(self) -> list[str]:
        """What the reader has to know."""
        found: list[str] = []
        if number := len(self.all.events):
            found.append(
                f"{number} events of the run are withheld: number and leaf hash are proven, "
                "signature, type, place and data unchecked; a claim, call, mark or end among "
                "them would not be counted"
            )
        if number := len(self.all.blobs):
            found.append(f"{number} blobs are withheld: their commitments are signed")
        return found
