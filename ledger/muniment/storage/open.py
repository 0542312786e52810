"""Opening a ledger: checking which one it is, and finding its keys.

Rules:

- A place that the trust home knows must hold the ledger that it knows: another one is
  foreign, and a missing file was taken away. Neither is accepted silently.
- The signing key is the caller's, else `muniment.trust.signing_key`'s; without one the
  ledger is read-only.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.files.folder import kind_of, real_place
from muniment.formats.dsse import Signer
from muniment.places import sqlite_path
from muniment.programs.import_guard import refuse_opening
from muniment.storage.append import Store
from muniment.storage.cache import cache_path
from muniment.storage.connections import Database
from muniment.storage.erasure import erase_again
from muniment.storage.lookup import ledger_id_of
from muniment.trust.home import TrustHome
from muniment.trust.ledger_location import rememberable
from muniment.trust.signing_key import kept_key, signer_for

__all__ = [
    "Opened",
    "create_path",
    "open_store",
]


@dataclass(frozen=True, slots=True)
class Opened:
    """A store, the trust home that knows it, and whether its root is pinned."""

    store: Store
    home: TrustHome
    pinned: bool


def create_path(path: str | os.PathLike[str]) -> Path:
    """Return a ledger file in the real place of its folder, where its siblings are.

    A link under the name itself is not followed; opening refuses it.

    Raises:
        UsageError: the name is reserved for the cache beside ledgers.

    """
    real = real_place(sqlite_path(path))
    if real == cache_path(real):
        raise UsageError(
            "this name is that of the cache beside a ledger, which may be deleted",
            rule="ledger/name",
            place=str(real),
            remedy="choose another name",
        )
    return real


def open_store(
    url: str | os.PathLike[str],
    home: TrustHome,
    *,
    writer: Signer | None = None,
    anchor: str | os.PathLike[str] | None = None,
    readonly: bool = False,
    timeout: float = 60.0,
) -> Opened:
    """Open the store at *url* with the keys that there are for it.

    Raises:
        RefusedError: an import for a replay asks, in a process without ledgers.
        StoreError: the file is missing, unreadable, or not a ledger.
        UsageError: it is to be written to, and the trust home cannot remember its place.
        WrongError: the trust home knows another ledger here, or that one was here.

    """
    refuse_opening()
    path = create_path(url)
    if not readonly:
        rememberable(url)
    known = home.ledger_at(url)
    if known is not None:
        _refuse_gone(path, known)
    database = Database.open(path, readonly=readonly, timeout=timeout)
    with ExitStack() as unless_opened:
        unless_opened.callback(database.dispose)
        ledger_id = ledger_id_of(database)
        _refuse_foreign(path, known, ledger_id)
        opened = _wire(database, ledger_id, home, writer, anchor)
        unless_opened.callback(opened.store.close)
        if opened.pinned and opened.store.writable:
            _heal(opened.store, home, url)
        unless_opened.pop_all()
    return opened


def _refuse_gone(path: Path, known: str) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        what = "is gone"
    except OSError:
        return  # opening it says what is wrong
    else:
        if stat.S_ISREG(found.st_mode) and found.st_size:
            return
        regular = stat.S_ISREG(found.st_mode)
        what = "is empty" if regular else f"is {kind_of(found.st_mode)} now"
    raise WrongError(
        f"the ledger {known[:19]}… was here, and its file {what}",
        rule="head/truncated",
        place=str(path),
        remedy=f"restore it, or give it up with `muniment forget {path}`",
    )


def _refuse_foreign(path: Path, known: str | None, ledger_id: str) -> None:
    if known is not None and known != ledger_id:
        raise WrongError(
            f"this is another ledger ({ledger_id[:19]}…) than the one known here "
            f"({known[:19]}…)",
            rule="head/foreign",
            place=str(path),
            remedy=f"find out who put it here; `muniment forget {path}` accepts it",
        )


def _wire(
    database: Database,
    ledger_id: str,
    home: TrustHome,
    writer: Signer | None,
    anchor: str | os.PathLike[str] | None,
) -> Opened:
    readonly = database.readonly
    pinned = bool(home.pins(ledger_id))
    if not readonly:
        writer = writer or signer_for(home, ledger_id)
    store = Store(
        database,
        ledger_id,
        home.head_memory(ledger_id) if pinned and not readonly else None,
        writer=None if readonly else writer,
        checkpointer=None if readonly else kept_key(home, ledger_id, "checkpoint"),
        blobs=home.blobs_of(database.path),
    )
    store.published = _publisher(home, ledger_id, anchor, pinned=pinned)
    return Opened(store, home, pinned)


def _heal(store: Store, home: TrustHome, url: str | os.PathLike[str]) -> None:
    """Finish what a crash cut off: making the ledger, or an erasure.

    A known place that was spelled differently is remembered by that spelling, too.
    """
    known = home.locations(store.ledger_id)
    places = home.places(url)
    if not known or (set(places) & set(known) and set(places) - set(known)):
        home.remember(url, store.ledger_id)
    erase_again(store, home)


class _publisher:  # noqa: N801 - reads as the function that it is
    """Writes a checkpoint to the trust home, and to the anchor file if given."""

    def __init__(
        self,
        home: TrustHome,
        ledger_id: str,
        anchor: str | os.PathLike[str] | None,
        *,
        pinned: bool,
    ) -> None:
        self._home = home if pinned else None
        self._ledger_id = ledger_id
        self._anchor = None if anchor is None else Path(anchor).absolute()

    def __call__(self, note: bytes) -> None:
        if self._home is not None:
            self._home.anchor(self._ledger_id, note)
        if self._anchor is None:
            return
        try:
            with self._anchor.open("ab") as file:
                file.write(note + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CannotTellError(
                error.strerror or "the anchor cannot be written",
                rule="anchor/unwritable",
                place=str(self._anchor),
                remedy="the events are safe; repair the path and run "
                "`muniment checkpoint`",
            ) from error
