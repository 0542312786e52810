"""What counts as something that this machine lacks, wherever a program says it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.recorded.lacking import is_here, lacking

NAMES = st.from_regex(r"[a-z]{3,9}_never(\.[a-z]{2,6})?", fullmatch=True)
KEYS = st.sampled_from(["value", "error", "data", "0", "text"])
OTHER = st.one_of(st.none(), st.integers(), st.text(max_size=9))


def buried(inner: Any, path: list[tuple[bool, str, Any]]) -> Any:
    """Return *inner* somewhere in a value."""
    for listed, key, beside in path:
        inner = [beside, inner] if listed else {key: inner, "beside": beside}
    return inner


PATHS = st.lists(st.tuples(st.booleans(), KEYS, OTHER), max_size=6)


@given(NAMES, PATHS, st.sampled_from(["error_type", "type"]))
def test_error_is_found_wherever_it_is(
    name: str, path: list[tuple[bool, str, Any]], kind: str
) -> None:
    """However deep an error is, and in whatever it is quoted: the module is named."""
    said = {f"No module named {name!r}"}
    error = {kind: "ModuleNotFoundError", "message": f"No module named '{name}'"}
    assert lacking(buried(error, path)) == said
    quoted = {"message": f"step: ModuleNotFoundError: No module named '{name}'; see x"}
    assert lacking(buried(quoted, path)) == said


@given(NAMES, PATHS)
def test_other_texts_say_nothing(name: str, path: list[tuple[bool, str, Any]]) -> None:
    """A text that is no error's may say anything, and so may an error of something else."""
    text = f"No module named '{name}'"
    assert lacking(buried({"text": text}, path)) == set()
    assert lacking(buried([text], path)) == set()
    other = {"error_type": "ValueError", "message": "no module is named"}
    assert lacking(buried(other, path)) == set()


@pytest.mark.parametrize(
    "name", ["json", "json.decoder", "os.path", "xml.dom.minidom", "this"]
)
def test_modules_that_are_here(name: str) -> None:
    """They are found without being imported, and then nothing is missing."""
    before = set(sys.modules)
    error: dict[str, Any] = {
        "error_type": "ModuleNotFoundError",
        "message": f"No module named '{name}'",
    }
    assert is_here(name)
    assert lacking(error) == set()
    assert "this" not in set(sys.modules) - before


@pytest.mark.parametrize(
    "name", ["json.never", "os.path.never", "never.json", "", ".", "a..b"]
)
def test_modules_that_are_not_here(name: str) -> None:
    """A module of a package that is here may be missing; what is no name is not here."""
    assert not is_here(name)
