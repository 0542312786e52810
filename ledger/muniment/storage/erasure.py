"""Erasure: what it reaches, in which order, and how it is repeated in restored copies.

    {"blobs":["sha256:…"],"legal_basis":"GDPR 17(1)","reason":"asked to"}

Rules:

- The trust home's list is written before the commit: after a crash in between, the next
  opening of the ledger finishes the erasure. The event and the empty rows are one
  commit; then the files are removed, the write-ahead log is emptied, and the cache is
  deleted.
- While a reader still uses the old pages, the bytes cannot go yet: the erasure says so,
  and is not called done.
- A restored copy that holds erased contents loses them again when it is opened for
  writing, with an event if the copy may still grow. It loses only what a signed event
  orders (`muniment.storage.erasure_orders`), in the log or kept in the trust home.
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.errors import ErasedError, RefusedError, StoreError
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventTypes
from muniment.formats.statement import Event
from muniment.storage.append import Store
from muniment.storage.cache import Cache, cache_path
from muniment.storage.connections import Driver
from muniment.storage.erasure_orders import last_order, ordered, orders_in, orders_of
from muniment.storage.sealing import Draft
from muniment.trust.home import TrustHome

__all__ = ["erase", "erase_again", "what_is_left"]

READER_SECONDS = 5.0
"""How long an erasure waits for readers of the old pages."""

_AGAIN = "a copy was restored, or an erasure was cut off; erased again"


def what_is_left(store: Store, refs: Sequence[str]) -> list[str]:
    """Return those of *refs* that still have bytes.

    Raises:
        UsageError: the ledger refers to no such content.
        ErasedError: none of them has any.

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
    """Erase the contents *refs*, and record it with the event *draft*.

    Raises:
        StoreError: a reader keeps the bytes in the write-ahead log.

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
    """Erase the contents that the trust home's list and a signed event name.

    The write-ahead log is emptied even if no row holds any of them: an erasure that was
    cut off after its commit left the old pages in the file.
    """
    listed = sorted(home.erasures(store.ledger_id))
    if not listed:
        return
    left = _still_there(store, listed)
    if left:
        _erase_left(store, home, left, actor)
    store.truncate_wal(0)  # if somebody reads, the next writer that closes does it


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
        except RefusedError:  # an older copy, or no key: erase without an event
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
