"""What a node works on: chosen from what its path has, with the reasons for the rest.

Rules:

- What a node is given is what is rendered and recorded, no more and no less: one selection,
  stated once, is used for all of it.
- A ``context_assembler`` cuts what a model is shown into chunks. A handler gets whole
  artifacts, so a node with a handler has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.runs.run import Run
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.assembled import AssembledContext
from muniment_plugins.workflow.artifacts.context.assembly import assemble_context
from muniment_plugins.workflow.artifacts.context.context_fact import chunks_fact
from muniment_plugins.workflow.artifacts.context.pool import ArtifactPool
from muniment_plugins.workflow.artifacts.context.rendering import (
    render_artifacts,
    render_chunks,
)
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.vocabulary import EngineFact

__all__ = ["context_for", "selected_for"]

_HANDS_ON = ("map", "subagent")
"""Kinds that have the model asked somewhere else, where the context is stated again."""


def selected_for(lane: Run, node: WorkflowNode, pool: ArtifactPool) -> list[Artifact]:
    """Return what *node* works on of its path's *pool*, and state it in *lane*."""
    selected, fact = pool.context(node.context)
    cut = None if node.kind in _HANDS_ON else _cut(node, selected)
    more = {} if cut is None else {"assembled": chunks_fact(cut)}
    said = EngineFact(node=node.name, **fact, **more)
    lane.record("context.selected", said)
    return list(selected)


def context_for(node: WorkflowNode, artifacts: Sequence[Artifact]) -> str:
    """Return the text by which the model of *node* is shown *artifacts*."""
    form, cut = node.context.render, _cut(node, artifacts)
    if cut is not None:
        return render_chunks(cut.chunks, form)
    return render_artifacts(artifacts, form)


def _cut(node: WorkflowNode, artifacts: Sequence[Artifact]) -> AssembledContext | None:
    """Return *artifacts* in chunks, if *node* wants that."""
    said = node.document.get("context_assembler")
    return None if said is None else assemble_context(artifacts, said)
