"""What a gate judges is what the system's own ``open`` opens, in real trees of links."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muniment.errors import UsageError
from muniment_plugins.workflow.ceilings.constraints import changed_at, values_at
from muniment_plugins.workflow.ceilings.intersection import intersect
from muniment_plugins.workflow.ceilings.paths import path_fault
from muniment_plugins.workflow.tools.gate import ToolAnswer, ToolGate

MOST = 60
NAMES = ("a", "b", "c", "ws")
SEGMENT = st.sampled_from((*NAMES, *NAMES, "..", ".", "", "~", "A", "a "))
PATHS = st.builds(
    lambda parts, start: start + "/".join(parts),
    st.lists(SEGMENT, min_size=1, max_size=6),
    st.sampled_from(("", "", "", "./", "../", "TOP/", "TOP/ws/", "//TOP/")),
)
ROOTS = st.builds(
    lambda parts, start: start + "/".join(parts),
    st.lists(st.sampled_from((*NAMES, "")), min_size=1, max_size=3),
    st.sampled_from(("", "", "./", "../", "TOP/")),
).map(lambda one: one or ".")
ENTRIES = st.builds(
    lambda root, rest: root.rstrip("/") + rest if root.strip("./") else rest[1:],
    ROOTS.filter(lambda one: ".." not in one),
    st.sampled_from(("/**", "/*", "/*/a", "/**/b")),
)
TREES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
        st.sampled_from(("folder", "file", "link", "link")),
        PATHS,
    ),
    max_size=9,
)
READ = {
    "name": "read",
    "policy": {"side_effect_level": "read_only", "path_params": ["path"]},
}
WRITE = {
    "name": "write",
    "policy": {"side_effect_level": "workspace_write", "path_params": ["path"]},
}
UP = [(["ws", "b"], "link", "TOP/c/a"), (["c", "b"], "file", "")]
"""``ws/b`` leads to a folder elsewhere, above which there is ``b``."""


@contextmanager
def grown(tree: list[tuple[list[str], str, str]]) -> Iterator[str]:
    """Give a folder with folders, files and links, from inside of another one."""
    with tempfile.TemporaryDirectory() as made:
        top, before = os.path.realpath(made), Path.cwd()
        for one in ("ws", "c/a"):
            Path(top, one).mkdir(parents=True, exist_ok=True)
        for parts, kind, target in tree:
            path = Path(top, *parts)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if kind == "folder":
                    path.mkdir()
                elif kind == "file":
                    path.write_text("/".join(parts))
                else:
                    path.symlink_to(target.replace("TOP", top) or "a")
            except OSError:  # it is there, or leads over a file or a loop
                continue
        os.chdir(Path(top, "c"))
        try:
            yield top
        finally:
            os.chdir(before)


def lies_at(path: str, folder: str) -> str | None:
    """Return where the file is that the system opens for *path* in *folder*."""
    try:
        here = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        found = os.open(path, os.O_RDONLY | os.O_NONBLOCK, dir_fd=here)
    except OSError:
        return None
    finally:
        os.close(here)
    try:
        return str(Path(f"/proc/self/fd/{found}").readlink())
    finally:
        os.close(found)


def is_below(place: str, roots: list[str], base: str) -> bool:
    """Tell whether *place* is in one of *roots*, where the system finds them."""
    found = [os.path.realpath(Path(base, one)) for one in roots]
    return any(place == one or place.startswith(one.rstrip("/") + "/") for one in found)


def judged(gate: ToolGate, name: str, path: str) -> ToolAnswer:
    """Return what the gate says before and at the call."""
    answer = gate.check(name, {"path": path})
    if answer.outcome != "allowed":
        return answer
    return gate.opened(name, answer.arguments)


def require_same(answer: ToolAnswer, path: str, base: str) -> str:
    """Require that a tool opens what the system opens for *path*; return where that is."""
    handed = str(answer.arguments["path"])
    assert Path(handed).is_absolute()
    assert os.path.realpath(handed) == handed
    assert not Path(handed).is_symlink()
    meant = lies_at(path, base)
    if meant is not None:
        assert lies_at(handed, "/") == meant
    return handed


pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the system does not say what is open"
)


@settings(max_examples=MOST, deadline=None)
@given(
    TREES,
    st.lists(ROOTS, min_size=1, max_size=2, unique=True),
    PATHS,
    st.sampled_from(NAMES),
)
@example(UP, ["."], "b/../b", "ws")
@example(
    [(["ws", "b"], "link", "b"), (["ws", "a"], "link", "/")], ["."], "b/../a", "ws"
)
def test_roots_hold_the_file_that_is_opened(
    tree: Any, roots: list[str], path: str, folder: str
) -> None:
    """A file is opened iff it lies in a root, wherever links, dots and the process are."""
    with grown(tree) as top:
        base = f"{top}/{folder}"
        if path_fault(os.path.realpath(base)):
            return
        roots = [one.replace("TOP", top) for one in roots]
        path = path.replace("TOP", top)
        policy = {"workspace_roots": roots}
        gate = ToolGate([READ], policy=policy, base=base)
        answer = judged(gate, "read", path)
        if answer.outcome == "allowed":
            assert is_below(require_same(answer, path, base), roots, base)
        if path_fault(path):
            assert answer.code == "path_invalid"
            return
        meant, at_call = lies_at(path, base), gate.opened("read", {"path": path})
        if meant is not None:
            allowed = at_call.outcome == "allowed"
            assert allowed == is_below(meant, roots, base)


@settings(max_examples=MOST, deadline=None)
@given(TREES, ROOTS | ENTRIES, PATHS)
@example(UP, "ws", "ws/b/x")
@example(UP, "ws/**", "ws/b/../b")
def test_allowlists_hold_the_file_that_is_opened(
    tree: Any, entry: str, path: str
) -> None:
    """What a tool writes lies in the folder that the entry begins with."""
    with grown(tree) as top:
        entry, path = entry.replace("TOP", top), path.replace("TOP", top)
        if ".." in entry:
            return
        policy = {"write_path_allowlist": [entry], "default": "allow"}
        gate = ToolGate([WRITE], approvals=policy, base=top)
        answer = judged(gate, "write", path)
        names = [one for one in entry.split("/") if "*" not in one]
        wild = entry.split("/").index("**") if "**" in entry.split("/") else None
        folder = "/".join(names if wild is None else entry.split("/")[:wild])
        if answer.outcome == "allowed":
            lies = require_same(answer, path, top)
            assert is_below(lies, [folder.partition("*")[0] or "."], top)


@settings(max_examples=MOST, deadline=None)
@given(TREES, ROOTS, ROOTS, PATHS)
@example([(["ws", "b"], "link", "TOP/c")], "ws", "ws/b", "ws/b/x")
def test_roots_of_several_policies(
    tree: Any, outer: str, inner: str, path: str
) -> None:
    """A root of a request that is a link out of its ceiling's leads nowhere."""
    with grown(tree) as top:
        outer, inner = outer.replace("TOP", top), inner.replace("TOP", top)
        path = path.replace("TOP", top)
        ceiling, wanted = {"workspace_roots": [outer]}, {"workspace_roots": [inner]}
        both = intersect(ceiling, wanted, base=top).result
        again = ToolGate([READ], policy=both.document(), base=top)
        answer = judged(again, "read", path)
        assert (
            answer.arguments
            == judged(ToolGate([READ], policy=both, base=top), "read", path).arguments
        )
        if answer.outcome == "allowed":
            place = require_same(answer, path, top)
            assert is_below(place, [outer], top)
            assert is_below(place, [inner], top)


VALUES = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(("x", "y")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("a", "b", "a.b")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(("a", "b", "a.b")), VALUES, max_size=3),
    st.sampled_from(("a", "a.b", "a.b.a")),
)
def test_what_is_judged_is_what_is_changed(arguments: Any, name: str) -> None:
    """Every text that a name leads to is handed over changed, and nothing else is."""
    found = [
        one
        for value in values_at(arguments, name).values
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, str)
    ]
    changed: list[str] = []

    def note(one: str) -> str:
        changed.append(one)
        return one

    made = changed_at(arguments, name, note)
    assert made == arguments
    nested = any(isinstance(one, list) for one in _lists(values_at(arguments, name)))
    if not nested:  # a list in a list is no path, and refused before
        assert sorted(changed) == sorted(found)
    marked = changed_at(arguments, name, str.upper)
    assert [*marked] == [*arguments]


def _lists(given: Any) -> list[Any]:
    return [one for value in given.values if isinstance(value, list) for one in value]


@pytest.mark.parametrize("base", ["/repo/../x", "/a/./b/.."])
def test_a_base_is_plain(base: str) -> None:
    """A base that leads upwards from a name may be another folder than it looks."""
    with pytest.raises(UsageError, match="may be that of a link"):
        ToolGate([READ], base=base)


def test_without_a_base() -> None:
    """A relative path of which nobody knows where it begins is not allowed at the call."""
    gate = ToolGate([READ], policy={"workspace_roots": ["."]})
    assert gate.check("read", {"path": "a"}).outcome == "allowed"
    assert gate.opened("read", {"path": "a"}).code == "path_outside_roots"
