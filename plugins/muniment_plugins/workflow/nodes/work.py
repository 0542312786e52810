"""The work of a node: a function, or one call of a model, tried as its policy says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from muniment.documents.places import At
from muniment.errors import EffectFailed
from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.agent import agent_findings, looped
from muniment_plugins.workflow.nodes.kind import MODEL_KEYS
from muniment_plugins.workflow.nodes.model import asked_model, model_findings
from muniment_plugins.workflow.runtime.failures import AgentStopped, StageFailed
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.runtime.stage_input import StageInput
from muniment_plugins.workflow.sessions.in_graphs import is_private

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = [
    "given_to",
    "inert",
    "kind_findings",
    "unasked_findings",
    "work_findings",
    "worked",
]


def work_findings(
    node: WorkflowNode, graph: WorkflowGraph
) -> Iterable[WorkflowFinding]:
    """Return what is wrong with how the work of *node* is declared."""
    if node.handler is not None and node.mode != "function":
        yield WorkflowFinding(
            "WORK_TWICE",
            "error",
            node.at.key("handler").path,
            f"it has a handler, and the mode {node.mode}: only one does the work",
            "leave one of them out",
        )
    if node.mode == "function" and node.handler is None:
        yield WorkflowFinding(
            "HANDLER_MISSING",
            "error",
            node.at.key("handler").path,
            "no function does the work",
            'write "module:function"',
        )
    elif node.mode is None:
        yield WorkflowFinding(
            "WORK_MISSING",
            "error",
            node.at.path,
            "nobody does its work",
            "name a handler, or write the mode llm or agent",
        )
    elif node.mode != "function":
        yield from model_findings(node, graph)
        if node.mode == "agent":
            yield from agent_findings(node)
    else:
        yield from unasked_findings(node)


def unasked_findings(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    """Return what *node* says of a model that nobody asks."""
    for key in sorted(MODEL_KEYS & node.document.keys()):
        why, remedy = "no model does its work", "leave it out, or write the mode llm"
        yield inert(node.at.key(key), why, remedy)
    if "output_visibility" in node.document and not is_private(node):
        why = "no model does its work, so nothing private is said beside it"
        yield inert(
            node.at.key("output_visibility"), why, "leave it out, or write private"
        )
    if node.part("input_contract").get("require_transcript"):
        yield WorkflowFinding(
            "SESSION_MISSING",
            "error",
            node.at.key("input_contract").key("require_transcript").path,
            "the node has no session that it could be about",
            "leave it out, or write the mode llm and a session_id",
        )


def inert(at: At, why: str, remedy: str = "leave it out") -> WorkflowFinding:
    """Return the finding about a key that nothing reads."""
    return WorkflowFinding("KEY_INERT", "error", at.path, why, remedy)


def kind_findings(node: WorkflowNode, at: At) -> Iterable[WorkflowFinding]:
    """Return whether the output kind that *node* states *at* a place breaks its contract."""
    kinds = node.output_contract.output_kinds
    if kinds and node.output_kind not in kinds:
        yield WorkflowFinding(
            "OUTPUT_KIND",
            "error",
            at.path,
            f"{node.output_kind} is none of those that its output_contract allows",
            f"write one of {', '.join(kinds)}",
        )


def given_to(here: NodeVisit, artifacts: Sequence[Artifact]) -> StageInput:
    """Return what the work of a visit is given."""
    said = here.node.document
    return StageInput(
        task=here.conduct.task,
        node=here.node.name,
        artifacts=tuple(artifacts),
        item=here.item,
        prompt=None if "prompt" not in said else str(said["prompt"]),
        system=None if "system" not in said else str(said["system"]),
        contracts=here.conduct.contracts_for(here.node),
        metadata=here.node.metadata,
    )


async def worked(
    here: NodeVisit, artifacts: Sequence[Artifact]
) -> tuple[object, BaseException | None]:
    """Return what the work came to, and what it failed by if it says that it failed.

    Raises:
        EffectFailed: it raised something else.

    """
    given, path = given_to(here, artifacts), here.node.handler

    async def once() -> object:
        if path is not None:
            return await here.conduct.call(here, path, given)
        return await asked_model(here, given)

    if here.node.mode == "agent":
        return await _looped(here, given)
    try:
        return await here.attempt(once), None
    except (StageFailed, AgentStopped) as failed:
        return None, failed
    except EffectFailed as failed:
        if failed.error_type != StageFailed.__name__:
            raise
        return None, failed


async def _looped(
    here: NodeVisit, given: StageInput
) -> tuple[object, BaseException | None]:
    """Return the last answer of a loop: its text, or an artifact with a value."""
    schema = here.node.output_contract.schema
    try:
        done = await looped(here, given, schema)
    except AgentStopped as stopped:
        return None, stopped
    if schema is None:
        return done.text, None
    title = f"{here.node.kind} {here.node.name} output"
    said = {"kind": here.node.output_kind, "title": title, "text": done.text}
    return artifact({**said, "data": done.value}), None
