"""Compares two histories of one ledger: they agree, or somebody told two stories.

    compare_histories(store_a, store_b).verdict    "same" | "consistent" | "fork"
    compare_histories(store, note).verdict         also "foreign": not one ledger

Rules:

- Each side is a ledger or a checkpoint note. Consistent means: the smaller is a prefix
  of the larger, with the RFC 6962 consistency proof that shows it.
- A fork is shown by signed roots: two checkpoints of one size, where both sides signed
  one; else two of different sizes and the larger side's root at the smaller size.
- Stored hashes are taken as they are: ``verify`` is what checks a ledger in itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muniment.checkpoint import Checkpoint, Note, origin
from muniment.errors import CannotTellError
from muniment.keys import PublicKey
from muniment.merkle import consistency_proof, subtree_root
from muniment.reading import head_of
from muniment.store import Store
from muniment.tree import node_reader

__all__ = ["Comparison", "Side", "compare_histories"]

_LEAF = "SELECT hash FROM event WHERE seq = ?"
_NOTES = "SELECT note FROM checkpoint WHERE size > ? ORDER BY size"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two histories, as far as it was signed."""

    origin: str
    size: int
    root: bytes
    note: bytes | None = None
    """The signed tree head that speaks for this side."""
    signer: str | None = None
    """The key id behind the note's signature; None where no known key made it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of a comparison; `older` and `newer` are by size."""

    verdict: str
    older: Side
    newer: Side
    proof: tuple[bytes, ...] = ()
    """The consistency proof from the older to the newer tree, as far as there is one."""
    first_difference: int | None = None
    """The first event that differs, where both events are at hand."""
    root_at: bytes | None = None
    """In a fork of unequal sizes: the newer side's root at the older side's size."""


class _History:
    """A side that is asked for leaves, roots and notes."""

    def __init__(self, given: Store | bytes) -> None:
        self.store = given if isinstance(given, Store) else None
        if isinstance(given, Store):
            self.origin = origin(given.ledger_id)
            self.size = head_of(given.database).size
            self.keys: tuple[PublicKey, ...] = tuple(
                entry.public
                for entry in given.keyring().entries
                if "checkpoint" in entry.roles
            )
        else:
            self.note = given
            self.checkpoint = Checkpoint.parse(Note.parse(given).text)
            self.origin, self.size = self.checkpoint.origin, self.checkpoint.size
            self.keys = ()

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

    def notes(self, above: int) -> Iterator[tuple[Checkpoint, bytes]]:
        """Yield the signed tree heads of more than *above* events."""
        if self.store is None:
            listed = [self.note] if self.size > above else []
        else:
            with self.store.database.reading() as driver:
                rows = driver.execute(_NOTES, (above,)).fetchall()
            listed = [bytes(row[0]) for row in rows]
        for note in listed:
            yield Checkpoint.parse(Note.parse(note).text), note

    def side(self, keys: Iterable[PublicKey], note: bytes | None = None) -> Side:
        """Return this history under *note*, else under its last one, if it has any."""
        if note is None:
            if not self.size:
                return Side(self.origin, 0, self.root(0))
            found = [one for one in self.notes(0) if one[0].size == self.size]
            if not found:
                return Side(self.origin, self.size, self.root(self.size))
            note = found[0][1]
        read = Checkpoint.parse(Note.parse(note).text)
        signer = Note.parse(note).verify(read.origin, keys)
        name = None if signer is None else signer.keyid
        return Side(read.origin, read.size, read.root, note, name)


def compare_histories(
    left: Store | bytes, right: Store | bytes, keys: Iterable[PublicKey] = ()
) -> Comparison:
    """Compare two ledgers or checkpoint notes.

    Args:
        left: an open store, or the bytes of a note.
        right: the same.
        keys: further checkpoint keys, for notes whose ledger is on neither side.

    Raises:
        WrongError: a note is malformed, or its signature is wrong.
        CannotTellError: what would be needed to compare is on neither side.

    """
    older, newer = sorted((_History(left), _History(right)), key=lambda one: one.size)
    known = {*older.keys, *newer.keys, *keys}
    if older.origin != newer.origin:
        return Comparison("foreign", older.side(known), newer.side(known))
    _require_tree(older, newer)
    if older.root(older.size) == newer.root(older.size):
        verdict = "same" if older.size == newer.size else "consistent"
        proof = newer.consistency(older.size, newer.size)
        return Comparison(verdict, older.side(known), newer.side(known), proof)
    return _fork(older, newer, known)


def _require_tree(older: _History, newer: _History) -> None:
    """Refuse to guess: the larger side is a ledger, or both are of one size."""
    if newer.store is None and older.size < newer.size:
        what = "ledger ends before it" if older.store else "other note is smaller"
        raise CannotTellError(
            f"only a note speaks for {newer.size} events, and the {what} "
            f"({older.size} events)",
            rule="compare/behind",
            remedy="compare with the ledger that the larger note is from; "
            "a ledger that is behind its own checkpoint was cut or is an older copy",
        )


def _fork(older: _History, newer: _History, keys: set[PublicKey]) -> Comparison:
    first = _first_difference(older, newer)
    above = older.size - 1 if first is None else first
    mine, theirs = list(older.notes(above)), list(newer.notes(above))
    for own, note in mine:
        for other, against in theirs:
            if own.size == other.size and own.root != other.root:
                sides = older.side(keys, note), newer.side(keys, against)
                return Comparison("fork", *sides, first_difference=first)
    small = older.side(keys, mine[0][1]) if mine else older.side(keys)
    large = newer.side(keys, theirs[-1][1]) if theirs else newer.side(keys)
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
    """Halve: equal leaf hashes mean equal histories up to there."""
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
