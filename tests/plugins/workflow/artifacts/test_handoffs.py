"""Handoffs say who passes what to whom, and why."""

from __future__ import annotations

import pytest

from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.artifact import artifact
from muniment_plugins.workflow.artifacts.derivation import artifact_derive
from muniment_plugins.workflow.artifacts.hosting.host_artifacts import artifact_handoff

LEAST: dict[str, object] = {
    "source_persona": "planner",
    "target_persona_or_human": {"kind": "human", "label": "Ada"},
    "task": "Apply the patch",
    "reason": "It needs a human",
}
WHOLE: dict[str, object] = {
    **LEAST,
    "evidence_refs": ["a1"],
    "files_or_entities_touched": ["src/a.py"],
    "open_questions": ["Which branch?"],
    "blocked_on": ["review"],
    "requested_capabilities": ["workspace.write_text"],
    "allowed_side_effects": ["workspace_write"],
    "budget_remaining": {"tokens": 5, "tool_calls": 2, "dollars": 0.5},
    "deadline_checkback": {
        "deadline": "2026-01-02T00:00:00.000000Z",
        "checkback_at": "2026-01-01T00:00:00.000000Z",
    },
    "confidence": 0.5,
    "receipt_links": [{"kind": "run_receipt", "run_id": "r", "path": "r.json"}],
    "parent_run_id": "r0",
}


def test_it_is_an_artifact() -> None:
    """Its kind is handoff, its text the task, its title whom it is for."""
    one = artifact_handoff({**WHOLE, "_type": "handoff_artifact"})
    assert (one.kind, one.priority) == ("handoff", 92)
    assert (one.title, one.text) == ("handoff to Ada", "Apply the patch")
    assert one.data == WHOLE
    assert artifact(one.to_json()) == one


def test_normal_form() -> None:
    """Nulls and empty lists are left out; times are in UTC."""
    one = artifact_handoff(
        {
            **LEAST,
            "blocked_on": [],
            "budget_remaining": {"tokens": None},
            "confidence": None,
            "deadline_checkback": {"deadline": "2026-01-02T01:00:00+01:00"},
        }
    )
    assert one.data == {
        **LEAST,
        "deadline_checkback": {"deadline": "2026-01-02T00:00:00.000000Z"},
    }


@pytest.mark.parametrize("missing", [*LEAST])
def test_what_is_required(missing: str) -> None:
    """Who, to whom, what and why are required."""
    with pytest.raises(UsageError, match=f"{missing}: it is missing"):
        artifact_handoff({**LEAST, missing: None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 1.5}, "confidence: 1.5 is out of bounds"),
        ({"confidence": -0.1}, "confidence: -0.1 is out of bounds"),
        ({"confidence": float("nan")}, "confidence: the number nan"),
        ({"confidence": True}, "confidence: it is true or false"),
        ({"task": ""}, "task: the text is empty"),
        ({"target_persona_or_human": "Ada"}, "target_persona_or_human: it is a text"),
        ({"target_persona_or_human": {"kind": "robot"}}, r"human\.kind: 'robot'"),
        ({"blocked_on": "x"}, "blocked_on: it is a text"),
        ({"budget_remaining": {"tokens": -1}}, r"remaining\.tokens: -1 is below 0"),
        ({"budget_remaining": {"euros": 1}}, r"remaining\.euros: nothing reads"),
        ({"deadline_checkback": {"deadline": "soon"}}, r"deadline: 'soon' is no time"),
        ({"receipt_links": [{"kind": "x", "run_id": "r"}]}, r"links\[0\]\.kind"),
        ({"taks": "x"}, "taks: .*did you mean task"),
    ],
)
def test_mistakes(change: dict[str, object], message: str) -> None:
    """Each mistake is refused with its place."""
    with pytest.raises(UsageError, match=message):
        artifact_handoff({**LEAST, **change})


def test_a_handoff_without_data() -> None:
    """Nothing is a handoff that does not say what one says."""
    with pytest.raises(UsageError, match=r"data\.source_persona: it is missing"):
        artifact_derive(artifact({}), "handoff", {"text": "please"})
