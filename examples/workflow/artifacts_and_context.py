"""Artifacts as the boundary of a context: selected under a policy, each with a reason.

python artifacts_and_context.py        prints the context, and what stayed out of it
"""

from __future__ import annotations

from pathlib import Path

from muniment_plugins.workflow import artifact, artifact_context, artifact_derive

source = Path("parser.py")
source.write_text('def parse(text):\n    raise ValueError("bad input")\n')

selection = artifact(
    {
        "id": "code",
        "kind": "resource",
        "title": "Selected code",
        "text": source.read_text(),
        "source": "workspace",
        "relevance": 0.95,
    }
)
plan = artifact_derive(
    selection,
    "plan",
    {
        "id": "plan",
        "text": "Update the parser diagnostic wording and preserve spans.",
    },
)
log = artifact({"id": "log", "kind": "command_result", "text": "3 warnings"})

context = artifact_context(
    [selection, plan, log],
    {"include_kinds": ["resource", "plan"], "max_tokens": 1200},
)
print(context)
print()
print(f"{plan.id} comes from {', '.join(plan.lineage)}")
print(f"{context.selection.tokens} tokens of {context.selection.policy.budget}")
for one in context.selection.left_out:
    print(f"left out: {one.id}, by {one.reason}")
