"""Which events of a ledger belong into the bundle of a run.

Rules:

- All events of the run; the answers to its questions; the erasures that name one of its
  blobs; and the events about keys that come before the tree head that covers the rest.
- Blobs of all these events, unless they were erased.
- A run may have any number of events: they are read anew each time, and never held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING

from muniment.errors import CannotTellError
from muniment.formats.checkpoint import Checkpoint, Note
from muniment.formats.evidence import COUNTED_BY
from muniment.formats.statement import BlobRef

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["KEY_EVENTS", "Selected", "size_of"]

KEY_EVENTS = ("ledger.opened", "key.enrolled", "key.revoked", "key.rotated")
"""The types of the events about keys."""
_ASKED, _GIVEN, _ERASED = "decision.asked", "decision.given", "blob.erased"


def size_of(note: bytes) -> int:
    """Return how many events the checkpoint *note* covers."""
    return Checkpoint.parse(Note.parse(note).text).size


@dataclass(frozen=True, slots=True)
class Selected:
    """The record of one run, without the keys."""

    ledger: Ledger
    run: str
    about: Sequence[Event]
    """Answers to the run's questions, and erasures of its blobs, in the order of the log."""
    blobs: dict[str, BlobRef]
    """Commitment → reference, of the blobs that were not erased."""
    signer: bytes
    """The raw key of the last event of the run."""
    end: int
    """One more than the number of the last event of the run."""
    count: int
    """How many events these are."""
    series: frozenset[str]
    """The keys of the series that the run is in."""
    on_read: Callable[[], None] | None = None
    """Is called for each event of the run that is read again."""

    @classmethod
    def of(cls, ledger: Ledger, run: str) -> Selected:
        """Gather the record of *run*.

        Raises:
            CannotTellError: a blob is gone, and no event erased it.

        """
        refs: dict[str, BlobRef] = {}
        series: set[str] = set()
        about: dict[int, Event] = {}
        count, end, signer = 0, 0, b""
        for one in ledger.events(run=run):
            count, end, signer = count + 1, one.seq + 1, one.key
            _refer(refs, one)
            if one.type in COUNTED_BY:
                series |= {link.key for link in one.series}
            if one.type == _ASKED:
                asked = f"sha256:{one.hash}"
                answers = ledger.events(type=_GIVEN, subject=asked)
                about |= {given.seq: given for given in answers}
        for one in about.values():
            _refer(refs, one)
        erasures = [
            one
            for one in ledger.events(type=_ERASED)
            if not refs.keys().isdisjoint(_named(one))
        ]
        gone = {tag for one in erasures for tag in _named(one)}
        held = {tag: ref for tag, ref in refs.items() if ledger.holds(tag)}
        for tag in refs.keys() - held.keys() - gone:
            raise CannotTellError(
                "the blob is gone, and no event says that it was erased",
                rule="evidence/blob",
                place=tag,
                remedy="run `muniment verify`; restore the blob from a copy",
            )
        about |= {one.seq: one for one in erasures}
        return cls(
            ledger,
            run,
            [about[seq] for seq in sorted(about)],
            dict(sorted(held.items())),
            signer,
            end,
            count + len(about),
            frozenset(series),
        )

    @property
    def last(self) -> int:
        """The number of the last of these events."""
        return max([self.end - 1, *(one.seq for one in self.about)])

    def events(self) -> Iterator[Event]:
        """Yield these events in the order of the log; there may be many."""
        own = self.ledger.events(run=self.run, to_seq=self.end)
        for one in merge(own, self.about, key=_seq):
            if self.on_read is not None:
                self.on_read()
            yield one

    def with_keys(self, before: int | None = None) -> Iterator[Event]:
        """Yield the events with those about keys, as far as they come *before*."""
        keys = self.ledger.events(type=",".join(KEY_EVENTS), to_seq=before)
        return merge(keys, self.events(), key=_seq)

    def last_with_keys(self, before: int) -> int:
        """Return the number of the last event that `with_keys` yields."""
        types = ",".join(KEY_EVENTS)
        keys = self.ledger.events(type=types, to_seq=before, order="desc", limit=1)
        return max([self.last, *(one.seq for one in keys)])


def _seq(event: Event) -> int:
    return event.seq


def _refer(refs: dict[str, BlobRef], event: Event) -> None:
    """Add the blobs to which *event* refers."""
    for value in event.data.values():
        if isinstance(value, BlobRef):
            refs[value.digest] = value


def _named(event: Event) -> list[str]:
    listed = event.raw.get("blobs")
    return [str(one) for one in listed] if isinstance(listed, list) else []
