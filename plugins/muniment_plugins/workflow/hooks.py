"""The hooks of workflows that other plugins may implement.

A plugin that does so marks its functions with ``hookimpl(optionalhook=True)``, so that it
loads where workflows are not active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment import hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muniment_plugins.workflow.nodes.kind import NodeKind

__all__ = ["WorkflowHooks"]


class WorkflowHooks:
    """What plugins may add to workflows."""

    @hookspec
    def node_kinds(self) -> Iterable[NodeKind]:  # type: ignore[empty-body]
        """Return kinds of nodes; their names have a dot, as in ``acme.survey``."""
