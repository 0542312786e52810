"""A stage gets no outdated evidence, no text twice, and no text that is far too long."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_artifacts import TEXTS, made
from muniment_plugins.workflow.artifacts.context.adaptive import (
    artifact_select_adaptive,
)
from muniment_plugins.workflow.artifacts.context.compaction import cut_text

OLD, NOW, LATER = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))
WRITE = {
    "id": "write",
    "kind": "diff",
    "text": "d",
    "freshness": "fresh",
    "created_at": NOW,
    "metadata": {"changed_paths": ["src/a.py", "./src/b.py"]},
}


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        ({}, True),
        ({"metadata": {"evidence_paths": ["src/b.py"]}}, True),
        ({"metadata": {"evidence_paths": ["src//a.py", "x"]}}, True),
        ({"metadata": {"evidence_paths": ["src/c.py"]}}, False),
        ({"metadata": {"evidence_paths": []}}, False),
        ({"metadata": {}}, False),
        ({"freshness": "recent"}, True),
        ({"freshness": "fresh"}, False),
        ({"freshness": "live"}, False),
        ({"created_at": NOW}, True),
        ({"created_at": "2026-01-02T01:00:00+02:00"}, True),
        ({"created_at": LATER}, False),
        ({"created_at": LATER, "freshness": "stale"}, True),
    ],
)
def test_stale(change: dict[str, object], stale: bool) -> None:
    """Evidence on a file is stale once something fresh changed it, unless it is newer."""
    evidence = {
        "id": "evidence",
        "text": "e",
        "created_at": OLD,
        "metadata": {"evidence_paths": ["src/a.py"]},
    }
    given_ones = made(evidence | change, WRITE)
    for policy in ({}, {"exclude_kinds": ["diff"]}):
        chosen = artifact_select_adaptive(given_ones, policy)
        reasons = {one.id: one.reason for one in chosen.left_out}
        assert (reasons.get("evidence") == "stale") is stale
    pinned = artifact_select_adaptive(given_ones, {"pinned_ids": ["evidence"]})
    assert pinned.left_out == ()


def test_a_write_that_is_not_fresh() -> None:
    """Only what is fresh makes other evidence stale."""
    evidence = {"text": "e", "metadata": {"evidence_paths": ["src/a.py"]}}
    given_ones = made(evidence, WRITE | {"freshness": None, "created_at": LATER})
    assert artifact_select_adaptive(given_ones).left_out == ()


@pytest.mark.parametrize(
    ("priorities", "policy", "kept"),
    [
        ([1, 9, 5], {}, "a1"),
        ([5, 5, 5], {}, "a0"),
        ([1, 9, 5], {"pinned_ids": ["a2"]}, "a2"),
        ([1, 9, 5], {"exclude_kinds": ["k1"]}, "a2"),
    ],
)
def test_duplicates(
    priorities: list[int], policy: dict[str, object], kept: str
) -> None:
    """Of equal texts the one with the higher priority stays, of what may come in."""
    given_ones = made(
        *(
            {"kind": f"k{n}", "text": "same", "priority": priority}
            for n, priority in enumerate(priorities)
        ),
        {"text": "other"},
        {"text": ""},
        {"text": ""},
    )
    chosen = artifact_select_adaptive(given_ones, policy)
    assert {one.id for one in chosen.selected} == {kept, "a3", "a4", "a5"}
    twice = [one for one in chosen.left_out if one.reason == "duplicate"]
    assert {one.of for one in twice} == {kept}


def test_long_texts() -> None:
    """A text of more than twice its share is cut to it, which the text itself says."""
    long = "ä" * 20_000
    given_ones = made({"text": long}, {"text": "x" * 4000}, {"text": "short"})
    chosen = artifact_select_adaptive(given_ones, {"max_tokens": 3000})
    first, second, third = sorted(chosen.selected, key=lambda one: one.id)
    (cut,) = chosen.cuts

    assert (second.text, third.text) == ("x" * 4000, "short")
    assert first.text is not None
    assert first.estimated_tokens <= 1000
    assert first.text.startswith("ä" * 500)
    assert first.text.endswith("ä" * 300)
    assert (cut.id, cut.size) == ("a0", 40_000)
    assert (
        f"[… {cut.removed} of 40000 bytes are left out; all of it: {cut.digest} …]"
        in (first.text)
    )
    assert cut.digest == "sha256:" + hashlib.sha256(long.encode()).hexdigest()
    assert given_ones[0].text == long


@pytest.mark.parametrize(
    ("policy", "cuts"),
    [
        ({}, 0),
        ({"max_tokens": 100_000}, 0),
        ({"max_tokens": 3000, "max_artifacts": 1}, 1),
        ({"max_tokens": 3000, "pinned_ids": ["a0"]}, 0),
        ({"max_tokens": 300}, 1),
        ({"max_tokens": 20}, 0),
        ({"max_tokens": 0}, 0),
        ({"max_tokens": 3000, "max_artifacts": 0}, 0),
    ],
)
def test_when_texts_are_cut(policy: dict[str, object], cuts: int) -> None:
    """Not without a budget, not pinned ones, and not where there is no room for words."""
    given_ones = made({"text": "x" * 40_000, "priority": 90}, {"text": "y"})
    chosen = artifact_select_adaptive(given_ones, policy)
    assert len(chosen.cuts) == cuts
    assert policy.get("max_tokens") != 300 or len(chosen.selected[0].body) <= 1200


def test_long_data() -> None:
    """Data without a text are cut as the JSON that they are."""
    given_ones = made({"data": ["x" * 40_000]})
    (one,) = artifact_select_adaptive(given_ones, {"max_tokens": 600}).selected
    assert one.body.startswith('["xxx')
    assert one.estimated_tokens <= 600


@given(st.text("aä€😀\n", min_size=1, max_size=400), st.integers(0, 1200))
def test_cuts(text: str, most: int) -> None:
    """A cut text fits, is made of the ends of the whole one, and counts what is missing."""
    done = cut_text("a", text, most)
    if done is None:
        return
    short, cut = done
    assert len(short.encode()) <= most < len(text.encode())
    head, tail = re.split(r"\n\[… \d+ of \d+ bytes [^\n]* …\]\n", short)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len((head + tail).encode()) + cut.removed == cut.size == len(text.encode())


@given(TEXTS)
def test_short_texts_are_whole(text: str) -> None:
    """What fits is not cut."""
    assert cut_text("a", text, len(text.encode())) is None
