"""Which events of a ledger belong into the bundle of a run.

Rules:

- All events of the run; the answers to its questions; the erasures that name one of its
  blobs; and the events about keys that come before the tree head that covers the rest.
- Blobs of all these events, unless they were erased.
- The same of related runs: `muniment_plugins.evidence.related` says which these are.
- An event that was repaired for reading is refused: nothing is handed on that was not
  signed.
- A run may have any number of events: they are read anew each time, and never held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING

from muniment.errors import CannotTellError
from muniment.events.readable import as_signed, references
from muniment.formats.checkpoint import Checkpoint, Note
from muniment.formats.evidence import COUNTED_BY, NOTHING, Withheld, WithheldEvent
from muniment_plugins.evidence.disclosure import Disclosure

if TYPE_CHECKING:
    from muniment.formats.statement import BlobRef, Event
    from muniment.ledger import Ledger

__all__ = ["KEY_EVENTS", "RelatedRuns", "Selected", "size_of"]

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
    withheld: Withheld = NOTHING
    disclosure: Disclosure | None = None
    """Which payloads are shown; None in a bundle that is not redacted."""
    related: RelatedRuns | None = None
    """The runs upon which this one rests; None if there are none, or none is shown."""
    on_read: Callable[[], None] | None = None
    """Is called for each event of the run that is read again."""

    @classmethod
    def of(
        cls,
        ledger: Ledger,
        run: str,
        disclosure: Disclosure | None = None,
        before: int | None = None,
    ) -> Selected:
        """Gather the record of *run*, or what the *disclosure* shows of it.

        Of its own events, only those *before* one are taken, if that is given.

        Raises:
            CannotTellError: a blob is gone, and no event erased it.
            UsageError: a pattern of the disclosure matches nothing.
            WrongError: an event that is shown is malformed.

        """
        if disclosure is not None:
            disclosure.learn(ledger.events(run=run))
            disclosure.settle(ledger.events(run=run))
        parts = _Parts(disclosure)
        series: set[str] = set()
        about: dict[int, Event] = {}
        end, signer = 0, b""
        for one in ledger.events(run=run, to_seq=before):
            end, signer = one.seq + 1, one.key
            if not parts.take(one):
                continue
            if one.type in COUNTED_BY:
                series |= {link.key for link in one.series}
            if one.type == _ASKED:
                asked = f"sha256:{one.hash}"
                answers = ledger.events(type=_GIVEN, subject=asked)
                about |= {given.seq: given for given in answers}
        for one in about.values():
            parts.refer(one)
        about |= {one.seq: one for one in _erasures(ledger, parts.refs)}
        held = parts.held(ledger, about.values())
        kept = parts.kept
        return cls(
            ledger,
            run,
            [about[seq] for seq in sorted(about)],
            {tag: ref for tag, ref in held.items() if tag not in kept},
            signer,
            end,
            parts.count + len(about),
            frozenset(series),
            Withheld(tuple(parts.hidden), frozenset(kept & held.keys())),
            disclosure,
        )

    @property
    def last(self) -> int:
        """The number of the last of these events, and of those of related runs."""
        others = -1 if self.related is None else self.related.last
        return max([self.end - 1, others, *(one.seq for one in self.about)])

    def events(self) -> Iterator[Event]:
        """Yield these events in the order of the log; there may be many."""
        own = self.ledger.events(run=self.run, to_seq=self.end)
        if self.disclosure is not None:
            own = filter(self.disclosure.shows, own)
        for one in merge(own, self.about, key=_seq):
            if self.on_read is not None:
                self.on_read()
            yield one

    def followed(self, on_read: Callable[[], None]) -> Selected:
        """Return the same, with *on_read* told of each event that is read again."""
        related = self.related
        if related is not None:
            parts = [replace(part, on_read=on_read) for part in related.parts]
            related = replace(related, parts=tuple(parts))
        return replace(self, on_read=on_read, related=related)

    def with_keys(self, before: int | None = None) -> Iterator[Event]:
        """Yield the events with those about keys, as far as they come *before*."""
        keys = self.ledger.events(type=",".join(KEY_EVENTS), to_seq=before)
        return merge(keys, self.events(), key=_seq)

    def others(self, series: Iterable[Event] = ()) -> Iterator[Event]:
        """Yield the events of related runs, then those of other runs in its *series*."""
        yield from () if self.related is None else self.related.events()
        yield from series

    def last_with_keys(self, before: int) -> int:
        """Return the number of the last event that `with_keys` yields."""
        types = ",".join(KEY_EVENTS)
        keys = self.ledger.events(type=types, to_seq=before, order="desc", limit=1)
        return max([self.last, *(one.seq for one in keys)])


@dataclass(frozen=True, slots=True)
class RelatedRuns:
    """The runs upon which another one rests."""

    parts: tuple[Selected, ...]
    """Each of them, whole, or up to an event."""
    known: frozenset[int]
    """The answers and erasures that the run itself shows."""
    about: frozenset[int]
    """Those of these runs."""
    ends: Mapping[str, int]
    """Run → one more than the number of its last event here."""

    @classmethod
    def of(cls, selected: Selected, runs: Mapping[str, int | None]) -> RelatedRuns:
        """Gather the *runs* upon which the one that was *selected* rests.

        Args:
            selected: the record of a run.
            runs: run → before which event it ends here; None if it is here whole.

        Raises:
            CannotTellError: a blob of one is gone, and no event erased it.

        """
        ledger = selected.ledger
        parts = [Selected.of(ledger, run, before=runs[run]) for run in sorted(runs)]
        return cls(
            tuple(parts),
            frozenset(one.seq for one in selected.about),
            frozenset(one.seq for part in parts for one in part.about),
            {part.run: part.end for part in parts},
        )

    @property
    def blobs(self) -> dict[str, BlobRef]:
        """Commitment → reference, of the blobs that were not erased."""
        return {tag: ref for part in self.parts for tag, ref in part.blobs.items()}

    @property
    def last(self) -> int:
        """The number of the last event; -1 if there is none."""
        return max((part.last for part in self.parts), default=-1)

    @property
    def count(self) -> int:
        """About how many events these are: one may be about several runs."""
        return sum(part.count for part in self.parts)

    def events(self) -> Iterator[Event]:
        """Yield the events in the order of the log; there may be many."""
        last = -1
        for one in merge(*(part.events() for part in self.parts), key=_seq):
            if one.seq != last and one.seq not in self.known:
                last = one.seq
                yield one

    def holds(self, event: Event) -> bool:
        """Tell whether the *event* of some run is among these."""
        return event.seq in self.about or event.seq < self.ends.get(event.run or "", 0)


def _seq(event: Event) -> int:
    return event.seq


class _Parts:
    """Parts the events and blobs of a run into those that are shown, and the others."""

    def __init__(self, disclosure: Disclosure | None) -> None:
        self._disclosure = disclosure
        self.refs: dict[str, BlobRef] = {}
        """Commitment → reference, of all blobs of events that are shown."""
        self.hidden: list[WithheldEvent] = []
        self.count = 0
        """How many events are shown."""
        self._shown: set[str] = set()
        self._kept: set[str] = set()

    def take(self, event: Event) -> bool:
        """Take an event of the run; return whether it is shown."""
        if self._disclosure is not None and not self._disclosure.shows(event):
            self._disclosure.withheld[event.type] += 1
            place = event.scope or "", event.ordinal or 0
            leaf = bytes.fromhex(event.hash)
            self.hidden.append(WithheldEvent(event.seq, *place, leaf))
            return False
        if self._disclosure is not None:
            self._disclosure.shown[event.type] += 1
        self.count += 1
        self.refer(event)
        return True

    def refer(self, event: Event) -> None:
        """Add the blobs to which an event refers that is shown."""
        as_signed(event)
        for name, ref in references(event).items():
            self.refs[ref.digest] = ref
            told = self._disclosure
            if told is None or told.shows_blob(event, name):
                self._shown.add(ref.digest)
            else:
                self._kept.add(ref.digest)

    @property
    def kept(self) -> set[str]:
        """The blobs that no event shows."""
        return self._kept - self._shown

    def held(self, ledger: Ledger, about: Iterable[Event]) -> dict[str, BlobRef]:
        """Return the blobs that were not erased.

        Raises:
            CannotTellError: one is gone, and no event erased it.

        """
        gone = {tag for one in about if one.type == _ERASED for tag in _named(one)}
        held = {tag: ref for tag, ref in self.refs.items() if ledger.holds(tag)}
        for tag in self.refs.keys() - held.keys() - gone:
            raise CannotTellError(
                "the blob is gone, and no event says that it was erased",
                rule="evidence/blob",
                place=tag,
                remedy="run `muniment verify`; restore the blob from a copy",
            )
        return dict(sorted(held.items()))


def _erasures(ledger: Ledger, refs: Mapping[str, BlobRef]) -> Iterator[Event]:
    """Yield the events that erased one of the blobs."""
    for one in ledger.events(type=_ERASED):
        if not refs.keys().isdisjoint(_named(one)):
            yield one


def _named(event: Event) -> list[str]:
    listed = event.raw.get("blobs")
    return [str(one) for one in listed] if isinstance(listed, list) else []
