"""A derived artifact is a new one that names where it comes from."""

from __future__ import annotations

import pytest
from hypothesis import given

from made_artifacts import made, raw_artifacts, stamps
from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.artifact import artifact
from muniment_plugins.workflow.artifacts.derivation import artifact_derive

PARENT = {
    "id": "p",
    "created_at": "2020-01-01T00:00:00Z",
    "kind": "resource",
    "title": "Code",
    "text": "x" * 100,
    "data": {"path": "a"},
    "source": "workspace",
    "freshness": "fresh",
    "relevance": 0.5,
    "lineage": ["g"],
    "metadata": {"a": 1, "b": 2},
    "priority": 3,
    "estimated_tokens": 999,
    "stage": "act",
}


def test_b23_deriving_twice() -> None:
    """B23: deriving twice gives two ids; tokens follow the new text."""
    parent = artifact(PARENT)
    one = artifact_derive(parent, "plan", {"text": "abcde"})
    other = artifact_derive(parent, "plan", {"text": "abcde"})
    assert len({parent.id, one.id, other.id}) == 3
    assert one.estimated_tokens == other.estimated_tokens == 2


def test_what_is_inherited() -> None:
    """The parent is named; weight and time are its own; data are not inherited."""
    one = artifact_derive(PARENT, "plan", {"text": "abcde"}, stamps=stamps())
    assert one.to_json() == {
        "id": "a0",
        "created_at": "2026-01-01T00:00:00.000000Z",
        "kind": "plan",
        "title": "Code",
        "text": "abcde",
        "source": "workspace",
        "freshness": "fresh",
        "relevance": 0.5,
        "lineage": ["g", "p"],
        "metadata": {"a": 1, "b": 2},
        "priority": 80,
        "estimated_tokens": 2,
        "stage": "act",
    }
    same_text = artifact_derive(PARENT, "test")
    assert (same_text.kind, same_text.text) == ("test_result", "x" * 100)
    assert same_text.estimated_tokens == 25


def test_every_extra_counts() -> None:
    """Each field but the kind can be given; lineage and metadata are added to."""
    extra = {
        "id": "mine",
        "created_at": "2021-01-01T00:00:00.000000Z",
        "title": "T",
        "text": "new",
        "data": [1],
        "source": "me",
        "freshness": "stale",
        "relevance": 0.25,
        "priority": 5,
        "estimated_tokens": 6,
        "stage": "repair",
    }
    more = {"lineage": ["h"], "metadata": {"b": 3, "c": 4}}
    one = artifact_derive(PARENT, "my_note", {**extra, **more}).to_json()
    assert one == {
        **extra,
        "kind": "my_note",
        "lineage": ["g", "p", "h"],
        "metadata": {"a": 1, "b": 3, "c": 4},
    }


@given(raw_artifacts(4))
def test_lineage(raws: list[dict[str, object]]) -> None:
    """Whatever the parent is, the lineage is its own and then the parent."""
    for parent in made(*raws):
        one = artifact_derive(parent, "summary")
        assert one.lineage == (*parent.lineage, parent.id)
        assert one.body == (parent.text or "")
        assert one.id != parent.id


@pytest.mark.parametrize(
    ("parent", "kind", "extra", "message"),
    [
        (None, "plan", None, "artifact_derive: parent: it is a NoneType"),
        ({"text": "a"}, "plan", None, r"artifact_derive: parent\.id: it is missing"),
        (PARENT, "Plan", None, "artifact_derive: kind: 'Plan' does not have this form"),
        (PARENT, None, None, "artifact_derive: kind: it is null"),
        (PARENT, "plan", {"kind": "plan"}, r"extra\.kind: nothing reads this key"),
        (PARENT, "plan", {"txt": "a"}, r"extra\.txt: .*did you mean text"),
        (PARENT, "plan", [], "artifact_derive: extra: it is a list"),
        (PARENT, "plan", {"id": "p"}, "lineage: p is made from itself"),
        (PARENT, "plan", {"id": "g"}, "lineage: g is made from itself"),
        (PARENT, "plan", {"lineage": "g"}, r"extra\.lineage: it is a text"),
        (PARENT, "plan", {"metadata": 1}, r"extra\.metadata: it is a number"),
    ],
)
def test_mistakes(parent: object, kind: str, extra: object, message: str) -> None:
    """What cannot be derived is refused with its place; nothing comes from itself."""
    with pytest.raises(UsageError, match=message):
        artifact_derive(parent, kind, extra)  # type: ignore[arg-type]
