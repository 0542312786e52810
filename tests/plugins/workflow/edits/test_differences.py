"""Differences: whatever two documents are, the patch leads from one to the other."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.encoding.canonical import canonical
from muniment.errors import ValueRefused
from muniment_plugins.workflow.edits.differences import patch_between
from muniment_plugins.workflow.edits.patches import apply_patch, same_json

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 0.5, -0.0])
    | st.text("ab/~-0 \N{LATIN SMALL LETTER E WITH ACUTE}", max_size=3)
)
NAMES = st.text("ab/~-0", max_size=2)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(NAMES, inner, max_size=4)
    ),
    max_leaves=25,
)
LISTS = st.lists(st.integers(0, 5) | st.lists(st.integers(0, 2), max_size=2))


@given(JSON, JSON)
def test_leads_there(before: Any, after: Any) -> None:
    """The patch makes the one document of the other, bit by bit; no patch if they agree."""
    patch = patch_between(before, after)
    made = apply_patch(before, patch)
    assert same_json(made, after)
    assert canonical(made) == canonical(after)
    assert (not patch) == (canonical(before) == canonical(after))


@given(LISTS, LISTS)
def test_lists(before: Any, after: Any) -> None:
    """Lists of whatever items, often the same ones, lead to each other."""
    assert same_json(apply_patch(before, patch_between(before, after)), after)


@given(JSON, JSON)
def test_is_small(before: Any, after: Any) -> None:
    """No patch is written longer than the whole, but for a few bytes."""
    patch = patch_between(before, after)
    most = len(canonical(after)) + 80 if len(patch) != 1 else float("inf")
    assert len(canonical([*patch])) <= most


@given(st.dictionaries(NAMES, LEAVES), JSON)
def test_order(before: Any, after: Any) -> None:
    """The order in which members were written does not show."""
    turned = dict(reversed(before.items()))
    assert patch_between(before, after) == patch_between(turned, after)


def graph(*edges: str, **nodes: object) -> dict[str, Any]:
    """Return a document of a shape like that of graphs."""
    return {
        "nodes": {name: {"kind": "stage", "note": one} for name, one in nodes.items()},
        "edges": [{"from": one[0], "to": one[1]} for one in edges],
    }


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        (
            graph("ab", "bc", "ca", a=1, b=2, c=3),
            graph("ab", "bc", "ca", a=1, b=4, c=3),
            [{"op": "replace", "path": "/nodes/b/note", "value": 4}],
        ),
        (
            graph("ab", "bc", "ca", a=1),
            graph("ab", "ba", "ca", a=1),
            [{"op": "replace", "path": "/edges/1/to", "value": "a"}],
        ),
        (
            graph("ab", "bc", "cd", "da", a=1),
            graph("ab", "cd", "da", a=1),
            [{"op": "remove", "path": "/edges/1"}],
        ),
        (
            graph("ab", "bc", "cd", a=1),
            graph("xx", "ab", "bc", "cd", a=1),
            [{"op": "add", "path": "/edges/0", "value": {"from": "x", "to": "x"}}],
        ),
    ],
)
def test_is_readable(before: Any, after: Any, patch: Any) -> None:
    """One change is one operation: nodes by name, members of policies, edges by index."""
    assert patch_between(before, after) == patch


def test_no_json() -> None:
    """What is no JSON, or nests too deep, is refused, and not run into."""
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    odd_ones: list[Any] = [deep, float("nan"), {"a": 2**60}, "\ud800"]
    for odd in odd_ones:
        with pytest.raises(ValueRefused):
            patch_between({}, odd)


def test_time() -> None:
    """Ten thousand nodes and edges, every tenth changed: a few seconds at most."""
    names = [f"n{one}" for one in range(10_000)]
    edges = [{"from": a, "to": b} for a, b in itertools.pairwise(names)]
    before: Any = {"nodes": {one: {"kind": "stage"} for one in names}, "edges": edges}
    kept = [one for number, one in enumerate(edges) if number % 10]
    some = {one: {"kind": "verify"} for one in names[::10]}
    after: Any = {"nodes": {**before["nodes"], **some}, "edges": kept[::-1]}
    began = time.perf_counter()
    assert apply_patch(before, patch_between(before, after)) == after
    assert time.perf_counter() - began < 10
