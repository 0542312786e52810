"""What can be read from an open ledger: events, contents, projections, proofs.

Rules:

- Every answer comes from the log at the moment of asking; nothing is kept in memory.
- Ids are given back whole, and taken in any unique prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from sys import maxsize
from typing import Literal, TypeVar

from muniment.blobs import content_value
from muniment.canonical import JsonValue
from muniment.checkpoint import TlogProof
from muniment.events import BlobRef, Event
from muniment.heads import Head
from muniment.opening import Opened
from muniment.plugins import Plugins
from muniment.port import LedgerPort
from muniment.projection_cache import Cache, cache_path
from muniment.projections import Projection, fold
from muniment.proving import prove
from muniment.reading import (
    digest,
    event_at,
    events_in,
    events_of_run,
    has_head,
    head_of,
    run_id,
)
from muniment.store import Store
from muniment.trust import TrustHome
from muniment.values import decode

__all__ = ["Reader"]

V = TypeVar("V")


class Reader:
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
    def plugins(self) -> Plugins:
        """The plugins that this ledger may ask."""
        return self._port.plugins

    # -- reading -------------------------------------------------------------------

    def events(  # noqa: PLR0913 - one keyword for each filter
        self,
        *,
        type: str | None = None,  # noqa: A002 - the word that everybody looks for
        run: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        subject: str | None = None,
        actor: str | None = None,
        tenant: str | None = None,
        grep: str | None = None,
        limit: int | None = None,
        order: Literal["asc", "desc"] = "asc",
        from_seq: int = 0,
        to_seq: int | None = None,
    ) -> Iterator[Event]:
        """Yield the events that pass every filter; see `muniment.query`."""
        about = None if subject is None else self.digest(subject)
        others = (since, until, actor, tenant, grep)
        types = [] if type is None else [one.strip() for one in type.split(",")]
        odd = "*" in (type or "") or order not in ("asc", "desc") or (limit or 0) < 0
        if set(others) == {None} and not odd:
            found = events_in(
                self._store.database,
                run=None if run is None else self.run_id(run),
                types=types,
                subject=about,
                start=from_seq,
                end=to_seq,
                order=order,
            )
            return islice(found, None if limit is None else min(limit, maxsize))
        from muniment.query import Filter, read_events  # noqa: PLC0415 - SQLModel

        wanted = Filter(
            type=type,
            run=None if run is None else self.run_id(run),
            since=since,
            until=until,
            subject=about,
            actor=actor,
            tenant=tenant,
            grep=grep,
            from_seq=from_seq,
            to_seq=to_seq,
            limit=limit,
            order=order,
        )
        return read_events(self._store.database, wanted)

    def event(self, seq: int) -> Event:
        """Return event number *seq*.

        Raises:
            UsageError: there is none.

        """
        return event_at(self._store.database, seq)

    def run_id(self, prefix: str) -> str:
        """Return the id of the one run whose id begins with *prefix*.

        Raises:
            UsageError: there is none, or more than one.

        """
        return run_id(self._store.database, prefix)

    def digest(self, prefix: str) -> str:
        """Return the one subject or content whose ``sha256:…`` begins with *prefix*.

        Raises:
            UsageError: there is none, or more than one.

        """
        return digest(self._store.database, prefix)

    def get_blob(self, ref: str | BlobRef | Mapping[str, object]) -> bytes:
        """Return the content behind a commitment, without its salt.

        Raises:
            ErasedError: it was erased.
            WrongError: it is not what was committed to; no more is read than its
                reference states.

        """
        return self._store.read_blob(*_reference(ref))

    def value(self, ref: BlobRef) -> object:
        """Return the Python value of the content behind *ref*."""
        content = self._store.read_blob(ref.digest, ref.size)
        return content_value(content, ref.media, self._port.values)

    def resolve(self, event: Event) -> dict[str, object]:
        """Return the data of *event* with contents in the place of references."""
        return {name: self._resolved(value) for name, value in event.raw.items()}

    def _resolved(self, value: JsonValue) -> object:
        if type(value) is dict and "$blob" in value:
            return self.value(BlobRef.from_json(value))
        return decode(value, self._port.values)

    def project(self, projection: type[Projection[V]], run: str | None = None) -> V:
        """Return what *projection* makes of all events, or of one run's."""
        chosen = None if run is None else self.run_id(run)

        def events(start: int) -> Iterator[Event]:
            if chosen is None:
                return events_in(self._store.database, start=start)
            return events_of_run(self._store.database, chosen, start)

        def still_there(size: int, leaf: str) -> bool:
            return has_head(self._store.database, size, leaf)

        return fold(projection(), events, self.cache, chosen or "", still_there)

    @property
    def cache(self) -> Cache:
        """Where projections are remembered; a file that may be deleted.

        Where this user has pinned no key of the ledger, nothing is remembered.
        """
        if self._secret is None:
            self._secret = self._home.cache_secret(self.id)
        return Cache(cache_path(self.path), self.id, self._secret)

    def prove(self, seq: int) -> TlogProof:
        """Return the proof that event *seq* is in the tree of a checkpoint.

        Raises:
            CannotTellError: no checkpoint covers it and none can be signed here.

        """
        return prove(self._store, seq)

    @property
    def port(self) -> LedgerPort:
        """What runs need of the ledger; for the kernel's own modules."""
        return self._port

    @property
    def store(self) -> Store:
        """The log underneath; for the kernel's own modules."""
        return self._store


def _reference(ref: str | BlobRef | Mapping[str, object]) -> tuple[str, int | None]:
    """Return the commitment, and how many bytes *ref* states, if it does."""
    if isinstance(ref, BlobRef):
        return ref.digest, ref.size
    if isinstance(ref, str):
        return ref, None
    size = ref.get("size")
    return str(ref.get("$blob")), size if type(size) is int else None
