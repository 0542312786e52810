"""Erasure: what it reaches, in which order, and again when a copy is restored.

    {"blobs":["sha256:…"],"legal_basis":"GDPR 17(1)","reason":"asked to"}

Rules:

- The trust home's list is written before the commit: a crash in between is made good
  when the ledger is opened next. The event and the empty rows are one commit; then the
  files go, the write-ahead log is emptied, and the cache is thrown away.
- Where a reader still looks at the old pages, the bytes cannot go yet: that is said,
  and not called done.
- A restored copy that holds what was erased loses it again when it is opened for
  writing, with an event where the copy may still grow; only what a signed event orders
  (`muniment.erasure_orders`), in the log or kept in the trust home.
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.batch import Draft
from muniment.database import Driver
from muniment.erasure_orders import last_order, ordered, orders_in, orders_of
from muniment.errors import ErasedError, RefusedError, StoreError
from muniment.event_types import EventTypes
from muniment.events import Event
from muniment.projection_cache import Cache, cache_path
from muniment.store import Store
from muniment.trust import TrustHome
from muniment.vocabulary import KERNEL_TYPES

__all__ = ["erase", "erase_again", "what_is_left"]

READER_SECONDS = 5.0
"""How long an erasure waits for readers of the old pages."""

_AGAIN = "a copy was restored, or an erasure was cut off; erased again"


def what_is_left(store: Store, refs: Sequence[str]) -> list[str]:
    """Return those of *refs* of which bytes are left.

    Raises:
        UsageError: the ledger refers to no such content.
        ErasedError: nothing is left of any.

    """
    with store.database.reading() as driver:
        execute = driver.execute
        left = [ref for ref in refs if store.blobs.holds(execute, ref, known=True)]
    if not left and refs:
        _empty_log(store)
        raise ErasedError(
            "it was erased already",
            rule="blob/erased",
            place=", ".join(refs[:3]),
            remedy="`muniment events --type blob.erased` says by whom and why",
        )
    return left


def erase(
    store: Store, home: TrustHome, refs: Sequence[str], draft: Draft, reason: str
) -> Event:
    """Erase the contents *refs*, with the event *draft* that says so.

    Raises:
        StoreError: the bytes are still in the write-ahead log, for a reader.

    """

    def empty(driver: Driver) -> None:
        store.blobs.empty(driver, refs)
        order = last_order(driver.execute)
        home.record_erasure(store.ledger_id, refs, reason, order)

    event = store.append([draft], also=empty)[0]
    store.blobs.remove(refs)
    Cache(cache_path(store.database.path), store.ledger_id, None).clear()
    _empty_log(store)
    return event


def erase_again(store: Store, home: TrustHome, actor: str = "local") -> None:
    """Erase what the trust home's list and a signed event name, and is still there.

    The write-ahead log is emptied even where no row holds anything: an erasure that was
    cut off after its commit has left the old pages in the file.
    """
    listed = sorted(home.erasures(store.ledger_id))
    if not listed:
        return
    left = _still_there(store, listed)
    if left:
        _erase_left(store, home, left, actor)
    store.truncate_wal(0)  # where somebody reads, the next to close does it


def _erase_left(store: Store, home: TrustHome, left: list[str], actor: str) -> None:
    keyring = store.keyring()
    with store.database.reading() as driver:
        told = ordered(orders_in(driver.execute), keyring)
    kept = ordered(orders_of(home.erasure_events(store.ledger_id)), keyring)
    said = [ref for ref in left if ref in told]
    unsaid = [ref for ref in left if ref in kept - told]
    if unsaid:
        data = {"blobs": unsaid, "reason": _AGAIN, "legal_basis": None}
        prepared = EventTypes(KERNEL_TYPES).get("blob.erased").prepare(data)
        try:
            erase(store, home, unsaid, Draft(prepared, actor), _AGAIN)
        except RefusedError:  # an older copy, or no key: it may lose, but not say so
            said += unsaid
    if said:
        store.empty(said)
        store.blobs.remove(said)


def _still_there(store: Store, refs: list[str]) -> list[str]:
    with store.database.reading() as driver:
        return [ref for ref in refs if store.blobs.holds(driver.execute, ref)]


def _empty_log(store: Store) -> None:
    if not store.truncate_wal(READER_SECONDS):
        raise StoreError(
            "it is erased, but a reader still holds the pages that had it: its bytes "
            "are left in the write-ahead log",
            rule="erase/wal",
            place=f"{store.place}-wal",
            remedy="end the other readers, then erase it again",
        )
