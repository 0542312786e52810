"""Compares two histories of one ledger: they agree, or somebody told two stories.

    compare_histories(store_a, store_b).verdict    "same" | "consistent" | "fork"
    compare_histories(store, note).verdict         also "foreign": not one ledger

Rules:

- Each side is a ledger or a checkpoint note. Consistent means: the smaller is a prefix
  of the larger, with the RFC 6962 consistency proof that shows it.
- A fork is shown by signed roots: two checkpoints of one size, where both sides signed
  one; else two of different sizes and the larger side's root at the smaller size.
- A note speaks for a side only where a checkpoint key of the ledger signed it that held
  the role at its size; whose keys those are, a ledger on either side says, or one that
  is given. Without any, nothing can be told.
- Stored hashes are taken as they are: ``verify`` is what checks a ledger in itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muniment.checkpoint import Checkpoint, Note, origin, read_vouched
from muniment.errors import CannotTellError, WrongError
from muniment.keyring import Keyring
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
        self.keyring: Keyring | None = None
        """Whose notes count here."""
        if isinstance(given, Store):
            self.origin = origin(given.ledger_id)
            self.size = head_of(given.database).size
            self.keyring = given.keyring()
        else:
            self.note = given
            self.checkpoint = Checkpoint.parse(Note.parse(given).text)
            self.origin, self.size = self.checkpoint.origin, self.checkpoint.size

    def believe(self, keyring: Keyring | None) -> None:
        """Let a note be one of the ledger with these keys.

        Raises:
            WrongError: none of them signed it, or one that did not hold the role there.
            CannotTellError: nothing says which keys count.

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
        """Yield the signed tree heads of more than *above* events, and who signed."""
        if self.store is None:
            listed = [self.note] if self.size > above else []
        else:
            with self.store.database.reading() as driver:
                rows = driver.execute(_NOTES, (above,)).fetchall()
            listed = [bytes(row[0]) for row in rows]
        for note in listed:
            if self.keyring is not None:
                read, signer = read_vouched(note, self.origin, self.keyring)
                yield read, note, signer.keyid

    def side(self, under: tuple[Checkpoint, bytes, str] | None = None) -> Side:
        """Return this history under a note, else under its last one, if it has any."""
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
    left: Store | bytes, right: Store | bytes, keyring: Keyring | None = None
) -> Comparison:
    """Compare two ledgers or checkpoint notes.

    Args:
        left: an open store, or the bytes of a note.
        right: the same.
        keyring: the keys of the ledger that notes are of which is on neither side.

    Raises:
        WrongError: a note is malformed, or no key that might have signed it.
        CannotTellError: what would be needed to compare is on neither side.

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
    """Return what a side of another ledger says; nobody's key was asked for."""
    if one.store is not None:
        return one.side()
    return Side(one.origin, one.size, one.checkpoint.root, one.note)


def _believe(one: _History, other: _History, keyring: Keyring | None) -> None:
    try:
        one.believe(keyring)
    except WrongError as error:
        # A key that was enrolled beyond the other side's end may have signed it.
        if (
            error.rule == "checkpoint/unsigned"
            and other.store
            and one.size > other.size
        ):
            _require_tree(other, one)
        raise


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
