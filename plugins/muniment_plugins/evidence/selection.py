"""Which events of a ledger belong into the bundle of a run.

Rules:

- All events of the run; the answers to its questions; the erasures that name one of its
  blobs; and the events about keys that come before the tree head that covers the rest.
- Blobs of all these events, unless they were erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.errors import CannotTellError
from muniment.formats.checkpoint import Checkpoint, Note
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
    events: Sequence[Event]
    """Of the run and about it, in the order of the log."""
    blobs: dict[str, BlobRef]
    """Commitment → reference, of the blobs that were not erased."""

    @classmethod
    def of(cls, ledger: Ledger, run: str) -> Selected:
        """Gather the record of *run*.

        Raises:
            CannotTellError: a blob is gone, and no event erased it.

        """
        own = list(ledger.events(run=run))
        for asked in [one for one in own if one.type == _ASKED]:
            about = f"sha256:{asked.hash}"
            own += ledger.events(type=_GIVEN, subject=about)
        values = [value for one in own for value in one.data.values()]
        refs = {ref.digest: ref for ref in values if isinstance(ref, BlobRef)}
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
        unique = {one.seq: one for one in (*own, *erasures)}
        events = [unique[seq] for seq in sorted(unique)]
        return cls(ledger, run, events, dict(sorted(held.items())))

    @property
    def last(self) -> int:
        """The number of the last of these events."""
        return self.events[-1].seq

    @property
    def signer(self) -> bytes:
        """The raw key of the last event of the run."""
        return next(one.key for one in reversed(self.events) if one.run == self.run)

    def with_keys(self, before: int | None = None) -> list[Event]:
        """Return the events with those about keys, as far as they come *before*."""
        keys = self.ledger.events(type=",".join(KEY_EVENTS), to_seq=before)
        return sorted([*keys, *self.events], key=lambda one: one.seq)


def _named(event: Event) -> list[str]:
    listed = event.raw.get("blobs")
    return [str(one) for one in listed] if isinstance(listed, list) else []
