"""One edit of a graph: what was done, to what, by whom, and what it did to the document.

    graph.edits[0].op, graph.edits[0].node, graph.edits[0].field
    ('set_policy', 'act', 'retry_policy')
    graph.edits[0].patch       [{'op': 'add', 'path': '/nodes/act/retry_policy', …}]

Rule: an edit cannot be changed, and neither can its patch: each reading of it is a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as declared
from typing import cast

from muniment.encoding.canonical import JsonValue, parse

__all__ = ["WorkflowEdit"]


@dataclass(frozen=True, slots=True)
class WorkflowEdit:
    """What somebody did to a graph."""

    op: str
    """``insert_node``, ``replace_node``, ``remove_node``, ``rewire``, ``set_policy``, …."""
    before: str
    """The digest of the graph that was edited."""
    after: str
    """The digest of the graph that came of it."""
    patch_text: str = declared(repr=False)
    """The patch as canonical JSON."""
    node: str | None = None
    field: str | None = None
    """The member of the node, or of the graph, that was set."""
    reason: str = ""
    actor: str | None = None
    """Who edited it; None for whoever commits it."""

    @property
    def patch(self) -> list[dict[str, JsonValue]]:
        """RFC 6902: what leads from the document before to the one after."""
        return cast("list[dict[str, JsonValue]]", parse(self.patch_text.encode()))

    def document(self) -> dict[str, JsonValue]:
        """Return the edit as a JSON object, without what it does not say."""
        said: dict[str, JsonValue] = {
            "op": self.op,
            "node": self.node,
            "field": self.field,
            "before": self.before,
            "after": self.after,
            "patch": cast("JsonValue", self.patch),
            "reason": self.reason or None,
            "actor": self.actor,
        }
        return {name: one for name, one in said.items() if one is not None}
