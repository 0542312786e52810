"""A bundle, asked as a ledger is: events, contents, series, and the tree head.

    with open_bundle(Path("evidence.zip")) as bundle:
        write_report(bundle, bundle.run, Path("report.html"))

Rules:

- It is verified before anything is read, as `muniment verify` does it. That its root is
  the right one is for others to say.
- It is of one run, and answers what it holds: the record of that run and of those upon which
  it rests, and starts, ends, marks and verdicts of the runs in its series. Contents of these, and
  everything else of the ledger, are not in it; asking for a blob that is not is
  `NotInBundle`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from muniment import EventFilters, verify_bundle
from muniment.encoding.canonical import parse
from muniment.errors import MunimentError, WrongError
from muniment.events.readable import Declared, readable
from muniment.events.vocabulary import Vocabulary
from muniment.formats.checkpoint import Checkpoint, Note
from muniment.formats.dsse import Envelope, decode_base64, entry_hash, spki_base64
from muniment.formats.evidence import (
    CHECKPOINT,
    CLOSING,
    EVENTS,
    NOTHING,
    RELATED,
    SERIES,
    WITHHELD,
    Withheld,
    blob_name,
    parse_withheld,
    read_stated,
)
from muniment.formats.sigstore import SigstoreBundle
from muniment.formats.statement import BlobRef, Event
from muniment.keys.ed25519 import PublicKey
from muniment.plugins import Plugins
from muniment.verification.bundle.members import Members, opened
from muniment_plugins.evidence.bundle_contents import (
    BundleContents,
    NotInBundle,
    WithheldFromBundle,
    absent,
)
from muniment_plugins.evidence.selection import KEY_EVENTS

if TYPE_CHECKING:
    from muniment.verification.report import Report

__all__ = ["BundleReader", "NotInBundle", "WithheldFromBundle", "open_bundle"]

_SALT = 32
_SMALL = 1 << 20
_LONGEST = 100_000
"""More bytes than the longest line of events has."""


@dataclass(frozen=True)
class BundleReader(BundleContents):
    """What a bundle holds."""

    path: Path
    id: str
    """The id of the ledger."""
    run: str
    verified: Report
    """What `muniment verify` says of the bundle."""
    plugins: Plugins
    _members: Members
    _events: dict[int, Event]
    """Number → event, in the order of the log."""
    _note: bytes
    _shown: frozenset[str]
    """The series of which every event is here."""
    withheld: Withheld
    """Events of the run, and blobs of events here, that the bundle names alone."""

    @property
    def checkpointed(self) -> int:
        """How many events the tree head covers that is over all events here."""
        return self._head.size

    @property
    def _head(self) -> Checkpoint:
        return Checkpoint.parse(Note.parse(self._note).text)

    @property
    def files(self) -> dict[str, Callable[[], Iterator[bytes]]]:
        """The files of the bundle, as they are: name → what gives the content."""
        return {
            name: partial(self._members.pieces, name) for name in self._members.sizes
        }

    def first_checkpoint_over(self, seq: int) -> bytes:
        """Return the one tree head over the events.

        Raises:
            NotInBundle: it does not cover event *seq*.

        """
        if seq >= self.checkpointed:
            raise absent(f"a checkpoint over event {seq}", "checkpoint")
        return self._note

    def root(self, size: int) -> bytes:
        """Return the root of the tree of *size* events.

        Raises:
            NotInBundle: the tree head is of another size.

        """
        if size != self.checkpointed:
            raise absent(f"the root over {size} events", "checkpoint")
        return self._head.root

    def event(self, seq: int) -> Event:
        """Return event number *seq*.

        Raises:
            WithheldFromBundle: the bundle withholds it.
            NotInBundle: it is not here.

        """
        self.refuse_withheld(seq)
        if seq not in self._events:
            raise absent(f"event {seq}", EVENTS)
        return self._events[seq]

    def events(self, **filters: Unpack[EventFilters]) -> Iterator[Event]:
        """Yield the events that pass the filters; see `EventFilters`.

        Raises:
            UsageError: a filter is one that only a ledger has.
            NotInBundle: the series is not shown whole.

        """
        passes = self.selecting(self._shown, **filters)
        found: Iterator[Event] = filter(passes, self._events.values())
        if filters.get("order") == "desc":
            found = iter(list(found)[::-1])
        return islice(found, filters.get("limit"))

    def get_blob(self, ref: BlobRef) -> bytes:
        """Return the content of a blob, without its salt.

        Raises:
            ErasedError: an event here says that it was erased.
            WithheldFromBundle: the bundle withholds it.
            NotInBundle: it is the blob of another run.

        """
        name = blob_name(ref.digest)
        if name in self._members.sizes:
            return b"".join(self._members.pieces(name))[_SALT:]
        raise self.lacks(ref, self.events(type="blob.erased"))


@contextmanager
def open_bundle(path: Path, plugins: Plugins | None = None) -> Generator[BundleReader]:
    """Lend the bundle at *path*, a directory or a zip file, for reading.

    Args:
        path: what ``muniment bundle`` wrote.
        plugins: whom to ask about its run; by default all that are installed.

    Raises:
        WrongError: it does not verify.
        CannotTellError: it cannot be read.

    """
    report = verify_bundle(path)
    for found in report.findings:
        raise WrongError(
            f"the bundle does not verify: {found.message}",
            rule=found.rule,
            seq=found.seq,
            place=found.place,
            remedy=found.remedy,
        )
    active = plugins or Plugins(None)
    with opened(path) as members:
        known = _declared_by(active)
        publics: dict[str, PublicKey] = {}
        own = [*_events(members, EVENTS, publics, known)]
        beside = [name for name in (RELATED, SERIES) if name in members.sizes]
        others = [
            one for name in beside for one in _events(members, name, publics, known)
        ]
        yield BundleReader(
            path,
            str(report.ledger),
            next(one.run for one in own if one.run is not None),
            report,
            active,
            members,
            {one.seq: one for one in sorted([*own, *others], key=lambda one: one.seq)},
            members.read(CHECKPOINT, _SMALL),
            _shown(members),
            _withheld(members),
        )


def _declared_by(plugins: Plugins) -> Declared:
    """Return what *plugins* declare of events; one that fails declares nothing."""
    words = Vocabulary()
    with suppress(MunimentError):
        plugins.declare(words.register)
    return words.types.of_plugin


def _events(
    members: Members, name: str, publics: dict[str, PublicKey], declared: Declared
) -> Iterator[Event]:
    """Yield the events of a file of a bundle that verified; keep the keys they name."""
    for line in members.lines(name, _LONGEST):
        envelope = Envelope.from_json(line[:-1])
        predicate = cast("dict[str, Any]", parse(envelope.payload))["predicate"]
        data = predicate["data"]
        if predicate["muniment"]["type"] in KEY_EVENTS:
            listed = data.get("keys") or [data.get("new", data)]
            for entry in (one for one in listed if "public" in one):
                public = PublicKey(decode_base64(entry["public"]) or b"")
                publics[public.keyid] = public
        signer = publics[envelope.keyid]
        leaf = entry_hash(envelope.payload, envelope.signature, spki_base64(signer))
        chain = predicate["muniment"]
        place = chain["seq"], chain["type"], chain.get("run")
        parts = envelope.payload, envelope.signature, signer.raw, leaf
        yield readable(place, *parts, declared=declared)


def _shown(members: Members) -> frozenset[str]:
    """Return the series that a bundle which verified says it shows."""
    if CLOSING not in members.sizes:
        return frozenset()
    payload = SigstoreBundle.parse(members.read(CLOSING, _SMALL)).envelope.payload
    data = cast("dict[str, Any]", parse(payload))["predicate"]["data"]
    return frozenset(one.key for one in read_stated(data) if one.shown)


def _withheld(members: Members) -> Withheld:
    """Return what a bundle that verified withholds."""
    if WITHHELD not in members.sizes:
        return NOTHING
    return parse_withheld(members.lines(WITHHELD, _LONGEST))
