"""Compares two histories of one ledger: they agree, or somebody told two stories.

    compare_histories(store_a, store_b).verdict    "same" | "consistent" | "fork"
    compare_histories(store, note).verdict         also "foreign": not one ledger

Rules:

- Each side is a ledger or a checkpoint note. Consistent means: the smaller is a prefix
  of the larger, with the RFC 6962 consistency proof that shows it.
- Signed roots show a fork: two checkpoints of one size if both sides signed one; else
  two of different sizes and the larger side's root at the smaller size.
- A note speaks for a side only if a checkpoint key of the ledger signed it that held
  the role at its size. The keys come from a ledger on either side, or from one that is
  given. Without any, the verdict is *cannot tell*.
- Stored hashes are taken as they are: ``verify`` checks the ledger itself.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from muniment.errors import CannotTellError, WrongError
from muniment.formats.checkpoint import Checkpoint, Note, origin, read_vouched
from muniment.formats.merkle import consistency_proof, subtree_root
from muniment.keys.keyring import Keyring
from muniment.storage.append import Store
from muniment.storage.connections import Database
from muniment.storage.lookup import head_of, ledger_id_of
from muniment.storage.tail import node_reader, note_of

__all__ = [
    "Comparison",
    "Given",
    "Side",
    "compare_histories",
    "open_history",
    "size_of",
]

Given: TypeAlias = Store | bytes
"""A side: a ledger by `open_history`, or a checkpoint note."""

_LEAF = "SELECT hash FROM event WHERE seq = ?"
_NOTES = "SELECT size, note FROM checkpoint WHERE size > ? ORDER BY size"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two histories, as far as it was signed."""

    origin: str
    size: int
    root: bytes
    note: bytes | None = None
    """The signed tree head that speaks for this side."""
    signer: str | None = None
    """The key id of the note's signature; None if no known key made it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison; `older` and `newer` are by size."""

    verdict: str
    older: Side
    newer: Side
    proof: tuple[bytes, ...] = ()
    """The consistency proof from the older to the newer tree, if there is one."""
    first_difference: int | None = None
    """The first event that differs, if both events are at hand."""
    root_at: bytes | None = None
    """In a fork of unequal sizes: the newer side's root at the older side's size."""


@contextmanager
def open_history(path: Path) -> Generator[Store]:
    """Open the ledger at *path* for a comparison, whatever the trust home knows.

    Raises:
        StoreError: it is missing, unreadable or not a ledger.

    """
    database = Database.open(path, readonly=True)
    try:
        yield Store(database, ledger_id_of(database), None)
    finally:
        database.dispose()


def size_of(side: Given) -> int:
    """Return how many events a side has, or its tree head covers."""
    if isinstance(side, bytes):
        return Checkpoint.parse(Note.parse(side).text).size
    return head_of(side.database).size


class _History:
    """A side that gives leaves, roots and notes."""

    def __init__(self, given: Given) -> None:
        self.store = given if isinstance(given, Store) else None
        self.keyring: Keyring | None = None
        """The keys whose notes count here."""
        if isinstance(given, Store):
            self.origin = origin(given.ledger_id)
            self.size = head_of(given.database).size
            self.keyring = given.keyring()
        else:
            self.note = given
            self.checkpoint = Checkpoint.parse(Note.parse(given).text)
            self.origin, self.size = self.checkpoint.origin, self.checkpoint.size

    def believe(self, keyring: Keyring | None) -> None:
        """Check that a note is by the ledger with these keys.

        Raises:
            WrongError: none of them signed it, or one that did not hold the role there.
            CannotTellError: it is not known which keys count.

        """
        if self.store is not None:
            return
        if keyring is None or origin(keyring.ledger_id) != self.origin:
            raise CannotTellError(
                f"nothing here says which keys may sign for {self.origin}",
                rule="compare/no-key",
                place=f"note of {self.size} events",
                remedy="compare with the ledger itself, or name it with --ledger",
            )
        read_vouched(self.note, self.origin, keyring)
        self.keyring = keyring

    def root(self, size: int) -> bytes:
        if self.store is None:
            return self.checkpoint.root
        with self.store.database.reading() as driver:
            return subtree_root(0, size, node_reader(driver.execute))

    def leaf(self, seq: int) -> bytes:
        if self.store is None:
            return b""
        with self.store.database.reading() as driver:
            return bytes(driver.execute(_LEAF, (seq,)).fetchone()[0])

    def consistency(self, old: int, new: int) -> tuple[bytes, ...]:
        if self.store is None or not old:
            return ()
        with self.store.database.reading() as driver:
            node = node_reader(driver.execute)
            return tuple(consistency_proof(old, new, node))

    def notes(self, above: int) -> Iterator[tuple[Checkpoint, bytes, str]]:
        """Yield the signed tree heads of more than *above* events, with the signer."""
        if self.store is None:
            listed = [self.note] if self.size > above else []
        else:
            with self.store.database.reading() as driver:
                rows = driver.execute(_NOTES, (above,)).fetchall()
            listed = [note_of(row[0], row[1]) for row in rows]
        for note in listed:
            if self.keyring is not None:
                read, signer = read_vouched(note, self.origin, self.keyring)
                yield read, note, signer.keyid

    def side(self, under: tuple[Checkpoint, bytes, str] | None = None) -> Side:
        """Return this history under the given note, else under its last, if any."""
        if under is None:
            if not self.size:
                return Side(self.origin, 0, self.root(0))
            found = [one for one in self.notes(0) if one[0].size == self.size]
            if not found:
                return Side(self.origin, self.size, self.root(self.size))
            under = found[0]
        read, note, signer = under
        return Side(read.origin, read.size, read.root, note, signer)


def compare_histories(
    left: Given, right: Given, keyring: Keyring | None = None
) -> Comparison:
    """Compare two ledgers or checkpoint notes.

    Args:
        left: an open store, or the bytes of a note.
        right: the same.
        keyring: the keys of the notes' ledger, if it is on neither side.

    Raises:
        WrongError: a note is malformed, or not signed by a key that was allowed to.
        CannotTellError: neither side has what the comparison needs.

    """
    older, newer = sorted((_History(left), _History(right)), key=lambda one: one.size)
    if older.origin != newer.origin:
        return Comparison("foreign", _claim(older), _claim(newer))
    known = older.keyring or newer.keyring or keyring
    for one, other in ((older, newer), (newer, older)):
        _believe(one, other, known)
    _require_tree(older, newer)
    if older.root(older.size) == newer.root(older.size):
        verdict = "same" if older.size == newer.size else "consistent"
        proof = newer.consistency(older.size, newer.size)
        return Comparison(verdict, older.side(), newer.side(), proof)
    return _fork(older, newer)


def _claim(one: _History) -> Side:
    """Return the claim of a side of another ledger, unchecked."""
    if one.store is not None:
        return one.side()
    return Side(one.origin, one.size, one.checkpoint.root, one.note)


def _believe(one: _History, other: _History, keyring: Keyring | None) -> None:
    try:
        one.believe(keyring)
    except WrongError as error:
        # A key enrolled after the other side's end may have signed it.
        if (
            error.rule == "checkpoint/unsigned"
            and other.store
            and one.size > other.size
        ):
            _require_tree(other, one)
        raise


def _require_tree(older: _History, newer: _History) -> None:
    """Refuse to guess unless the larger side is a ledger, or both have one size."""
    if newer.store is None and older.size < newer.size:
        what = "ledger ends before it" if older.store else "other note is smaller"
        raise CannotTellError(
            f"only a note speaks for {newer.size} events, and the {what} "
            f"({older.size} events)",
            rule="compare/behind",
            remedy="compare with the ledger that the larger note is from; "
            "a ledger that is behind its own checkpoint was cut or is an older copy",
        )


def _fork(older: _History, newer: _History) -> Comparison:
    first = _first_difference(older, newer)
    above = older.size - 1 if first is None else first
    mine, theirs = list(older.notes(above)), list(newer.notes(above))
    for own in mine:
        for other in theirs:
            if own[0].size == other[0].size and own[0].root != other[0].root:
                sides = older.side(own), newer.side(other)
                return Comparison("fork", *sides, first_difference=first)
    small = older.side(mine[0]) if mine else older.side()
    large = newer.side(theirs[-1]) if theirs else newer.side()
    proves = newer.store is not None and small.size < large.size
    return Comparison(
        "fork",
        small,
        large,
        proof=newer.consistency(small.size, large.size) if proves else (),
        first_difference=first,
        root_at=newer.root(small.size) if proves else None,
    )


def _first_difference(older: _History, newer: _History) -> int | None:
    """Search by halving: equal leaf hashes mean equal histories up to there."""
    if older.store is None or newer.store is None:
        return None
    low, high = 0, older.size
    while low < high:
        middle = (low + high) // 2
        if older.leaf(middle) == newer.leaf(middle):
            low = middle + 1
        else:
            high = middle
    return low
