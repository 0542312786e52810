"""Reading from an open ledger: events, blobs, projections, proofs.

Rules:

- Every answer is read from the log when it is asked; nothing is kept in memory.
- Ids are returned whole, and accepted as any unique prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.encoding.codec import decode
from muniment.encoding.registry import ValueTypes
from muniment.errors import WrongError
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import EventTypes
from muniment.formats.checkpoint import Checkpoint, TlogProof
from muniment.formats.statement import BlobRef, Event
from muniment.formats.tlog_proof import Included
from muniment.gates import LedgerPort
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring
from muniment.plugins import Plugins
from muniment.queries.filters import EventFilters, RunFilters, Selection
from muniment.queries.projections import Projection, fold
from muniment.recorded.descent import children_of
from muniment.storage.append import Store
from muniment.storage.blobs import content_value
from muniment.storage.cache import Cache, cache_path
from muniment.storage.lookup import (
    digest,
    event_at,
    events_in,
    events_of_run,
    has_head,
    head_of,
    run_id,
)
from muniment.storage.open import Opened
from muniment.storage.prove import (
    check_proof,
    consistency,
    first_checkpoint_over,
    newest_checkpoint,
    prove,
    prove_each,
    root_of,
)
from muniment.trust.head_memory import Head
from muniment.trust.home import TrustHome

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlmodel import Session

    from muniment.queries.run_summary import RunSummary

__all__ = ["LedgerReads"]

V = TypeVar("V")


class LedgerReads:
    """The reading half of a `Ledger`."""

    def __init__(self, opened: Opened, port: LedgerPort) -> None:
        self._store = opened.store
        self._home = opened.home
        self._port = port
        self._secret: bytes | None = None

    @property
    def id(self) -> str:
        """``sha256:<hex>`` of the genesis payload."""
        return self._store.ledger_id

    @property
    def path(self) -> Path:
        """The database file."""
        return self._store.database.path

    @property
    def home(self) -> TrustHome:
        """The trust home that knows this ledger."""
        return self._home

    @property
    def head(self) -> Head:
        """How many events there are, and the leaf hash of the last."""
        return head_of(self._store.database)

    @property
    def writable(self) -> bool:
        """Whether the ledger was opened with a key, for writing."""
        return self._store.writable

    @property
    def signer(self) -> PublicKey | None:
        """The key that signs what is appended here; None if nothing can be."""
        signer = self._store.writer
        return None if signer is None else signer.public

    @property
    def checkpoint_signer(self) -> PublicKey | None:
        """The key that signs checkpoints here; None if none can be signed."""
        signer = self._store.checkpointer
        return None if signer is None else signer.public

    @property
    def plugins(self) -> Plugins:
        """The plugins that this ledger may ask."""
        return self._port.plugins

    @property
    def keys(self) -> Keyring:
        """The keys that may sign, now and at every event, as the log says."""
        return self._store.keyring()

    @property
    def event_types(self) -> EventTypes:
        """The event types of the kernel and of the active plugins."""
        return self._port.types

    @property
    def effect_kinds(self) -> Mapping[str, EffectKind]:
        """The effect kinds of the kernel and of the active plugins, by name."""
        return self._port.kinds

    @property
    def value_types(self) -> ValueTypes:
        """The classes whose instances can be recorded, for `encode` and `decode`."""
        return self._port.values

    # -- checkpoints and proofs ----------------------------------------------------

    @property
    def checkpointed(self) -> int:
        """How many events the newest signed tree head in the file covers."""
        return self._store.last_checkpoint()[0]

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The newest signed tree head.

        Raises:
            WrongError: no checkpoint key of the ledger signed it.

        """
        return newest_checkpoint(self._store)

    def root(self, size: int) -> bytes:
        """Return the RFC 6962 root of the first *size* events from the file's tree."""
        return root_of(self._store, size)

    def prove(self, seq: int, note: bytes | None = None) -> TlogProof:
        """Return the proof that event *seq* is in the tree of a checkpoint.

        That is the checkpoint *note*, or without it the newest one.

        Raises:
            UsageError: there is no such event, or *note* does not cover it.
            CannotTellError: no checkpoint covers it, and none can be signed here.

        """
        return prove(self._store, seq, note)

    def prove_each(self, seqs: Iterable[int], note: bytes) -> Iterator[TlogProof]:
        """Yield the proof that each of the events *seqs* is in the tree of *note*.

        Faster than one `prove` after the other: what they share is read once.

        Raises:
            UsageError: *note* does not cover one of them.

        """
        return prove_each(self._store, seqs, note)

    def first_checkpoint_over(self, seq: int) -> bytes:
        """Return the note of the first checkpoint that covers event *seq*.

        It stays the same however much the log grows; one is signed if there is none.

        Raises:
            CannotTellError: no checkpoint covers it, and none can be signed here.

        """
        return first_checkpoint_over(self._store, seq)

    def prove_growth(self, old: int, new: int) -> list[bytes]:
        """Return the RFC 6962 consistency proof from *old* events to *new* events."""
        return consistency(self._store, old, new)

    def check_proof(
        self, data: bytes, publics: Iterable[PublicKey] = (), place: str = "proof"
    ) -> Included:
        """Check a ``.tlog-proof`` file beside this ledger, which is taken as it is.

        Args:
            data: the file; a proof without its event is given the ledger's.
            publics: the checkpoint keys to believe; without any, those of the ledger.
            place: the file's name, for messages.

        Raises:
            WrongError: the proof is not good, or the ledger contradicts it.
            CannotTellError: the ledger ends before the proof's tree head.

        """
        return check_proof(self._store, data, publics, place)

    # -- reading -------------------------------------------------------------------

    def events(self, **filters: Unpack[EventFilters]) -> Iterator[Event]:
        """Yield the events that pass every filter, the oldest first or as ``order`` says.

        They are read as they are used; what is appended meanwhile is not among them.

        Args:
            filters: see `EventFilters`.

        Raises:
            UsageError: a filter is unknown, or means nothing.

        """
        return iter(Selection.of(self._store.database, filters))

    def runs(self, **filters: Unpack[RunFilters]) -> Iterator[RunSummary]:
        """Yield the runs that pass every filter, in the order of their starts.

        The oldest comes first, or as ``order`` says. They are read as they are used.

        Args:
            filters: see `RunFilters`.

        Raises:
            UsageError: a filter is unknown, or means nothing.

        """
        from muniment.queries.run_summary import RunSummaries  # noqa: PLC0415 - for lists
        from muniment.queries.runs import select_runs  # noqa: PLC0415 - the same

        def summary(run: str) -> RunSummary:
            return self._folded(RunSummaries, run)

        return select_runs(self._store.database, filters, summary)

    def children(self, run: str) -> list[str]:
        """Return the ids of the runs that *run* called, in the order of their starts."""
        return [str(one.run) for one in children_of(self._store.database, run)]

    def session(self) -> AbstractContextManager[Session]:
        """Lend a SQLModel session over the tables of the ledger, which cannot write.

        For audit queries over `EventRow` and the other rows. The rows are as they are
        in the file: only `verify` checks them. Contents in files of their own are not
        among them.

        Raises:
            StoreError: the file cannot be read.
            RefusedError: a statement in the session does anything but read.

        """
        from muniment.queries.session import reading  # noqa: PLC0415 - for audits

        return reading(self._store.database)

    def event(self, seq: int) -> Event:
        """Return event number *seq*.

        Raises:
            UsageError: there is none.

        """
        return event_at(self._store.database, seq)

    def run_id(self, prefix: str) -> str:
        """Return the id of the only run whose id begins with *prefix*.

        ``last`` is the newest, ``last~1`` the one before it; calls and replays aside.

        Raises:
            UsageError: there is none, or more than one.

        """
        return run_id(self._store.database, prefix)

    def digest(self, prefix: str) -> str:
        """Return the only subject or blob whose ``sha256:…`` begins with *prefix*.

        Raises:
            UsageError: there is none, or more than one.

        """
        return digest(self._store.database, prefix)

    def get_blob(self, ref: str | BlobRef | Mapping[str, object]) -> bytes:
        """Return the content of a blob, without its salt.

        Raises:
            ErasedError: it was erased.
            WrongError: it contradicts its commitment; no more is read than its
                reference states.

        """
        return self._store.read_blob(*_reference(ref))

    def committed(self, ref: BlobRef) -> bytes | None:
        """Return a blob as its commitment covers it: salt and content.

        None if it was erased.

        Raises:
            WrongError: it contradicts its commitment.

        """
        with self._store.database.reading() as driver:
            data = self._store.blobs.stored(driver.execute, ref.digest, ref.size)
        if data is not None and sha256_tag(data) != ref.digest:
            raise WrongError(
                "its bytes do not match the commitment",
                rule="blob/commitment",
                place=ref.digest,
                remedy="restore the blob from a copy, or record its erasure",
            )
        return data

    def holds(self, ref: str) -> bool:
        """Tell whether any byte of the content behind the commitment *ref* is left."""
        with self._store.database.reading() as driver:
            return self._store.blobs.holds(driver.execute, ref)

    def value(self, ref: BlobRef) -> object:
        """Return the Python value of the blob *ref*."""
        content = self._store.read_blob(ref.digest, ref.size)
        return content_value(content, ref.media, self._port.values)

    def resolve(self, event: Event) -> dict[str, object]:
        """Return the data of *event* with blobs in place of references.

        Raises:
            ErasedError: a blob of it was erased; `event.raw` has the references.

        """
        return {name: self._resolved(value) for name, value in event.raw.items()}

    def _resolved(self, value: JsonValue) -> object:
        if type(value) is dict and "$blob" in value:
            return self.value(BlobRef.from_json(value))
        return decode(value, self._port.values)

    def project(self, projection: type[Projection[V]], run: str | None = None) -> V:
        """Return the view of *projection* over all events, or over one run's."""
        return self._folded(projection, None if run is None else self.run_id(run))

    def _folded(self, projection: type[Projection[V]], run: str | None) -> V:
        def events(start: int) -> Iterator[Event]:
            if run is None:
                return events_in(self._store.database, start=start)
            return events_of_run(self._store.database, run, start)

        def still_there(size: int, leaf: str) -> bool:
            return has_head(self._store.database, size, leaf)

        return fold(projection(), events, self.cache, run or "", still_there)

    @property
    def cache(self) -> Cache:
        """Where projections are cached; a file that may be deleted.

        If this user has pinned no key of the ledger, nothing is cached.
        """
        if self._secret is None:
            self._secret = self._home.cache_secret(self.id)
        return Cache(cache_path(self.path), self.id, self._secret)

    @property
    def port(self) -> LedgerPort:
        """The part that runs need; for the kernel's own modules."""
        return self._port

    @property
    def store(self) -> Store:
        """The log underneath; for the kernel's own modules."""
        return self._store


def _reference(ref: str | BlobRef | Mapping[str, object]) -> tuple[str, int | None]:
    """Return the commitment, and the size that *ref* states, if it does."""
    if isinstance(ref, BlobRef):
        return ref.digest, ref.size
    if isinstance(ref, str):
        return ref, None
    size = ref.get("size")
    return str(ref.get("$blob")), size if type(size) is int else None
