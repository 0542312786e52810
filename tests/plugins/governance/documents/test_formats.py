"""A document is the same in JSON, YAML and TOML, and so is its digest."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flow_files import BORING_FLOW, BORING_POLICY, flow_document
from muniment.documents.reading import read_document
from muniment.encoding.canonical import canonical, sha256_tag
from muniment.errors import UsageError
from muniment_plugins.governance import GovernancePolicy, load_flow, load_policy

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")),
    min_size=1,
    max_size=8,
)
VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-1e15, 1e15, allow_nan=False).map(lambda one: one + 0.0)
    | st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=5)


class Quoting(yaml.SafeDumper):  # type: ignore[misc]  # it has no stubs here
    """Writes YAML with quoted texts, so that they mean the same in each version of it."""


def _quoted(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


Quoting.add_representer(str, _quoted)


def as_toml(value: Any) -> str:
    """Write *value* as an inline value of TOML, whose strings are those of JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        pairs = [f"{as_toml(name)} = {as_toml(one)}" for name, one in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def written(folder: Path, document: dict[str, Any]) -> list[Path]:
    """Write *document* in each format."""
    files = [folder / name for name in ("a.json", "a.yaml", "a.toml")]
    files[0].write_text(json.dumps(document))
    files[1].write_text(yaml.dump(document, Dumper=Quoting, allow_unicode=True))
    files[2].write_text(
        "".join(f"{as_toml(n)} = {as_toml(v)}\n" for n, v in document.items())
    )
    return files


@given(DOCUMENTS)
def test_every_format_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    """What is written comes back, from each format, and loads again to the same."""
    folder = tmp_path_factory.mktemp("documents")
    for file in written(folder, document):
        assert canonical(read_document(file, "flow")) == canonical(document)


def without_nulls(value: Any) -> Any:
    """Return *value* without members that are null, which TOML lacks."""
    if isinstance(value, dict):
        return {n: without_nulls(v) for n, v in value.items() if v is not None}
    return [*map(without_nulls, value)] if isinstance(value, list) else value


def test_the_full_examples(tmp_path: Path) -> None:
    """The examples of the reference load unchanged, in each format with one digest."""
    flow, policy = tmp_path / "flow.json", tmp_path / "policy.json"
    flow.write_text(json.dumps(BORING_FLOW))
    policy.write_text(json.dumps(BORING_POLICY))
    loaded = load_flow(flow)
    assert loaded.document == BORING_FLOW
    assert loaded.digest == sha256_tag(canonical(BORING_FLOW))
    assert (loaded.agents, loaded.dependencies) == (
        ("agent-a", "agent-b"),
        {"agent-b": ("agent-a",)},
    )
    assert load_policy(policy).document == BORING_POLICY
    digests = {
        load_flow(one).digest for one in written(tmp_path, without_nulls(BORING_FLOW))
    }
    assert len(digests) == 1
    digests = {
        load_policy(one).digest
        for one in written(tmp_path, without_nulls(BORING_POLICY))
    }
    assert len(digests) == 1


def test_defaults_are_not_written_into_the_document() -> None:
    """The digest of a policy is that of the file which people read."""
    least = GovernancePolicy.from_document({"spec_version": "v1"}, "p")
    assert least.digest == sha256_tag(b'{"spec_version":"v1"}')
    assert least.verification.engines == ("content", "signature", "contradiction")
    assert GovernancePolicy.DEFAULT.name == "muniment:default/1"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("+1", 1),
        ("1.5", 1.5),
        ("0x10", 16),
        ("~", None),
        ("null", None),
        ("", None),
        ("true", True),
        ("'true'", "true"),
        ('"no"', "no"),
        ("2024", 2024),
        ("a b", "a b"),
        ("|-\n  two\n  lines", "two\nlines"),
    ],
)
def test_plain_words_of_yaml(tmp_path: Path, text: str, value: object) -> None:
    """A word that YAML 1.1 and 1.2 read alike is read so."""
    file = tmp_path / "a.yaml"
    file.write_text(f"a: {text}\n")
    assert read_document(file, "flow") == {"a": value}


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "yes",
        "on",
        "Off",
        "1:30",
        "2024-01-01",
        "010",
        "0o10",
        "1e3",
        "1_000",
    ],
)
def test_words_of_yaml_with_two_meanings(tmp_path: Path, text: str) -> None:
    """A word that YAML 1.1 and 1.2 read differently is refused: nobody is Norway."""
    file = tmp_path / "a.yaml"
    for line in (f"a: {text}\n", f"{text}: a\n"):
        file.write_text(line)
        with pytest.raises(UsageError, match="means one thing"):
            read_document(file, "flow")


def test_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lacks PyYAML is told what to install."""
    file = tmp_path / "a.yaml"
    file.write_text("a: 1")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=r"pip install 'muniment\[yaml\]'"):
        read_document(file, "flow")


def test_one_meaning_per_level(tmp_path: Path) -> None:
    """A name of a key that is no word is quoted in the path."""
    document = flow_document()
    document["two words"] = 1
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError, match=r"\['two words'\]: nothing reads this key"):
        load_flow(file)
