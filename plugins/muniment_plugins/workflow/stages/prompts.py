"""The prompt of a stage: task, what verifiers will hold it against, context, question.

    <workflow_task>…</workflow_task>
    <workflow_verification>…</workflow_verification>
    <workflow_context>…</workflow_context>
    <workflow_response_contract>…</workflow_response_contract>

Rule: each text is escaped, so that no artifact can end its element or begin another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from muniment_plugins.workflow.artifacts.plain_json import json_text

if TYPE_CHECKING:
    from muniment_plugins.workflow.runtime.stage_input import StageInput

__all__ = ["rendered_prompt"]


def rendered_prompt(given: StageInput, context: str, label: str | None = None) -> str:
    """Return what a model is asked for a stage that is *given* this.

    Args:
        given: what the stage is given.
        context: the text of its artifacts; empty if there are none.
        label: what stands above the task.

    """
    task = given.task if label is None else f"{label}:\n{given.task}"
    parts = [("workflow_task", escape(task))]
    if given.contracts:
        said = [json_text(dict(one)) for one in given.contracts]
        parts.append(("workflow_verification", escape("\n".join(said))))
    if given.item is not None:
        parts.append(("workflow_item", escape(json_text(given.item))))
    if context:
        parts.append(("workflow_context", context))
    if given.prompt is not None:
        parts.append(("workflow_response_contract", escape(given.prompt)))
    return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in parts)
