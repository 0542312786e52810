"""Sorted trees that nobody changes: each change makes a tree that shares the rest.

    tree = put(put(None, ("b",), 2), ("a",), 1, weight=7)
    [*values(tree)]         [1, 2]
    first_fit(tree, 0, 5)   (1, …): the first from place 0 on that weighs at most 5

Rules:

- A tree is its top node, or None. Keys are tuples that compare with each other; a key is
  there once. `put`, `take`, `find`, `first_from` and `first_fit` take O(log n).
- Trees are balanced by their sizes: a side is at most three times as big as the other.
  What a tree holds never depends on its form.
- Copies cost nothing and threads may share them, since nodes do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

__all__ = [
    "Key",
    "SortedNode",
    "balanced",
    "find",
    "first_fit",
    "first_from",
    "leading",
    "nodes",
    "put",
    "size_of",
    "take",
    "values",
]

Key: TypeAlias = tuple[float | str, ...]
V = TypeVar("V")

_UNEVEN = 3
"""How many times as big as the other a side may be."""
_SINGLE = 2
"""Below how many times its outer side the inner side of a big one may stay together."""


class SortedNode(Generic[V]):
    """A node of a tree, and so the tree below it."""

    __slots__ = (
        "high",
        "item",
        "key",
        "left",
        "low",
        "right",
        "size",
        "value",
        "weight",
    )

    item: tuple[Key, V, int]
    """Key, value, weight."""
    key: Key
    value: V
    weight: int
    left: SortedNode[V] | None
    right: SortedNode[V] | None
    size: int
    """How many keys the tree has."""
    low: int
    """The least weight in it."""
    high: int

    def __init__(
        self,
        item: tuple[Key, V, int],
        left: SortedNode[V] | None,
        right: SortedNode[V] | None,
    ) -> None:
        """Put *item*, a key with its value and weight, between two trees."""
        self.item, self.left, self.right = item, left, right
        self.key, self.value, self.weight = item
        size, low, high = 1, self.weight, self.weight
        if left is not None:
            size += left.size
            low, high = min(low, left.low), max(high, left.high)
        if right is not None:
            size += right.size
            low, high = min(low, right.low), max(high, right.high)
        self.size, self.low, self.high = size, low, high


_Tree: TypeAlias = SortedNode[V] | None


def size_of(tree: _Tree[V]) -> int:
    """Return how many keys *tree* has."""
    return 0 if tree is None else tree.size


def balanced(items: Sequence[tuple[Key, V, int]]) -> _Tree[V]:
    """Return the tree of *items*: keys with values and weights, sorted by their keys."""
    return _between(items, 0, len(items))


def _between(items: Sequence[tuple[Key, V, int]], start: int, end: int) -> _Tree[V]:
    if start >= end:
        return None
    middle = (start + end) // 2
    left, right = _between(items, start, middle), _between(items, middle + 1, end)
    return SortedNode(items[middle], left, right)


def put(tree: _Tree[V], key: Key, value: V, weight: int = 0) -> SortedNode[V]:
    """Return *tree* with *value* at *key*, in place of what is there."""
    above: list[SortedNode[V]] = []
    while tree is not None and tree.key != key:
        above.append(tree)
        tree = tree.left if key < tree.key else tree.right
    sides = (None, None) if tree is None else (tree.left, tree.right)
    made = SortedNode((key, value, weight), *sides)
    for node in reversed(above):
        if key < node.key:
            made = _joined(node.item, made, node.right)
        else:
            made = _joined(node.item, node.left, made)
    return made


def take(tree: _Tree[V], key: Key) -> _Tree[V]:
    """Return *tree* without *key*, which may be missing."""
    if tree is None:
        return None
    if key < tree.key:
        return _joined(tree.item, take(tree.left, key), tree.right)
    if tree.key < key:
        return _joined(tree.item, tree.left, take(tree.right, key))
    if tree.left is None or tree.right is None:
        return tree.left or tree.right
    least = tree.right
    while least.left is not None:
        least = least.left
    return _joined(least.item, tree.left, take(tree.right, least.key))


def _joined(item: tuple[Key, V, int], left: _Tree[V], right: _Tree[V]) -> SortedNode[V]:
    """Return a tree of two that were balanced before one of them changed by one."""
    before = 0 if left is None else left.size
    after = 0 if right is None else right.size
    if before + after > 1:
        if right is not None and after > _UNEVEN * before:
            return _turned_left(item, left, right)
        if left is not None and before > _UNEVEN * after:
            return _turned_right(item, left, right)
    return SortedNode(item, left, right)


def _turned_left(
    item: tuple[Key, V, int], left: _Tree[V], right: SortedNode[V]
) -> SortedNode[V]:
    inner = right.left
    if inner is None or inner.size < _SINGLE * size_of(right.right):
        return SortedNode(right.item, SortedNode(item, left, inner), right.right)
    return SortedNode(
        inner.item,
        SortedNode(item, left, inner.left),
        SortedNode(right.item, inner.right, right.right),
    )


def _turned_right(
    item: tuple[Key, V, int], left: SortedNode[V], right: _Tree[V]
) -> SortedNode[V]:
    inner = left.right
    if inner is None or inner.size < _SINGLE * size_of(left.left):
        return SortedNode(left.item, left.left, SortedNode(item, inner, right))
    return SortedNode(
        inner.item,
        SortedNode(left.item, left.left, inner.left),
        SortedNode(item, inner.right, right),
    )


def find(tree: _Tree[V], key: Key) -> V | None:
    """Return the value at *key*; None if there is none."""
    while tree is not None and tree.key != key:
        tree = tree.left if key < tree.key else tree.right
    return None if tree is None else tree.value


def first_from(tree: _Tree[V], key: Key) -> SortedNode[V] | None:
    """Return the node of the first key that is not before *key*."""
    found: SortedNode[V] | None = None
    while tree is not None:
        if tree.key < key:
            tree = tree.right
        else:
            found, tree = tree, tree.left
    return found


def first_fit(
    tree: _Tree[V], start: int, most: int
) -> tuple[int, SortedNode[V]] | None:
    """Return the first node that weighs at most *most*, with its place.

    Args:
        tree: where to look.
        start: the place of the first one that counts, from 0.
        most: a weight.

    """
    if tree is None or tree.low > most or start >= tree.size:
        return None
    before = size_of(tree.left)
    if start < before:
        found = first_fit(tree.left, start, most)
        if found is not None:
            return found
    if start <= before and tree.weight <= most:
        return before, tree
    found = first_fit(tree.right, max(0, start - before - 1), most)
    return None if found is None else (found[0] + before + 1, found[1])


def values(tree: _Tree[V]) -> Iterator[V]:
    """Yield the values by their keys."""
    return (one.value for one in nodes(tree))


def leading(tree: _Tree[V], most: int) -> list[SortedNode[V]]:
    """Return the first *most* nodes by their keys."""
    found: list[SortedNode[V]] = []
    above: list[SortedNode[V]] = []
    while (above or tree is not None) and len(found) < most:
        while tree is not None:
            above.append(tree)
            tree = tree.left
        node = above.pop()
        found.append(node)
        tree = node.right
    return found


def nodes(tree: _Tree[V]) -> Iterator[SortedNode[V]]:
    """Yield the nodes by their keys."""
    above: list[SortedNode[V]] = []
    while above or tree is not None:
        while tree is not None:
            above.append(tree)
            tree = tree.left
        node = above.pop()
        yield node
        tree = node.right
