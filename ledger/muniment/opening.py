"""Opening a ledger: where it is, whose it is, and with which keys.

Rules:

- A place that the trust home knows must hold the ledger that it knows: another one is
  foreign, and a missing file was taken away. Neither is quietly accepted.
- The signing key is the caller's, else ``MUNIMENT_KEY``, else the trust home's; without
  one the ledger is read-only.
- The command line and `muniment.open` look for ``.muniment/ledger.db`` upwards from the
  working directory, as git looks for ``.git``.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from muniment.database import Database, sqlite_path
from muniment.erasing import erase_again
from muniment.errors import CannotTellError, KeyRefused, UsageError, WrongError
from muniment.folder import kind_of, real_place
from muniment.imports import refuse_opening
from muniment.keys import load_private
from muniment.projection_cache import cache_path
from muniment.reading import ledger_id_of
from muniment.signing import Signer, signer_from_uri
from muniment.store import Store
from muniment.trust import TrustHome

__all__ = [
    "DEFAULT_PLACE",
    "LEDGER_VARIABLE",
    "Opened",
    "create_path",
    "discover",
    "open_store",
]

DEFAULT_PLACE = Path(".muniment") / "ledger.db"
LEDGER_VARIABLE = "MUNIMENT_LEDGER"
KEY_VARIABLE = "MUNIMENT_KEY"


@dataclass(frozen=True, slots=True)
class Opened:
    """A store, the trust home that knows it, and whether its root is pinned."""

    store: Store
    home: TrustHome
    pinned: bool


def create_path(path: str | os.PathLike[str]) -> Path:
    """Return a ledger file in the real place of its folder, where its siblings are.

    What stands under the name itself is not followed; opening refuses a link.

    Raises:
        UsageError: the name is that of the cache beside ledgers.

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


def discover(start: Path | None = None, home: TrustHome | None = None) -> Path | None:
    """Return the ledger that ``MUNIMENT_LEDGER`` or the directories above name.

    A place where the trust home remembers a ledger is found although the file is gone:
    that it is gone is what the caller is to hear.
    """
    refuse_opening()
    named = os.environ.get(LEDGER_VARIABLE)
    if named:
        return sqlite_path(named)
    here, known = (start or _working_directory()).absolute(), home or TrustHome()
    for directory in (here, *here.parents):
        place = directory / DEFAULT_PLACE
        if os.path.lexists(place) or known.ledger_at(str(place)) is not None:
            return place
    return None


def _working_directory() -> Path:
    """Return the working directory as the shell says it was reached, through links."""
    real, told = Path.cwd(), os.environ.get("PWD", "")
    try:
        same = os.path.isabs(told) and os.path.samefile(told, real)  # noqa: PTH117, PTH121
    except (OSError, ValueError):
        return real
    return Path(told) if same else real


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
        RefusedError: what is imported for a replay asks, where there are no ledgers.
        StoreError: the file is missing, unreadable, or not a ledger.
        WrongError: the trust home knows another ledger here, or that one was here.

    """
    refuse_opening()
    path = create_path(url)
    known = home.ledger_at(url)
    if known is not None:
        _refuse_gone(path, known)
    database = Database.open(path, readonly=readonly, timeout=timeout)
    try:
        ledger_id = ledger_id_of(database)
        _refuse_foreign(path, known, ledger_id)
        opened = _wire(database, ledger_id, home, writer, anchor)
    except BaseException:
        database.dispose()
        raise
    if opened.pinned and opened.store.writable:
        try:
            _heal(opened.store, home, url)
        except BaseException:
            opened.store.close()
            raise
    return opened


def _refuse_gone(path: Path, known: str) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        what = "is gone"
    except OSError:
        return  # opening it says what is the matter
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
        writer = writer or _environment_key() or _kept(home, ledger_id, "writer")
    store = Store(
        database,
        ledger_id,
        home.head_memory(ledger_id) if pinned and not readonly else None,
        writer=None if readonly else writer,
        checkpointer=None if readonly else _kept(home, ledger_id, "checkpoint"),
        blobs=home.blobs_of(database.path),
    )
    store.published = _publisher(home, ledger_id, anchor, pinned=pinned)
    return Opened(store, home, pinned)


def _heal(store: Store, home: TrustHome, url: str | os.PathLike[str]) -> None:
    """Finish what a crash cut off: making the ledger, or an erasure.

    A known place that was written in another way is known by that, too.
    """
    known = home.locations(store.ledger_id)
    places = home.places(url)
    if not known or (set(places) & set(known) and set(places) - set(known)):
        home.remember(url, store.ledger_id)
    erase_again(store, home)


def _environment_key() -> Signer | None:
    value = os.environ.get(KEY_VARIABLE, "")
    if not value:
        return None
    # Not `Path.is_file`: a long PEM is no name that it could ask for.
    if os.path.isfile(value) or value.startswith("file:"):  # noqa: PTH113
        return signer_from_uri(value)
    try:
        return signer_from_uri(f"env:{KEY_VARIABLE}")
    except KeyRefused as error:  # what it holds may be secret, and is not repeated
        error.place = KEY_VARIABLE
        error.remedy = "give a key file that is there, PKCS#8 PEM, or a seed in base64"
        raise


def _kept(home: TrustHome, ledger_id: str, name: str) -> Signer | None:
    path = home.keys_directory(ledger_id) / f"{name}.pem"
    return load_private(path, follow=False) if os.path.lexists(path) else None


class _publisher:  # noqa: N801 - reads as the function that it is
    """Carries a checkpoint to the trust home and to the anchor file, where given."""

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
