"""A file that cannot be read in one way alone is refused, with its place."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.documents.reading import read_document
from muniment.errors import UsageError


@pytest.mark.parametrize(
    ("name", "data", "rule", "says"),
    [
        ("a.json", b"{'a': 1}", "format", "not JSON: expecting property name"),
        ("a.json", b"", "format", "not JSON"),
        ("a.json", b"[1]", "type", "not an object"),
        ("a.json", b'{"a": 1, "a": 2}', "duplicate", "a: the key is there twice"),
        ("a.json", b'{"b": {"a": [{"c": 1, "c": 2}]}}', "duplicate", "b.a[0].c"),
        ("a.json", b'{"a": NaN}', "number", "NaN"),
        ("a.json", b'{"a": 1e999}', "number", "a: inf"),
        ("a.json", b'{"a": 9007199254740993}', "number", "2^53"),
        ("a.json", b'{"a": "\\ud800"}', "encoding", "half a character"),
        ("a.json", b'{"a": "\xff"}', "encoding", "byte 7 is not UTF-8"),
        ("a.json", b'\xef\xbb\xbf{"a": 1}', "encoding", "byte order mark"),
        ("a.json", b'{"a":' * 40 + b"1" + b"}" * 40, "depth", "deeper than 32"),
        ("a.json", b"[" * 100_000, "depth", "deeper than 32"),
        ("a.json", b'{"a": ' + b"9" * 5000 + b"}", "number", "too many digits"),
        ("a.json", b" " * (1 << 20) + b"{}", "file", "more than 1 MiB"),
        ("a.toml", b"a = 1\na = 2", "format", "not TOML"),
        ("a.toml", b"a = 2024-01-01", "type", "a: a date is no value of JSON"),
        ("a.toml", b"a = nan", "number", "a: nan"),
        ("a.yaml", b"a: 1\na: 2", "duplicate", "a: the key is there twice"),
        ("a.yaml", b"a: &x 1\nb: *x", "format", "line 1 has an anchor"),
        ("a.yaml", b"a: !!python/object:os.system x", "format", "line 1 has the tag"),
        ("a.yaml", b"<<: {a: 1}", "format", "merge key"),
        ("a.yaml", b"a: .nan", "number", ".nan"),
        ("a.yaml", b"1: a", "type", "the key 1 is not a text"),
        ("a.yaml", b"a: [1", "format", "not YAML"),
        ("a.yaml", b"a: 1\n---\nb: 2", "format", "not YAML"),
        ("a.yaml", b"a: \x00", "format", "not YAML"),
        ("a.ini", b"", "format", ".ini"),
        ("absent.json", None, "file", "cannot be read"),
    ],
)
def test_files_that_are_no_documents(
    tmp_path: Path, name: str, data: bytes | None, rule: str, says: str
) -> None:
    """A file that cannot be read in one way alone is refused, and says where."""
    file = tmp_path / name
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_document(file, "flow")
    assert caught.value.rule == f"flow/{rule}"
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_document(tmp_path: Path) -> None:
    """What is not a regular file is not opened."""
    folder = tmp_path / "flow.json"
    folder.mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read_document(folder, "flow")


MOST = 1 << 20
OPENINGS = {
    ".json": ["[", "{", '{"a":', '["[",', '[{"a":[', "[[],"],
    ".yaml": ["[", "{", "[ ", "{a: ", "['[', ", '["{", {', "- ", "? ", "[\n", "[[], "],
    ".toml": ["[", "{", "{a=", "['[',", "a.", "'a' . ", "[a.", "[[],"],
}
"""Ending → what leads deeper, as often as it is written."""


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_deep_nesting_is_refused_at_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A file of 1 MiB that nests ever deeper is refused within a second, in each format."""
    suffix = data.draw(st.sampled_from(sorted(OPENINGS)))
    opening = st.lists(st.sampled_from(OPENINGS[suffix]), min_size=1, max_size=4)
    text = "".join(data.draw(opening))
    file = tmp_path_factory.mktemp("deep") / f"a{suffix}"
    file.write_text((text * (MOST // len(text) + 1))[:MOST])
    began = time.process_time()
    with pytest.raises(UsageError):
        read_document(file, "flow")
    assert time.process_time() - began < 1


@pytest.mark.parametrize("suffix", sorted(OPENINGS))
@pytest.mark.parametrize("opening", ["[", "{"])
def test_each_opening_alone(tmp_path: Path, suffix: str, opening: str) -> None:
    """What is wrong with it is how deep it nests, and the refusal says so."""
    file = tmp_path / f"a{suffix}"
    file.write_text(opening * MOST)
    with pytest.raises(UsageError, match="deeper than 32") as caught:
        read_document(file, "flow")
    assert caught.value.rule == "flow/depth"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"a": "%s\\"[["}'),
        ("a.yaml", "a: '%s'"),
        ("a.yaml", 'a: "%s"'),
        ("a.yaml", "a: 1 # %s"),
        ("a.yaml", "a: b%s"),
        ("a.yaml", "a: |\n  %s"),
        ("a.toml", 'a = "%s\\"[["'),
        ("a.toml", "a = '%s'"),
        ("a.toml", 'a = """\n"%s""""'),
        ("a.toml", "a = '''\n'%s''''"),
        ("a.toml", "a = 1 # %s"),
    ],
)
@pytest.mark.parametrize("word", ["[", "{", "[{", "{[", "a.b."])
def test_brackets_in_texts_do_not_nest(
    tmp_path: Path, name: str, text: str, word: str
) -> None:
    """A bracket in a text or in a comment is none."""
    file = tmp_path / name
    file.write_text(text % (word * 50))
    assert [*read_document(file, "flow")] == ["a"]


@pytest.mark.parametrize(
    ("name", "opening", "value", "closing"),
    [
        ("a.json", '{"a":', "1", "}"),
        ("a.yaml", "{a: ", "1", "}"),
        ("a.toml", "a.", "a=1", ""),
    ],
)
def test_how_deep_a_document_may_nest(
    tmp_path: Path, name: str, opening: str, value: str, closing: str
) -> None:
    """Thirty-two levels are read, and not one more; in each format alike."""
    file, most = tmp_path / name, 32 - (not closing)
    file.write_text(opening * most + value + closing * most)
    assert read_document(file, "flow")
    most += 1
    file.write_text(opening * most + value + closing * most)
    with pytest.raises(UsageError, match="deeper than 32"):
        read_document(file, "flow")
