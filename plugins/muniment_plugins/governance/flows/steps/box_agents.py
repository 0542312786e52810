"""The agents in the box: ``echo``, which computes nothing, and ``llm``, which asks.

    "parts": {"reader": "echo",
              "writer": {"agent": "llm", "model": "openai:gpt-4o", "prompt": "Sum up."}}

Rules:

- ``echo`` returns what it was given.
- ``llm`` returns the text of the answer; what a fallback gives in its place as it is.
- ``llm`` asks one question, an effect of the kind ``llm``: whichever plugin knows the
  provider answers it, and budgets count it as they count anybody's.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import cast

from muniment.errors import CannotTellError
from muniment.programs.awaiting import settled
from muniment.programs.stable_names import stable_name
from muniment.runs.run import Run, current_run
from muniment.runs.waits.stand_ins import AnswerableRequest, completion
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.flows.steps.task import FlowTask

__all__ = ["BOX", "echo", "llm", "question"]

_QUOTED = 300
"""Characters of a refusal that an error quotes; the answer has all of it."""


@stable_name("muniment:echo/1")
def echo(run: Run, task: FlowTask) -> object:
    """Return what the step was given."""
    del run
    return task.inputs


@stable_name("muniment:llm/1")
def llm(run: Run, task: FlowTask) -> object:
    """Return the text of a model's answer to the step's prompt and inputs."""
    answer = run.effect("llm", AnswerableRequest(question(task), _read), _complete)
    if not isinstance(answer, Mapping):
        return answer  # of a fallback: nothing, or a value of its own
    told = cast("Mapping[str, object]", answer)
    if isinstance(refusal := told.get("refusal"), str):
        raise FlowFailed(
            f"the model refused: {refusal[:_QUOTED] or 'it gave no reason'}",
            rule="flow/llm",
            place=str(task.model),
            remedy="ask for something that it does not refuse, or ask another model",
        )
    return told["text"]


def _read(value: object) -> object:
    return (
        value if not isinstance(value, Mapping) else completion(cast("object", value))
    )


BOX = {"echo": echo, "llm": llm}
"""The agents in the box, by the names that manifests have for them."""


def question(task: FlowTask) -> dict[str, object]:
    """Return the request to the model: its name and the messages."""
    shown: dict[str, object] = {"inputs": task.inputs}
    if task.evidence:
        shown["evidence"] = [
            {"evidence_id": one.evidence_id, "content": one.content}
            for one in task.evidence
        ]
    text = json.dumps(shown, ensure_ascii=False, sort_keys=True, default=repr)
    system = [{"role": "system", "content": task.prompt}] if task.prompt else []
    return {
        "model": task.model,
        "messages": [*system, {"role": "user", "content": text}],
    }


def _complete(request: object) -> dict[str, object]:
    asked = cast("Mapping[str, object]", request)
    try:
        given = settled(current_run().hook("complete_prompt", request=asked))
    except CannotTellError as error:
        if error.rule != "plugin/unanswered":
            raise
        raise CannotTellError(
            "no provider answers for this model",
            rule="flow/llm",
            place=str(asked["model"]),
            remedy="see the part before the colon, and `muniment plugins`",
        ) from error
    answer = cast("Mapping[str, object]", given)
    if inspect.isawaitable(given) or not isinstance(answer.get("text"), str):
        raise FlowFailed(
            "the model answered without a text",
            rule="flow/llm",
            place=str(asked["model"]),
            remedy="ask for a completion in words",
        )
    return dict(answer)
