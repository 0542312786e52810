"""A sorted tree is a sorted dict, stays flat, and keeps what it was before a change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.workflow.artifacts.context.pooling.sorted_tree import (
    SortedNode,
    balanced,
    find,
    first_fit,
    first_from,
    nodes,
    put,
    size_of,
    take,
    values,
)

KEYS = st.integers(0, 40)
Tree = SortedNode[str] | None


def items(tree: Tree) -> list[tuple[object, str, int]]:
    """Return keys, values and weights."""
    return [one.item for one in nodes(tree)]


def check(tree: Tree) -> int:
    """Return how high a tree is; its sums and its sides are right."""
    if tree is None:
        return 0
    sides = [side for side in (tree.left, tree.right) if side is not None]
    assert tree.size == 1 + sum(side.size for side in sides)
    assert tree.low == min([tree.weight, *(side.low for side in sides)])
    assert tree.high == max([tree.weight, *(side.high for side in sides)])
    left, right = size_of(tree.left), size_of(tree.right)
    assert left + right < 2 or (left <= 3 * right and right <= 3 * left)
    return 1 + max(check(tree.left), check(tree.right))


@given(
    st.lists(st.tuples(st.booleans(), KEYS, st.integers(0, 9)), max_size=80),
    KEYS,
    st.integers(0, 9),
)
def test_as_a_dict(changes: list[tuple[bool, int, int]], start: int, most: int) -> None:
    """After each change it holds what a dict does, and older trees are as they were."""
    tree: Tree = None
    held: dict[int, tuple[str, int]] = {}
    older: list[tuple[Tree, list[tuple[object, str, int]]]] = []
    for added, key, weight in changes:
        older.append((tree, items(tree)))
        if added:
            held[key] = (f"{key}:{weight}", weight)
            tree = put(tree, (key,), *held[key])
        else:
            held.pop(key, None)
            tree = take(tree, (key,))
        check(tree)
    expected = [((key,), *held[key]) for key in sorted(held)]
    assert items(tree) == items(balanced(expected)) == expected
    assert [*values(tree)] == [value for _, value, _ in expected]
    assert all(items(before) == then for before, then in older)

    assert find(tree, (start,)) == held.get(start, (None,))[0]
    later = [key for key in sorted(held) if key >= start]
    node = first_from(tree, (start,))
    assert (None if node is None else node.key) == ((later[0],) if later else None)
    fits = [
        (place, value)
        for place, (_, value, weight) in enumerate(expected)
        if place >= start and weight <= most
    ]
    found = first_fit(tree, start, most)
    assert found is None or (found[0], found[1].value) == fits[0]
    assert (found is None) == (not fits)


def test_it_is_flat() -> None:
    """Keys that come in their order, or the other way, make no lists of it."""
    for numbers in (range(3000), range(3000, 0, -1)):
        tree: Tree = None
        for number in numbers:
            tree = put(tree, (number,), "")
        assert check(tree) < 25
