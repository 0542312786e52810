"""The tree of a stored log: its end, and the nodes that proofs need.

Rules:

- The writer keeps the frontier (the roots of the complete subtrees) in memory and
  updates it inside each transaction; other processes may have appended.
- The root of every complete subtree of 256^level leaves is a row of ``tile``, so a
  node costs at most 256 rows to compute and a proof O(log n) of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from muniment.errors import WrongError
from muniment.formats.checkpoint import Checkpoint, Note
from muniment.formats.merkle import (
    EMPTY_ROOT,
    TILE_HEIGHT,
    Frontier,
    decompose,
    node_hash,
)
from muniment.formats.statement import read_event
from muniment.storage.connections import Execute

__all__ = ["Tail", "last_row", "newest_note", "node_reader", "note_of", "tail_of"]

_HEAD = "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1"
_LAST = "SELECT seq, hash, payload, signature, key FROM event ORDER BY seq DESC LIMIT 1"
_NEWEST = "SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1"
_HASHES = "SELECT hash FROM event WHERE seq >= ? AND seq < ? ORDER BY seq"
_TILES = "SELECT hash FROM tile WHERE level = ? AND idx >= ? AND idx < ? ORDER BY idx"


@dataclass(slots=True)
class Tail:
    """The end of the log: its size, last leaf hash and time, and the frontier."""

    size: int = 0
    hash: bytes = b""
    time: str = ""
    frontier: Frontier = field(default_factory=Frontier)

    def copy(self) -> Tail:
        """Return a tail that can grow and be thrown away."""
        return Tail(self.size, self.hash, self.time, self.frontier.copy())


def last_row(execute: Execute) -> tuple[int, bytes, bytes, bytes, bytes] | None:
    """Return seq, hash, payload, signature and key of the last event."""
    row = execute(_LAST).fetchone()
    return None if row is None else cast("tuple[int, bytes, bytes, bytes, bytes]", row)


def tail_of(execute: Execute, known: Tail) -> Tail:
    """Return the tail of the log behind *execute*, reusing what is *known*."""
    if known.size and execute(_HEAD).fetchone() == (known.size - 1, known.hash):
        return known
    row = last_row(execute)
    if row is None:
        return Tail()
    seq, leaf, payload, signature, key = row
    if not is_hash(leaf):
        raise WrongError(
            "the last event has no leaf hash",
            rule="event/hash",
            seq=seq,
            remedy="run `muniment verify`",
        )
    time = read_event(payload, signature, key, leaf).time
    return Tail(seq + 1, leaf, time, _frontier(execute, seq + 1))


def newest_note(execute: Execute) -> tuple[int, bytes | None]:
    """Return size and note of the newest checkpoint; 0 and None if there is none.

    Raises:
        WrongError: see `note_of`.

    """
    row = execute(_NEWEST).fetchone()
    return (0, None) if row is None else (row[0], note_of(row[0], row[1]))


def note_of(size: int, value: object) -> bytes:
    """Return what a checkpoint's row holds, which can be anything in a changed file.

    Raises:
        WrongError: it is no note, or one of another size.

    """
    place, remedy = f"checkpoint {size}", "run `muniment verify`"
    if not isinstance(value, bytes):
        raise WrongError(
            "the note is not a blob",
            rule="checkpoint/column",
            place=place,
            remedy=remedy,
        )
    stated = Checkpoint.parse(Note.parse(value).text).size
    if stated != size:
        raise WrongError(
            f"the note is of size {stated}",
            rule="checkpoint/size",
            place=place,
            remedy=remedy,
        )
    return value


def is_hash(value: object) -> bool:
    """Tell whether a column holds a hash: 32 bytes."""
    return isinstance(value, bytes) and len(value) == len(EMPTY_ROOT)


def _frontier(execute: Execute, size: int) -> Frontier:
    node = node_reader(execute)
    return Frontier.from_nodes(
        size, [node(level, index) for level, index in decompose(0, size)]
    )


class node_reader:  # noqa: N801 - reads as the function that it is
    """``node(level, index)``: the root of that complete subtree, from stored rows."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def __call__(self, level: int, index: int) -> bytes:
        """Return the root of the leaves ``index << level`` and 2^level onwards."""
        tiles, height = divmod(level, TILE_HEIGHT)
        first, count = index << height, 1 << height
        query, values = (
            (_HASHES, (first, first + count))
            if tiles == 0
            else (_TILES, (tiles, first, first + count))
        )
        rows = self._execute(query, values)
        hashes = [cast("bytes", row[0]) for row in rows]
        if len(hashes) != count or not all(map(is_hash, hashes)):
            raise WrongError(
                f"the tree lacks nodes below ({level}, {index})",
                rule="tile/missing",
                seq=first << (tiles * TILE_HEIGHT),
                remedy="run `muniment verify`",
            )
        while len(hashes) > 1:
            hashes = [
                node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)
            ]
        return hashes[0]
