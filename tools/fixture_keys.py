"""What docs/reference/evals.md says of the keys of a fixture: `evals_page`.

Rule: a key is there once, with what holds without it, and in one line what it means.
"""

from __future__ import annotations

from workflow_keys import Lines

__all__ = [
    "BELOW_LINES",
    "CALL_LINES",
    "EFFECT_LINES",
    "FIXTURE_LINES",
    "OPTIONS_LINES",
    "STAGE_LINES",
]

FIXTURE_LINES: Lines = {
    "_type": ("", "says that it is a fixture"),
    "schema_version": ("1", "goes up when a field changes its meaning"),
    "id": ("`fixture`", "the name of the case"),
    "source_run_id": (
        "none",
        "the run that it was made of, or the beginning of its id: held to that it proves nothing",
    ),
    "workflow_id": ("none", "the graph has this name"),
    "workflow_name": ("none", "what the run was called; nothing is held to it"),
    "created_at": ("none", "when the run had ended; nothing is held to it"),
    "eval_kind": ("`replay`", "whether stages are held, or questions, too"),
    "clarifying_question": ("none", "what people have to be asked"),
    "expected_status": ("none", "how the run ends"),
    "graph": ("none", "SHA-256 of the graph that the run walks"),
    "task": ("none", "digest of the task; null if it was erased: nobody can tell"),
    "published": ("none", "digests of what the run last published, by name"),
    "options": ("none", "what the run was held to"),
    "complete": (
        "false",
        "a stage, or a run below, that it does not name is a failure",
    ),
    "stage_assertions": ("none", "what stages have to be"),
    "runs_below": ("none", "what the runs below have to be, by their calls"),
    "normaliser": ("that of the suite", "by what its digests were made"),
    "source": ("none", "the run that it was made of, with its last event (`head`)"),
    "notes": ("none", "whatever people say of it"),
}
STAGE_LINES: Lines = {
    "node_id": ("", "the node"),
    "id": ("none", "the stage, by the scope of its visit: `fork.1/lint/lint.1`"),
    "visit": ("none", "how often the path had come to the node"),
    "kind": ("none", "the kind of the node"),
    "expected_status": ("none", "`completed`, `failed`, …"),
    "expected_outcome": ("none", "the word of its kind"),
    "expected_branch": ("none", "the branch that it ends in"),
    "expected_attempts": ("none", "how many attempts there were"),
    "required_artifact_kinds": ("none", "kinds of what it made"),
    "visible_text_contains": ("none", "a text that one of its texts has in it"),
    "expected_calls": ("none", "the calls of tools, each of them, in their order"),
    "expected_effects": ("none", "the other effects and decisions, in their order"),
    "digests": (
        "none",
        "of what it made and worked on, its error, its verification, its `definition` and `function`",
    ),
}
CALL_LINES: Lines = {
    "status": ("", "`done`, `failed`, `denied`, `waiting` for people, or `open`"),
    "tool": ("none", "its name"),
    "code": ("none", "why it was denied"),
    "place": ("none", "what decided that"),
    "arguments": ("any", "digest of the arguments; null if they were erased"),
    "hidden": ("none", "`private`: what a private stage called in vain"),
}
EFFECT_LINES: Lines = {
    "kind": ("", "its kind: `data`, `command`, …; `decision` of people"),
    "status": ("", "`done`, `failed` or `open`; of a decision its outcome"),
    "request": ("any", "digest of the request, or the question; null if it was erased"),
}
OPTIONS_LINES: Lines = {
    "ceiling": ("none", "digest of the ceiling"),
    "approval_policy": ("none", "digest of the approval policy"),
    "max_steps": ("none", "how many steps it had; not where `graph` is left out"),
}
BELOW_LINES: Lines = {
    "call": ("", "the scope of the call; the second one there is `act.1#2`"),
    "workflow_id": ("none", "the graph, or the program, has this name"),
    "expected_status": ("none", "how the run ends"),
    "graph": ("none", "SHA-256 of the graph, or of the name of the program"),
    "task": ("none", "digest of the task, or of the params of a program"),
    "published": ("none", "digests of what it last published, by name"),
    "options": ("none", "what it was held to"),
    "complete": ("false", "as in a fixture"),
    "stage_assertions": (
        "none",
        "what its stages have to be; texts are not looked for",
    ),
    "runs_below": ("none", "what the runs below it have to be"),
}
