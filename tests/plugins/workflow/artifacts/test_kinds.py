"""The kinds of artifacts weigh what the table says."""

from __future__ import annotations

import pytest

from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.artifact import artifact
from muniment_plugins.workflow.artifacts.kinds import (
    FRESHNESS,
    KINDS,
    freshness_rank,
    kind_named,
)

TABLE = """
    verification_result (verification), test_result (test)               100
    verification_bundle                                                  95
    handoff                                                              92
    diff, git_diff, patch, patch_set, patch_proposal                     90
    diff_review, review_decision, apply_intent                           90
    plan                                                                 80
    workspace_file (file), workspace_snapshot, editor_selection          70
    resource                                                             70
    summary, transcript_summary (transcript)                             60
    command_result                                                       50
    artifact, provider_payload, worker_result, worker_notification       40
    analysis_note                                                        40
"""
HANDOFF = {
    "source_persona": "planner",
    "target_persona_or_human": {"kind": "human"},
    "task": "apply",
    "reason": "asked",
}


def rows() -> list[tuple[str, str, int]]:
    """Return kind, alias or nothing, priority."""
    found: list[tuple[str, str, int]] = []
    for line in TABLE.strip().splitlines():
        words, _, priority = line.strip().rpartition(" ")
        for word in words.split(","):
            kind, _, alias = word.strip().partition(" ")
            found.append((kind, alias.strip("()"), int(priority)))
    return found


def test_the_table_is_whole() -> None:
    """Each kind is in the table, by its priority, and no other."""
    said = [(one.name, "".join(one.aliases), one.priority) for one in KINDS]
    assert sorted(said) == sorted(rows())
    assert [one.priority for one in KINDS] == sorted(
        (one.priority for one in KINDS), reverse=True
    )


@pytest.mark.parametrize(("kind", "alias", "priority"), rows())
def test_priority(kind: str, alias: str, priority: int) -> None:
    """An artifact takes the priority of its kind, under each of its names."""
    data = HANDOFF if kind == "handoff" else None
    for word in (kind, alias or kind):
        found = artifact({"kind": word, "data": data})
        assert (found.kind, found.priority) == (kind, priority)
    assert artifact({"kind": kind, "data": data, "priority": 7}).priority == 7


def test_custom_kinds() -> None:
    """Any lower-case word is a kind, with the priority 40."""
    assert artifact({"kind": "my_2nd_note"}).priority == 40
    assert kind_named("my_2nd_note") == "my_2nd_note"
    assert artifact({}).kind == "artifact"


@pytest.mark.parametrize("kind", ["Diff", "test-result", "", " ", "2nd", "ä", "a" * 65])
def test_words_that_are_no_kinds(kind: str) -> None:
    """What is no lower-case word is refused, with the place."""
    with pytest.raises(UsageError, match=r"artifact: kind: .*\[workflow/value\]"):
        artifact({"kind": kind})


def test_freshness() -> None:
    """Fresh and live are 3, recent is 2, what is not known is 1, stale is 0."""
    assert [freshness_rank(one) for one in FRESHNESS] == [3, 3, 2, 1, 0]
    assert freshness_rank(None) == 1
