"""One call of a model: what it is asked, and what it answered.

    "model_policy": {"provider": "openai", "model": "gpt-4o", "temperature": 0}

Rules:

- The prompt is the task, then what verifiers will hold it against, then the context, then
  what the node itself asks; each in an element of its own, with its text escaped.
- With a session, the prompt is the last message of its conversation.
- An answer that was cut off, filtered or paused is none, and neither is a refusal: a stage
  has failed then, as after a loop, and so has a verification.
- The call is an effect of the kind ``llm``. A provider answers, by the hook
  ``complete_prompt``, which is called inside of it: a replay asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from muniment.runs.waits.stand_ins import AnswerableRequest, completion
from muniment_plugins.workflow.agents.loop.endings import ENDINGS
from muniment_plugins.workflow.agents.loop.host import ModelCall
from muniment_plugins.workflow.documents.shapes import LOOP
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.runtime.failures import AgentStopped, WorkflowFailed
from muniment_plugins.workflow.runtime.half_answers import cut_short
from muniment_plugins.workflow.sessions.in_graphs import (
    prepared_session,
    session_findings,
)
from muniment_plugins.workflow.sessions.parts.calls import without_results
from muniment_plugins.workflow.stages.context import context_for
from muniment_plugins.workflow.stages.prompts import rendered_prompt

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode
    from muniment_plugins.workflow.runtime.seams import NodeVisit
    from muniment_plugins.workflow.runtime.stage_input import StageInput

__all__ = ["asked_model", "missing_model", "model_findings", "model_of", "prompt_of"]

_QUOTED = 300
"""Characters of a refusal that an error quotes; the answer has all of it."""
_SETTINGS = ("temperature", "max_tokens", "stream")


def model_of(node: WorkflowNode) -> str | None:
    """Return the model of *node* as ``provider:model``, None if it names none."""
    policy = node.part("model_policy")
    model, provider = policy.get("model"), policy.get("provider")
    if model is None:
        return None if provider is None else f"{provider}:default"
    return str(model) if provider is None else f"{provider}:{model}"


def model_findings(
    node: WorkflowNode, graph: WorkflowGraph
) -> Iterable[WorkflowFinding]:
    """Return what is wrong with the model of *node*, and with its session."""
    yield from session_findings(node, graph)
    if node.mode == "agent":
        if model_of(node) is None:
            yield WorkflowFinding(
                "MODEL_OPEN",
                "warning",
                node.at.key("model_policy").path,
                "it asks a model, and names none: so it cannot be run",
                'write {"provider": "openai", "model": "…"}',
            )
        return
    if model_of(node) is None:
        yield missing_model(node)
    for key in sorted(LOOP.keys() & node.part("model_policy").keys()):
        yield _inert(node.at.key("model_policy").key(key).path)
    for key in ("done_sentinel", "tool_servers"):
        if key in node.document:
            yield _inert(node.at.key(key).path)
    if "tools" in node.document:
        yield WorkflowFinding(
            "TOOLS_UNCALLED",
            "warning",
            node.at.key("tools").path,
            "one call of a model calls no tools",
            "leave them out, or write the mode agent",
        )


def missing_model(node: WorkflowNode) -> WorkflowFinding:
    """Return the finding that *node* names no model."""
    return WorkflowFinding(
        "MODEL_MISSING",
        "error",
        node.at.key("model_policy").path,
        "it asks a model, and names none",
        'write {"provider": "openai", "model": "…"}',
    )


def _inert(place: str) -> WorkflowFinding:
    return WorkflowFinding(
        "KEY_INERT",
        "error",
        place,
        "the model is asked once, and there is no loop",
        "leave it out, or write the mode agent",
    )


async def asked_model(
    here: NodeVisit, given: StageInput, *, speaks: bool = True
) -> object:
    """Return the text with which the model of the node answers.

    Its session comes before the prompt; if the node *speaks*, prompt and answer are added
    to the session.

    Raises:
        AgentStopped: it refused, or its answer is not whole.
        EffectFailed: the provider failed, or there is none for it.
        WorkflowFailed: its answer has no text.

    """
    node = here.node
    policy = node.part("model_policy")
    model = str(model_of(node))
    session = await prepared_session(here, model)
    prompt = prompt_of(node, given)
    asked: Mapping[str, object] = {"prompt": prompt}
    added = [{"role": "user", "content": prompt}]
    if session is not None:
        before = session.messages()
        added = [*without_results(before), *added]
        asked = {"messages": [*before, *added]}
    request = {
        "model": model,
        **asked,
        **({} if given.system is None else {"system": given.system}),
        **{name: policy[name] for name in _SETTINGS if name in policy},
    }
    call = ModelCall.of(here.lane, node.name)
    answer = await here.effect(
        "llm", AnswerableRequest(request, completion), call.perform
    )
    call.heard(answer)
    said = cast("Mapping[str, object]", answer)
    text = said.get("text")
    if not isinstance(text, str):
        raise WorkflowFailed(
            "the model's answer has no text", rule="workflow/answer", place=node.name
        )
    _require_whole(said, text, node.name)
    if session is not None and speaks:
        for message in (*added, _spoken(text, said)):
            session.inject(message)
    return text


def _require_whole(said: Mapping[str, object], text: str, place: str) -> None:
    """Refuse an answer that is none, or of which a part may be missing, as a loop does.

    Raises:
        AgentStopped: it is one.

    """
    cut = cut_short(said)
    if cut is None:
        return
    why, remedy = f"{cut}: {ENDINGS[cut].says}", ENDINGS[cut].remedy
    if text:
        why += f"; it said: {text[:_QUOTED]}"
    if isinstance(refusal := said.get("refusal"), str):
        why = f"the model refused: {refusal[:_QUOTED] or 'it gave no reason'}"
        remedy = "ask for something that it does not refuse, or ask another model"
    error = AgentStopped(why, rule="workflow/answer", place=place, remedy=remedy)
    error.reason = cut
    raise error


def _spoken(text: str, answer: Mapping[str, object]) -> dict[str, object]:
    """Return *answer* as a message, with all that is not its text apart."""
    rest = {name: one for name, one in answer.items() if name != "text" and one}
    message: dict[str, object] = {"role": "assistant", "content": text}
    return {**message, "provider_payload": rest} if rest else message


def prompt_of(node: WorkflowNode, given: StageInput) -> str:
    """Return what the model of *node* is asked for what it is *given*."""
    label = node.document.get("task_label")
    context = context_for(node, given.artifacts) if given.artifacts else ""
    return rendered_prompt(given, context, None if label is None else str(label))
