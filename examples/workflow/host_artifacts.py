"""What an editor hands over: files, selections, tests, changes and reviews, as artifacts.

python host_artifacts.py        hands over a change, and has it reviewed and decided on

Each helper knows the kind, the title and the weight of what it makes, and where it comes
from; a host writes no prompt. What reviews, decides and proposes names what it is about.
"""

from __future__ import annotations

import muniment
from muniment_plugins.workflow import (
    Artifact,
    StageInput,
    artifact_apply_intent,
    artifact_command_result,
    artifact_diff,
    artifact_diff_review,
    artifact_editor_selection,
    artifact_git_diff,
    artifact_handoff,
    artifact_patch_proposal,
    artifact_review_decision,
    artifact_test_result,
    artifact_verification_bundle,
    artifact_verification_result,
    artifact_workspace_file,
    artifact_workspace_snapshot,
    workflow_execute,
)

BEFORE = 'def parse(text):\n    raise ValueError("bad input")\n'
AFTER = BEFORE.replace("bad input", "expected a number")

# What the editor sees, and what its tools said.
file = artifact_workspace_file("parser.py", BEFORE)
snapshot = artifact_workspace_snapshot(["parser.py", "tests/"], "one module")
selection = artifact_editor_selection("parser.py", 'raise ValueError("bad input")')
tests = artifact_test_result("pytest", "1 failed: test_message")
command = artifact_command_result("ruff check .", {"exit_status": 0, "found": 0})
checks = artifact_verification_result("types", "no error in 1 file")
bundle = artifact_verification_bundle("before the change", [{"tests": 1, "ok": False}])

# The change, and what people and tools think of it.
change = artifact_diff("parser.py", BEFORE, AFTER)
pasted = artifact_git_diff("diff --git a/parser.py b/parser.py\n")
patch = artifact_patch_proposal(selection, change.body)
review = artifact_diff_review(change, "It says what was expected.")
decision = artifact_review_decision(review, "approved")
intent = artifact_apply_intent(change, "apply")
handoff = artifact_handoff(
    {
        "source_persona": "editor",
        "target_persona_or_human": {"kind": "human", "label": "Ann"},
        "task": "Release the change",
        "reason": "it was approved",
        "evidence_refs": [decision.id],
    }
)
HANDED_OVER = [
    *(file, snapshot, selection, tests, command, checks, bundle),
    *(change, pasted, patch, review, decision, intent, handoff),
]


def release(stage: StageInput) -> str:
    """Say what the stage was given, the weightiest first."""
    return ", ".join(one.kind for one in stage.artifacts)


def ancestors(one: Artifact) -> list[str]:
    """Return the kinds of what an artifact is about, the nearest last."""
    kinds = {known.id: known.kind for known in HANDED_OVER}
    return [kinds[known] for known in one.lineage]


GRAPH = {
    "nodes": {
        "release": {
            "handler": release,
            "context_policy": {
                "exclude_kinds": ["workspace_snapshot", "git_diff"],
                "max_artifacts": 6,
            },
        }
    }
}

if __name__ == "__main__":
    for one in HANDED_OVER:
        print(f"{one.priority:3} {one.kind}: {one.title}")
    print(f"the decision is about: {', '.join(ancestors(decision))}")
    print(change.body, end="")
    with muniment.open(create=True) as ledger:
        run = workflow_execute(ledger, "Release it", GRAPH, HANDED_OVER)
        print(f"{run.status}: {run.artifacts[-1].text}")
