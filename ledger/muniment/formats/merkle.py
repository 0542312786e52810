r"""RFC 6962 trees: roots, inclusion proofs, consistency proofs.

    leaf    = SHA-256(0x00 || data)         root of 3:    n(n(a,b),c)
    node    = SHA-256(0x01 || left || right)              /        \
    empty   = SHA-256("")                             n(a,b)        c
                                                      /    \
                                                     a      b

Rules:

- The left child of a node over n leaves covers the largest power of two below n, so
  every tree is a row of *complete* subtrees, and a complete one never changes again:
  it is named ``(level, index)``, the leaves ``index << level`` and 2^level onwards.
- The prover supplies ``node(level, index)``; this module says which nodes. Sizes
  and indices that no tree has are the caller's mistake when proving (`UsageError`)
  and simply false when verifying.
- Verifying never raises because of data that somebody sent: anything odd is ``False``.

Specification: RFC 6962 §2.1; verification as in RFC 9162 §2.1.3.2 and §2.1.4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TypeAlias

from muniment.errors import UsageError, WrongError

__all__ = [
    "EMPTY_ROOT",
    "HASH_SIZE",
    "TILE_HEIGHT",
    "Frontier",
    "consistency_path",
    "consistency_proof",
    "decompose",
    "inclusion_path",
    "inclusion_proof",
    "leaf_hash",
    "node_hash",
    "root",
    "subtree_root",
    "verify_consistency",
    "verify_inclusion",
]

HASH_SIZE = 32
EMPTY_ROOT = sha256(b"").digest()

TILE_HEIGHT = 8
"""A tile spans this many levels: 256 leaves, or 256 tiles of the level below."""

_TILE_END = (1 << TILE_HEIGHT) - 1

NodeReader: TypeAlias = Callable[[int, int], bytes]
Range: TypeAlias = tuple[int, int]


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of the leaf that holds *data* (RFC 6962 §2.1)."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node above *left* and *right* (RFC 6962 §2.1)."""
    return sha256(b"\x01" + left + right).digest()


class Frontier:
    """An append-only tree, reduced to the roots of its complete subtrees.

    It holds at most 63 hashes, whatever the size: enough for the root and all later
    appends.
    """

    __slots__ = ("_nodes", "size")

    def __init__(self) -> None:
        self.size = 0
        self._nodes: list[bytes] = []

    @classmethod
    def from_nodes(cls, size: int, nodes: Iterable[bytes]) -> Frontier:
        """Continue a tree of *size* leaves from the roots that `decompose` names.

        Raises:
            WrongError: a tree of *size* leaves does not have that many subtrees.

        """
        frontier = cls()
        frontier._nodes = list(nodes)
        frontier.size = size
        if size < 0 or size.bit_count() != len(frontier._nodes):
            raise WrongError(
                f"{len(frontier._nodes)} subtrees cannot make a tree of {size} leaves",
                rule="merkle/frontier",
            )
        return frontier

    @property
    def nodes(self) -> tuple[bytes, ...]:
        """The roots of the complete subtrees, left (largest) to right."""
        return tuple(self._nodes)

    def copy(self) -> Frontier:
        """Return a frontier that grows independently of this one."""
        return Frontier.from_nodes(self.size, self._nodes)

    def append(self, leaf: bytes) -> tuple[tuple[int, int, bytes], ...]:
        """Add the leaf hash *leaf*; return the tiles that it completes.

        Returns:
            ``(tile level, index, root)`` for each subtree of 256^level leaves that ends
            with this leaf; empty for 255 of 256 leaves.

        """
        nodes, size, above = self._nodes, self.size, leaf
        if size & _TILE_END == _TILE_END:
            return self._append_tile_end(leaf)
        self.size = size + 1
        while size & 1:
            above = sha256(b"\x01" + nodes.pop() + above).digest()
            size >>= 1
        nodes.append(above)
        return ()

    def _append_tile_end(self, leaf: bytes) -> tuple[tuple[int, int, bytes], ...]:
        tiles: list[tuple[int, int, bytes]] = []
        size, level, above = self.size, 0, leaf
        self.size += 1
        while size & 1:
            above = node_hash(self._nodes.pop(), above)
            size, level = size >> 1, level + 1
            if level % TILE_HEIGHT == 0:
                tiles.append((level // TILE_HEIGHT, size, above))
        self._nodes.append(above)
        return tuple(tiles)

    def root(self) -> bytes:
        """Return the root of the tree so far; `EMPTY_ROOT` when there is no leaf."""
        return _fold(self._nodes)


def root(hashes: Iterable[bytes]) -> bytes:
    """Return the root over the leaf hashes *hashes*, in their order."""
    frontier = Frontier()
    for leaf in hashes:
        frontier.append(leaf)
    return frontier.root()


def decompose(start: int, end: int) -> list[tuple[int, int]]:
    """Return the complete subtrees ``(level, index)`` that make up a node.

    *start* is the first leaf of a node of some tree: 0, or as the paths below say.
    """
    parts: list[tuple[int, int]] = []
    while start < end:
        level = (end - start).bit_length() - 1
        parts.append((level, start >> level))
        start += 1 << level
    return parts


def subtree_root(start: int, end: int, node: NodeReader) -> bytes:
    """Return the hash of the node over the leaves *start* to *end* (exclusive)."""
    return _fold([node(level, index) for level, index in decompose(start, end)])


def inclusion_path(index: int, size: int) -> list[Range]:
    """Return the leaf ranges whose hashes prove leaf *index* in a tree of *size*.

    Nearest sibling first, as PATH(m, D[n]) of RFC 6962 §2.1.1.

    Raises:
        UsageError: the tree has no such leaf.

    """
    if not 0 <= index < size:
        raise UsageError(
            f"a tree of {size} leaves has no leaf {index}",
            rule="merkle/index",
            remedy="leaves count from 0; ask for a proof in a later tree",
        )
    path: list[Range] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((start, middle))
            start = middle
    return path[::-1]


def consistency_path(old: int, new: int) -> list[Range]:
    """Return the leaf ranges whose hashes prove that *new* leaves extend *old* ones.

    As PROOF(m, D[n]) of RFC 6962 §2.1.2; there is nothing to prove if *old* is 0 or
    equals *new*.

    Raises:
        UsageError: *old* is larger than *new*, or negative.

    """
    if not 0 <= old <= new:
        raise UsageError(
            f"a tree of {new} leaves cannot extend one of {old}",
            rule="merkle/sizes",
            remedy="give the smaller size first",
        )
    path: list[Range] = []
    start, end = 0, new
    while 0 < old != end:
        middle = start + _split(end - start)
        if old <= middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((start, middle))
            start = middle
    if start:
        path.append((start, end))
    return path[::-1]


def inclusion_proof(index: int, size: int, node: NodeReader) -> list[bytes]:
    """Return the hashes that prove leaf *index* in the tree of *size* leaves.

    Raises:
        UsageError: the tree has no such leaf.

    """
    return [
        subtree_root(start, end, node) for start, end in inclusion_path(index, size)
    ]


def consistency_proof(old: int, new: int, node: NodeReader) -> list[bytes]:
    """Return the hashes that prove the tree of *new* leaves to extend that of *old*.

    Raises:
        UsageError: *old* is larger than *new*, or negative.

    """
    return [subtree_root(start, end, node) for start, end in consistency_path(old, new)]


def verify_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Tell whether *proof* leads from the leaf hash *leaf* to *root* (RFC 9162)."""
    if not 0 <= index < size or not _are_hashes(leaf, root, *proof):
        return False
    position, last, above = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            above = node_hash(sibling, above)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            above = node_hash(above, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and above == root


def verify_consistency(
    old_size: int,
    new_size: int,
    old_root: bytes,
    new_root: bytes,
    proof: Sequence[bytes],
) -> bool:
    """Tell whether *proof* shows that the new tree extends the old one (RFC 9162)."""
    if not 0 <= old_size <= new_size or not _are_hashes(old_root, new_root, *proof):
        return False
    if old_size == new_size:
        fits = old_size > 0 or old_root == EMPTY_ROOT
        return not proof and old_root == new_root and fits
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT
    return _grows(old_size - 1, new_size - 1, old_root, new_root, proof)


def _grows(
    position: int, last: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    while position & 1:
        position, last = position >> 1, last >> 1
    # If the old tree is one complete subtree, the proof starts from its root.
    hashes = list(proof) if position else [old_root, *proof]
    if not hashes:
        return False
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and old == old_root and new == new_root


def _are_hashes(*values: bytes) -> bool:
    """Check the widths, or bytes could move from one operand to its neighbour."""
    return all(len(value) == HASH_SIZE for value in values)


def _split(leaves: int) -> int:
    """Return the largest power of two below *leaves*, at least 2."""
    return 1 << ((leaves - 1).bit_length() - 1)


def _fold(nodes: Sequence[bytes]) -> bytes:
    """Join complete subtrees, the smallest (rightmost) two first."""
    if not nodes:
        return EMPTY_ROOT
    above = nodes[-1]
    for left in reversed(nodes[:-1]):
        above = node_hash(left, above)
    return above
