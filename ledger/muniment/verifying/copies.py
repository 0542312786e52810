"""Older copies: a backup may lack what its ledger got since; the ledger itself may not.

    an older copy, 11 events behind the ledger at /work/.muniment/ledger.db

Rules:

- A file at a remembered place is the ledger itself. So is one that no remembered place
  still has a ledger for: it may have been moved there, and cut.
- A copy is older, and not wrong, when the ledger at its place has the copy's last event
  at the same position: the hash of one event is the hash of all before it.
"""

from __future__ import annotations

from pathlib import Path

from muniment.errors import StoreError
from muniment.trust import TrustHome
from muniment.verifying.snapshot import open_snapshot

__all__ = ["original_of"]


def original_of(
    home: TrustHome, target: str, ledger: str, *, size: int, head: bytes
) -> str | None:
    """Return where the ledger is that *target* is an older copy of, if it is one.

    Args:
        home: remembers where *ledger* was.
        target: the file that was verified; it has *size* events, the last hash *head*.
        ledger: the ledger's id.
        size: how many events the file has.
        head: the leaf hash of the last of them.

    """
    here = Path(home.location(target))
    places = [Path(place) for place in home.locations(ledger)]
    there = [place for place in places if place.is_file()]
    if here in places or any(place.samefile(here) for place in there):
        return None
    return next((str(one) for one in there if _holds(one, size - 1, head)), None)


def _holds(place: Path, seq: int, head: bytes) -> bool:
    try:
        with open_snapshot(place) as snapshot:
            row = snapshot.value("SELECT hash FROM event WHERE seq = ?", seq)
    except StoreError:  # what cannot be read vouches for nothing
        return False
    return row == head
