"""Recounting the events of each series.

    12 claim.stated   "series":{"claim/c1":{"count":1}}
    40 claim.stated   "series":{"claim/c1":{"count":2,"prev":"<leaf hash of 12>"}}

Rules:

- An event of a series has the next number in it, and names the leaf hash of the one
  before. So none is missing, repeated, moved, or taken from another series or ledger.
- Nothing here knows what a key means. Writers decide which events are in a series.
- The first event after a break is reported; later ones are compared with that one.
- An event that closes a bundle says how many events some series have before it: so many
  as there are.
- Missing or unreadable rows may have been in a series: its next event is believed, and
  does not count as compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muniment.errors import WrongError
from muniment.formats.evidence import read_stated
from muniment.formats.series import SeriesLink, read_series
from muniment.verification.report import MALFORMED, Findings

__all__ = ["SeriesCheck", "SeriesInPart", "links_of"]

_ASK = "a writer left events of the series out, or made them up; ask who wrote it"


def links_of(chain: Any) -> tuple[SeriesLink, ...]:
    """Return the places in series that an event says it has; none if it is malformed."""
    try:
        return read_series(chain["series"]) if "series" in chain else ()
    except MALFORMED:
        return ()  # a finding of the row says so


class SeriesInPart:
    """Follows series of which a bundle has some events, in the order of the log."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, str]] = {}
        """Key → count and leaf hash of the last event that is here."""

    def broken(self, link: SeriesLink, leaf: bytes) -> tuple[str, str] | None:
        """Take the next place in a series; return the rule it breaks, and why."""
        named, (count, last) = (
            f"series {link.key!a:.80}",
            self._last.get(link.key, (0, "")),
        )
        self._last[link.key] = link.count, leaf.hex()
        if link.count <= count:
            what = (
                f"it says it is number {link.count} of {named}, and comes after number"
            )
            return "series/count", f"{what} {count}"
        if link.count == count + 1 and (link.prev or "") != last:
            return "series/prev", f"it does not name the event before it in {named}"
        return None


class SeriesCheck:
    """Follows every series of a log."""

    __slots__ = ("_findings", "_gaps", "_last", "compared", "total")

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._last: dict[str, tuple[int, str, int]] = {}
        """Key → count, leaf hash, and the number of gaps before it."""
        self._gaps = 0
        self.compared = self.total = 0
        """How many places in series were compared, and how many events state one."""

    def lose(self) -> None:
        """Count rows that may have been in any series."""
        self._gaps += 1

    def check(self, seq: int, links: Iterable[SeriesLink], leaf: bytes) -> None:
        """Compare the places in series that the event *seq* states."""
        for link in links:
            self.total += 1
            count, last, gaps = self._last.get(link.key, (0, "", 0))
            right = link.count == count + 1 and (link.prev or "") == last
            if not right and gaps == self._gaps:
                self._add(seq, link, count, last)
            self.compared += right
            self._last[link.key] = link.count, leaf.hex(), self._gaps

    def compare(self, seq: int, data: Any) -> None:
        """Compare the counts of series that the closing event *seq* of a bundle states."""
        try:
            listed = read_stated(data)
        except WrongError as error:
            self._findings.add_error("series", error, seq, f"event {seq}")
            return
        for one in listed:
            self.total += 1
            count, _, gaps = self._last.get(one.key, (0, "", 0))
            if count != one.count and gaps == self._gaps:
                what = f"it counts {one.count} events of series {one.key!a:.80}, and"
                what += f" {count} stand before"
                self._findings.add(
                    "series", "series/stated", what, seq=seq, remedy=_ASK
                )
            self.compared += count == one.count

    def _add(self, seq: int, link: SeriesLink, count: int, last: str) -> None:
        named = f"series {link.key!a:.80}"
        if link.count != count + 1:
            what = f"it says it is number {link.count} of {named}, of which {count} stand before"
            self._findings.add("series", "series/count", what, seq=seq, remedy=_ASK)
        if (link.prev or "") != last:
            what = f"it does not name the event before it in {named}"
            self._findings.add("series", "series/prev", what, seq=seq, remedy=_ASK)
