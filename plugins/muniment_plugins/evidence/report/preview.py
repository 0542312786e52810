"""A bundle before it is written, asked as a bundle is: for the report that goes into it.

Rule: it answers what the bundle will hold, and nothing else of the ledger; so the report
in a bundle cites nothing that its receiver has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from muniment import EventFilters
from muniment.formats.evidence import CHECKPOINT, EVENTS, Withheld
from muniment_plugins.evidence.bundle_contents import BundleContents, absent
from muniment_plugins.evidence.selection import KEY_EVENTS, Selected, size_of

if TYPE_CHECKING:
    from muniment.formats.statement import BlobRef, Event
    from muniment.plugins import Plugins
    from muniment_plugins.evidence.series import SeriesOfRun

__all__ = ["BundlePreview"]

_OWN = {"run", "type", "from_seq", "to_seq", "order"}
_seq = attrgetter("seq")


@dataclass(frozen=True)
class BundlePreview(BundleContents):
    """What a bundle will hold."""

    selected: Selected
    series: SeriesOfRun
    note: bytes
    """The tree head over the events."""
    before: int | None
    """The number of the closing event, if there is one already."""

    @property
    def path(self) -> Path:  # type: ignore[override]
        """Where the ledger is."""
        return self.selected.ledger.path

    @property
    def id(self) -> str:
        """The id of the ledger."""
        return self.selected.ledger.id

    @property
    def run(self) -> str:  # type: ignore[override]
        """The run that the bundle is of."""
        return self.selected.run

    @property
    def withheld(self) -> Withheld:  # type: ignore[override]
        """What the bundle will withhold."""
        return self.selected.withheld

    @property
    def plugins(self) -> Plugins:
        """Those of the ledger."""
        return self.selected.ledger.plugins

    @property
    def checkpointed(self) -> int:
        """How many events the tree head covers."""
        return size_of(self.note)

    def first_checkpoint_over(self, seq: int) -> bytes:
        """Return the tree head; raise `NotInBundle` if it does not cover *seq*."""
        if seq >= self.checkpointed:
            raise absent(f"a checkpoint over event {seq}", CHECKPOINT)
        return self.note

    def root(self, size: int) -> bytes:
        """Return the root of the tree; raise `NotInBundle` for another *size*."""
        if size != self.checkpointed:
            raise absent(f"the root over {size} events", CHECKPOINT)
        return self.selected.ledger.root(size)

    def event(self, seq: int) -> Event:
        """Return event number *seq*; raise `NotInBundle` if it will not be here."""
        self.refuse_withheld(seq)
        found = self.selected.ledger.event(seq)
        related = self.selected.related
        held = self._is_own(found) or (related is not None and related.holds(found))
        if not held and all(seq != one.seq for one in self._beside):
            raise absent(f"event {seq}", EVENTS)
        return found

    def events(self, **filters: Unpack[EventFilters]) -> Iterator[Event]:
        """Yield the events that pass the filters, as the bundle will."""
        passes = self.selecting(self._shown, **filters)
        backwards = filters.get("order") == "desc"
        found: list[Iterator[Event]] = []
        asked, own = filters.get("run"), {k: v for k, v in filters.items() if k in _OWN}
        if asked is None or self.run.startswith(asked):
            told = cast("Any", {**own, "run": self.run})
            found.append(filter(self._is_own, self.selected.ledger.events(**told)))
        found.append(iter(self._beside[::-1] if backwards else self._beside))
        if (related := self.selected.related) is not None:
            others = filter(passes, related.events())
            found.append(iter([*others][::-1]) if backwards else others)
        every = merge(*found, key=_seq, reverse=backwards)
        return islice(filter(passes, every), filters.get("limit"))

    def _is_own(self, event: Event) -> bool:
        disclosure = self.selected.disclosure
        shown = disclosure is None or disclosure.shows(event)
        return shown and event.run == self.run and event.seq < self.selected.end

    @cached_property
    def _shown(self) -> frozenset[str]:
        return frozenset(one.key for one in self.series.stated if one.shown)

    @cached_property
    def _beside(self) -> tuple[Event, ...]:
        """The events about keys, about the run, and of others in its series."""
        types = ",".join(KEY_EVENTS)
        keys = self.selected.ledger.events(type=types, to_seq=self.before)
        every = [*keys, *self.selected.about, *self.series.events]
        return tuple(sorted(every, key=_seq))

    def get_blob(self, ref: BlobRef) -> bytes:
        """Return the content of a blob, as the bundle will; see `BundleReader.get_blob`."""
        related, about = self.selected.related, [*self.selected.about]
        blobs = set(self.selected.blobs)
        if related is not None:
            blobs |= related.blobs.keys()
            about += [one for part in related.parts for one in part.about]
        if ref.digest in blobs:
            return self.selected.ledger.get_blob(ref)
        raise self.lacks(ref, (one for one in about if one.type == "blob.erased"))
