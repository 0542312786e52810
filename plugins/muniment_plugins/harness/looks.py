"""Earlier registrations of the same question, and what of them had been looked at.

    >>> [one.run for one in Looks(ledger, own, said).family]

Rules:

- A question is known by the name of its experiment or by the id of a claim, never by
  what the claim says. What had the same datasource may have seen the same data.
- Registrations are found by their subjects, so that the rest of the ledger is not read.
  Those of the first edition have none: they come first, and are read one by one.
- A run has looked once code ran on its data, or metrics were measured.
- Data is compared by content, within the ledger, without stating a digest of it; edits
  of it, see `likeness`, up to a mebibyte and among the first sixteen of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from muniment.canonical import sha256_tag
from muniment.errors import ErasedError
from muniment.events import BlobRef, Event
from muniment_plugins.harness.likeness import rows_alike, rows_in
from muniment_plugins.harness.moves import claim_ids
from muniment_plugins.harness.registration import KIND, is_found, subjects_of

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Look", "Looks", "older", "resolved"]

_LARGEST = 2**20
_COMPARED = 16
_LOOKED = "execution.completed,metrics.measured"

Row = Mapping[str, object]


@dataclass(frozen=True)
class Look:
    """A registration, and the run that it was made by, if any."""

    ledger: Ledger
    event: Event
    said: Row

    @property
    def run(self) -> str | None:
        """The run that registered itself; None for a registration apart from any."""
        return self.event.run

    def looked(self, before: int) -> bool:
        """Tell whether its run had seen data before the event *before*."""
        found = self.ledger.events(run=self.run, type=_LOOKED, to_seq=before, limit=1)
        return self.run is not None and next(found, None) is not None

    @property
    def seed(self) -> object:
        """What its run drew from."""
        (started,) = self.ledger.events(run=self.run, limit=1)
        return started.raw.get("seed")

    @cached_property
    def refs(self) -> list[BlobRef]:
        """The contents of its data, in the order of the log."""
        events = self.ledger.events(run=self.run, type="data.completed")
        values = (one.data.get("value") for one in events)
        return [one for one in values if isinstance(one, BlobRef)]

    @cached_property
    def contents(self) -> set[str]:
        """Digests of its data; for comparison only."""
        return {
            sha256_tag(one) for one in map(self._bytes, self.refs) if one is not None
        }

    @cached_property
    def rows(self) -> list[Counter[bytes]]:
        """The rows of each of its data sets, as far as they are compared."""
        compared = [one for one in self.refs[:_COMPARED] if one.size <= _LARGEST]
        return [rows_in(self.ledger.value(one)) for one in compared]

    @cached_property
    def was_erased(self) -> bool:
        """Whether some of its data is gone."""
        return any(self._bytes(one) is None for one in self.refs)

    @cached_property
    def code(self) -> set[str]:
        """Digests of the code that was accepted in its run."""
        found: set[str] = set()
        for event in self.ledger.events(run=self.run, type="synthesis.attempted"):
            data = resolved(self.ledger, event)
            if data.get("accepted") and isinstance(data.get("code"), str):
                text = cast("str", data["code"]).encode("utf-8", "surrogatepass")
                found.add(sha256_tag(text))
        return found

    def _bytes(self, ref: BlobRef) -> bytes | None:
        try:
            return self.ledger.get_blob(ref)
        except ErasedError:
            return None  # what is gone cannot be compared, and says so elsewhere

    def saw(self, other: Look) -> str | None:
        """Return how far the data of *other* is the data of this one; None if not."""
        if self.contents & other.contents:
            return "this data"
        near = (rows_alike(a, b) for a in self.rows for b in other.rows)
        return "an edit of this data" if any(near) else None


class Looks:
    """What stood in the ledger about the question of one registration, before it."""

    def __init__(self, ledger: Ledger, own: Event, said: Row) -> None:
        self.own = Look(ledger, own, said)
        self.earlier = sorted(self._earlier(), key=lambda one: one.event.seq)

    @property
    def family(self) -> list[Look]:
        """Registrations of the same name, or of one of the claims."""
        return [one for one in self.earlier if self.is_kin(one)]

    def is_kin(self, other: Look) -> bool:
        """Tell whether *other* asks the same question."""
        return self.has_name(other) or bool(self.shared_claims(other))

    def has_name(self, other: Look) -> bool:
        """Tell whether *other* has the same name."""
        return other.said["experiment"] == self.own.said["experiment"]

    def shared_claims(self, other: Look) -> set[str]:
        """Return the claims that both name."""
        return claim_ids(other.said) & claim_ids(self.own.said)

    @property
    def denominator(self) -> dict[str, int]:
        """How many runs of these claims, and of this name, the ledger holds with it."""
        runs = [one for one in self.earlier if one.run is not None]
        claims = {one.run for one in runs if self.shared_claims(one)}
        named = {one.run for one in runs if self.has_name(one)}
        return {"claim": len(claims) + 1, "experiment": len(named) + 1}

    def _earlier(self) -> Iterator[Look]:
        ledger, own = self.own.ledger, self.own.event
        found: dict[int, Event] = {}
        for digest in {digest for _, digest in subjects_of(self.own.said)}:
            for event in ledger.events(type=KIND, subject=digest, to_seq=own.seq):
                found[event.seq] = event
        for event in older(ledger, own.seq):
            found.setdefault(event.seq, event)
        for event in found.values():
            look = Look(ledger, event, resolved(ledger, event))
            if is_found(event) or self.is_kin(look):
                yield look


def older(ledger: Ledger, before: int | None = None) -> Iterator[Event]:
    """Yield the registrations of the first edition, which nothing but reading finds."""
    for event in ledger.events(type=KIND, to_seq=before):
        if is_found(event):
            return
        yield event


def resolved(ledger: Ledger, event: Event) -> Row:
    """Return what *event* says, without what was erased."""
    try:
        return ledger.resolve(event)
    except ErasedError:
        inline = event.data.items()
        return {name: one for name, one in inline if not isinstance(one, BlobRef)}
