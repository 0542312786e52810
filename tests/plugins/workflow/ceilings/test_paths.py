"""Paths: one spelling, containment by segments, and what is no plain path."""

from __future__ import annotations

import posixpath
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.documents.places import At
from muniment.errors import UsageError
from muniment_plugins.workflow.ceilings.paths import (
    contains,
    follow_links,
    meet_roots,
    normal_path,
    normal_path_pattern,
    path_fault,
    path_matches,
    widest,
)

SEGMENTS = st.lists(st.sampled_from(("a", "b", "ab", ".", "..", "")), max_size=5)
ABSOLUTE = SEGMENTS.map(lambda parts: "/" + "/".join(parts))
ROOTS = st.lists(ABSOLUTE.map(lambda one: normal_path(one) or "/"), max_size=3)


@pytest.mark.parametrize(
    ("path", "base", "found"),
    [
        ("src/../lib//a.py", "/repo", "/repo/lib/a.py"),
        ("./a/./b/", None, "a/b"),
        ("//etc/passwd", None, "/etc/passwd"),
        ("/a/../../b", None, "/b"),
        ("../x", None, None),
        ("a/../../x", None, None),
        ("../x", "/repo", "/x"),
        ("/abs", "/repo", "/abs"),
        (".", None, "."),
    ],
)
def test_one_spelling(path: str, base: str | None, found: str | None) -> None:
    """Dots, doubled and trailing slashes are gone, and nothing leads above its start."""
    assert normal_path(path, base) == found


@pytest.mark.parametrize(
    "path",
    [
        "",
        " ",
        " a",
        "a ",
        "a/.. /b",
        "~",
        "~root/x",
        "a/~/b",
        "$HOME/x",
        "a\\b",
        "..\\..\\x",
        "C:/x",
        "file:///etc/passwd",
        "a\x00b",
        "a\nb",
        "a\tb",
        "%2e%2e%2fetc",
        "a%2Fb",
        "%252e",
        "\u2024\u2024/x",
        "a\uff0fb",
        "\uff0e\uff0e/x",
        "a\u200bb",
        "a\u202eb",
        "a\ud800b",
        "x" * 5000,
    ],
)
def test_what_is_no_plain_path(path: str) -> None:
    """What somebody else could read as another path is refused."""
    assert path_fault(path)


@pytest.mark.parametrize(
    "path",
    ["a", "a/b.py", "[id].tsx", "a b/c", "é/ü.txt", "日本/語", "..a/b", "50%.txt"],
)
def test_plain_paths(path: str) -> None:
    """Ordinary names are ordinary, in other scripts too."""
    assert path_fault(path) == ""


def test_containment_is_by_segments() -> None:
    """A root contains itself and what is below it, not what begins like it."""
    assert contains("/repo/lib", "/repo/lib")
    assert contains("/repo/lib", "/repo/lib/a")
    assert not contains("/repo/lib", "/repo/library")
    assert not contains("/repo/lib", "/repo")
    assert contains("/", "/x")
    assert contains(".", "x")
    assert not contains(".", "/x")
    assert not contains("/", "x")
    assert not contains("/Repo", "/repo/a")


@given(ROOTS, ROOTS, ABSOLUTE)
def test_meet_of_roots_is_exact(one: list[str], two: list[str], path: str) -> None:
    """A path is below the meet of two lists iff it is below both."""
    place = normal_path(path) or "/"

    def below(roots: tuple[str, ...] | list[str]) -> bool:
        return any(contains(root, place) for root in roots)

    assert below(meet_roots(one, two)) == (below(one) and below(two))
    assert meet_roots(one, two) == meet_roots(two, one)
    assert meet_roots(one, one) == widest(one)


@given(ABSOLUTE)
def test_normal_twice_is_normal(path: str) -> None:
    """The one spelling is its own, and the system's library agrees."""
    once = normal_path(path)

    assert once is not None
    assert normal_path(once) == once
    assert once == "/" + posixpath.normpath(path).lstrip("/")


@pytest.mark.parametrize(
    ("pattern", "path", "whether"),
    [
        ("src/*", "src/a.py", True),
        ("src/*", "src/a/b.py", False),
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", False),
        ("src/", "src/a/b", True),
        ("**/*.md", "a.md", True),
        ("**/*.md", "x/y/a.md", True),
        ("src/**/t.py", "src/t.py", True),
        ("**", "a", True),
        ("[id].tsx", "i.tsx", False),
        ("[id].tsx", "[id].tsx", True),
        ("SRC/*", "src/a", False),
    ],
)
def test_path_patterns(pattern: str, path: str, whether: bool) -> None:
    """``*`` stays in its segment, ``**`` crosses them."""
    normal = normal_path_pattern(pattern, At("x", "workflow"))

    assert path_matches(normal, path) is whether


def test_path_patterns_lead_nowhere_else() -> None:
    """A pattern with ``..`` is refused, and no pattern takes long."""
    with pytest.raises(UsageError, match="upwards"):
        normal_path_pattern("src/../**", At("x", "workflow"))
    assert not path_matches("/".join(["**", "a"] * 40), "/".join("b" * 500))


def test_links_are_followed_on_request(tmp_path: Path) -> None:
    """Links are the caller's to resolve, by the one function that reads a folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside")
    base = str(tmp_path / "work")

    assert contains(base, normal_path("link/x", base) or "")
    assert follow_links("link/x", base) == str(tmp_path.resolve() / "outside" / "x")
    assert follow_links("link/x", None) is None
    circles = {"circle": "circle", "one": "two", "two": "one"}
    for name, target in circles.items():
        (tmp_path / "work" / name).symlink_to(target)
    for name in circles:
        assert follow_links(name, base) is None
        assert follow_links(f"{name}/x", base) is None
    with pytest.raises(UsageError, match="no path"):
        follow_links("~/x", base)
