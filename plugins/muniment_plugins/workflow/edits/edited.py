"""A graph with one more edit: the step that every editing function ends in.

Rules:

- A graph is never changed. What is new is brought into the normal form, so a mistake of
  form is refused before there is an edit.
- What changes nothing is no edit: the graph stays as it is.
- Edits carry digests and patches, which a commit performs again: what does not lead from
  the one to the other is not committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment_plugins.workflow.documents.edit import WorkflowEdit
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.edits.differences import patch_between
from muniment_plugins.workflow.edits.patches import own_copy

__all__ = [
    "EditNote",
    "edit_between",
    "edited",
    "parts_of",
    "require_node",
    "with_edit",
]

_LISTED = 50
"""More names than these help nobody."""


@dataclass(frozen=True, slots=True)
class EditNote:
    """What an edit says of itself."""

    op: str
    node: str | None = None
    field: str | None = None
    reason: str = ""
    actor: str | None = None


def require_node(graph: WorkflowGraph, name: object) -> None:
    """Refuse the *name* of a node that is not there.

    Raises:
        UsageError: no node of *graph* has it.

    """
    if name not in graph.nodes:
        known = sorted(graph.nodes)[:_LISTED]
        at = At(graph.place, "workflow").key("nodes")
        message = f"no node is called {name!r:.80}"
        raise at.wrong(message, "node-unknown", near(str(name), known))


def parts_of(graph: WorkflowGraph) -> dict[str, object]:
    """Return the document of *graph*, of which each part may be changed."""
    return cast("dict[str, object]", own_copy(dict(graph.document)))


def edited(
    graph: WorkflowGraph, document: Mapping[str, object], note: EditNote
) -> WorkflowGraph:
    """Return the graph in *document*, which was made of *graph*.

    Raises:
        UsageError: the document has a mistake of form.

    """
    made = WorkflowGraph.from_document(document, graph.place, graph.functions)
    return with_edit(graph, made, note)


def with_edit(
    graph: WorkflowGraph, made: WorkflowGraph, note: EditNote
) -> WorkflowGraph:
    """Return *made* with the edits of *graph*, and the one that leads from it."""
    if made.digest == graph.digest:
        return graph
    edit = edit_between(graph.document, made.document, note)
    base = graph.document if graph.base is None else graph.base
    return replace(made, edits=(*graph.edits, edit), base=base)


def edit_between(
    before: Mapping[str, JsonValue] | None,
    after: Mapping[str, JsonValue],
    note: EditNote,
) -> WorkflowEdit:
    """Return the edit that leads from one document to another; None is no document."""
    old = None if before is None else dict(before)
    patch = patch_between(old, dict(after))
    return WorkflowEdit(
        op=note.op,
        before=sha256_tag(canonical(old)),
        after=sha256_tag(canonical(dict(after))),
        patch_text=canonical(cast("JsonValue", patch)).decode(),
        node=note.node,
        field=note.field,
        reason=note.reason,
        actor=note.actor,
    )
