"""Regular expressions of schemas: what `re` finds, in a bounded number of steps."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muniment_plugins.workflow.tools.patterns import (
    Steps,
    StepsTaken,
    found_in,
    pattern_fault,
)

ATOMS = st.sampled_from(
    (
        "a",
        "b",
        ".",
        r"\d",
        r"\w",
        r"\W",
        r"\s",
        "[ab]",
        "[^a]",
        "[a-c1]",
        r"[\w-]",
        "^",
        "$",
        r"\b",
        r"\B",
        r"\A",
        r"\Z",
        "é",
        r"\.",
        "",
        r"[^\d\s]",
    )
)
AROUND = st.sampled_from(
    (
        "({0})",
        "(?:{0})",
        "{0}|{1}",
        "{0}{1}",
        "(?:{0})*",
        "(?:{0})+?",
        "(?:{0})?",
        "(?:{0}){{2}}",
        "(?:{0}){{1,3}}",
        "(?:{0}){{2,}}",
        "(?={0})",
        "(?!{0})",
        "(?<=a)",
        "(?<!b)",
        "(?P<x>{0})",
    )
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.builds(lambda how, x, y: how.format(x, y), AROUND, inner, inner),
    max_leaves=6,
)
TEXTS = st.text(st.sampled_from("abc1 .-_é\n"), max_size=8)


@settings(max_examples=600, deadline=None)
@given(PATTERNS, TEXTS)
@example(r"(?:a|b$)*", "ab\n")
@example(r"\B", "")
@example("(?:){3}a", "a")
def test_it_finds_what_re_finds(pattern: str, text: str) -> None:
    """An expression is found where `re.search` finds it, and nowhere else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = re.search(pattern, text) is not None
    except re.error:
        assert pattern_fault(pattern).startswith("it is no regular expression")
        return
    assert pattern_fault(pattern) == ""
    assert found_in(pattern, text, Steps()) is expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 5000 + "!"),
        ("^(a|a)*$", "a" * 5000 + "!"),
        ("(a*)*b", "a" * 2000),
        ("a*a*a*a*a*b", "a" * 2000),
        (r"^(\w+\s?)*$", "word " * 800 + "!"),
        ("(?=(a+)+$)b", "a" * 800),
        ("((a{0,60}){0,60}){0,60}b", "a" * 500),
        ("(?:){4000000000}b", "a" * 10),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 3000),
    ],
)
def test_nothing_takes_long(pattern: str, text: str) -> None:
    """What `re` would try for ages ends soon: with an answer, or with the steps taken."""
    began = time.perf_counter()
    try:
        found = found_in(pattern, text, Steps())
    except StepsTaken:
        found = False
    assert not found
    assert time.perf_counter() - began < 20  # a bound for slow machines


def test_steps_are_counted_alike() -> None:
    """The same question takes the same number of steps, whenever it is asked."""
    left = set[int]()
    for _ in range(3):
        steps = Steps()
        found_in("^(a+)+$", "aaaa!", steps)
        left.add(steps.left)
    assert len(left) == 1
    with pytest.raises(StepsTaken):
        found_in("a", "a" * 100, Steps(50))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "refers back"),
        (r"(a)?(?(1)b)", "asks for a group"),
        ("(?>a+)b", "gives nothing back"),
        ("a++b", "gives nothing back"),
        ("(?i)a", "sets flags"),
        ("(?i:a)", "sets flags"),
        ("(", "no regular expression"),
        (r"\p{L}", "no regular expression"),
        ("(?<=a+)b", "no regular expression"),
        ("a" * 10_001, "too long"),
        ("(" * 400 + ")" * 400, "too many groups"),
        ("((a)(?:b|c(?!(d)\\2)))", "refers back"),
    ],
)
def test_what_is_refused(pattern: str, why: str) -> None:
    """What has no bound, or is no expression, is refused with the reason."""
    assert why in pattern_fault(pattern)
