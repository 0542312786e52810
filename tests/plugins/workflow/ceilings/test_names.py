"""Patterns of names match whole names, and meet in exactly what both match."""

from __future__ import annotations

import fnmatch
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.documents.places import At
from muniment.errors import RefusedError, UsageError
from muniment_plugins.workflow.ceilings.names import (
    folded,
    glob_match,
    matches_any,
    meet,
    normal_pattern,
    normal_patterns,
)

GLOBS = st.text("ab*?", min_size=1, max_size=6)
PATTERNS = st.lists(GLOBS, min_size=1, max_size=2, unique=True).map("&".join)
LISTS = st.lists(PATTERNS, max_size=3)
NAMES = st.text("ab", min_size=1, max_size=6)


def read(patterns: list[str]) -> tuple[str, ...]:
    """Return patterns in normal form, without those that match nothing."""
    at = At("x", "workflow")
    return normal_patterns([one for one in patterns if _matches_something(one)], at)


def _matches_something(pattern: str) -> bool:
    try:
        normal_pattern(pattern, At("x", "workflow"))
    except UsageError:
        return False
    return True


@pytest.mark.parametrize(
    ("pattern", "name", "whether"),
    [
        ("read", "read", True),
        ("read", "read_file", False),
        ("read_*", "read_", True),
        ("*", "", True),
        ("?", "", False),
        ("re?d", "read", True),
        ("READ", "read", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("a*b*c", "axxbxxc", True),
        ("a*b*c", "axxbxx", False),
        ("*.*", "ab", False),
    ],
)
def test_glob_match_patterns(pattern: str, name: str, whether: bool) -> None:
    """Only ``*`` and ``?`` are special; case matters; the whole name is matched."""
    assert glob_match(pattern, name) is whether


@given(GLOBS, NAMES)
def test_globs_agree_with_others(pattern: str, name: str) -> None:
    """Where nothing but wildcards is special, shells agree."""
    assert glob_match(pattern, name) == fnmatch.fnmatchcase(name, pattern)


@settings(max_examples=500)
@given(LISTS, LISTS, NAMES)
def test_meet_is_exact(one: list[str], two: list[str], name: str) -> None:
    """The meet of two lists matches a name iff both do."""
    mine, theirs = read(one), read(two)

    assert matches_any(meet(mine, theirs), name) == (
        matches_any(mine, name) and matches_any(theirs, name)
    )


@settings(max_examples=500)
@given(LISTS, LISTS, LISTS)
def test_meet_is_a_semilattice(
    one: list[str], two: list[str], three: list[str]
) -> None:
    """No order and no grouping changes the spelling of a meet."""
    a, b, c = read(one), read(two), read(three)

    assert meet(meet(a, b), c) == meet(a, meet(b, c))
    assert meet(a, b) == meet(b, a)
    assert meet(a, a) == a


def test_patterns_take_no_time() -> None:
    """A pattern of many stars is no way to stop the clock; too many are refused."""
    started = time.perf_counter()
    assert not glob_match("*a" * 60 + "b", "a" * 5000)
    assert time.perf_counter() - started < 5
    with pytest.raises(RefusedError, match="combinations"):
        meet([f"*{n}" for n in range(50)], [f"{n}*" for n in range(50)])


def test_folded() -> None:
    """Names that people confuse have one fold."""
    assert folded("Read-File") == folded("read_file") == folded("read.FILE")
    assert folded("readfile") != folded("read_file")
