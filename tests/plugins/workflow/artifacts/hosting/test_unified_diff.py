"""Diffs turn one text into the other, as `git apply` does."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment_plugins.workflow.artifacts.hosting.unified_diff import unified_diff

LINES = st.lists(
    st.sampled_from(
        ["a", "b", "c", "-- x", "++ y", "@@ -1 +1 @@", "", "\r", "\x0b \u2028"]
    ),
    max_size=25,
)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"])
)


def applied(folder: Path, name: str, before: str, diff: str) -> str:
    """Return what git makes of *before* by *diff*."""
    (folder / name).write_bytes(before.encode())
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"],
        cwd=folder,
        input=diff.encode(),
        check=True,
        capture_output=True,
    )
    return (folder / name).read_bytes().decode()


def patched(before: str, diff: str) -> str:
    """Return what *diff* makes of *before*, by reading it as it is defined."""
    old, new, at = before.split("\n"), list[str](), 0
    lines = diff.split("\n")[2:-1]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        mark, rest = line[:1], line[1:]
        end = "" if following.startswith("\\") else "\n"
        if mark == "@":
            start, _, length = line.split()[1][1:].partition(",")
            until = int(start) - (0 if length == "0" else 1)
            new += [f"{one}\n" for one in old[at:until]]
            at = until
        elif mark in {" ", "-"}:
            assert old[at] == rest
            at += 1
        if mark in {" ", "+"}:
            new.append(rest + end)
    left = "\n".join(old[at:])
    return "".join(new) + left


@given(TEXTS, TEXTS)
def test_it_is_what_it_says(before: str, after: str) -> None:
    """The diff makes *after* of *before*, and nothing of equal texts."""
    diff = unified_diff("a.txt", before, after)
    assert (diff == "") is (before == after)
    if diff:
        assert diff.startswith("--- a/a.txt\n+++ b/a.txt\n@@ -")
        assert patched(before, diff) == after


@pytest.mark.parametrize("name", ["a.txt", "a b.txt", 'quo"te', "new\nline", "ü.txt"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("one\ntwo\nthree\n", "one\n2\nthree\n"),
        ("one\ntwo", "one\ntwo\n"),
        ("one", "two"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("x\n", "x\n\ny\n"),
        (
            "".join(f"{n}\n" for n in range(50)),
            "".join(f"{n // 3}\n" for n in range(50)),
        ),
    ],
)
def test_git_reads_it(tmp_path: Path, name: str, before: str, after: str) -> None:
    """Git applies it, whatever the file is called."""
    diff = unified_diff(name, before, after)
    assert applied(tmp_path, name, before, diff) == after


def test_large_changes() -> None:
    """What is too large to compare is one change, and the diff is right all the same."""
    before = "".join(f"{n}\n" for n in range(40_000))
    after = "".join(f"{n}\n" for n in reversed(range(40_000)))
    begun = time.process_time()
    diff = unified_diff("a", f"top\n{before}end\n", f"top\n{after}end\n")
    assert time.process_time() - begun < 20
    assert diff.count("\n@@ ") == 1
    assert patched(f"top\n{before}end\n", diff) == f"top\n{after}end\n"


@settings(max_examples=20)
@given(st.integers(0, 20_000), st.integers(0, 20_000))
def test_small_changes_of_large_files(one: int, other: int) -> None:
    """A small change of a large file is a small diff."""
    lines = [f"{n}\n" for n in range(20_001)]
    near = min(one, other), min(min(one, other) + 40, 20_000)
    new = [*lines]
    for place in near:
        new[place] = "new\n"
    diff = unified_diff("a", "".join(lines), "".join(new))
    assert len(diff.split("\n")) < 30
