"""What a graph needs of where it runs, before anything of it is asked or paid for.

Rule: arguments are checked by jsonschema where a tool has parameters. The tools of a server
always have some; which, the server says when it is asked.
"""

from __future__ import annotations

from typing import cast

from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.subgraphs import graphs_in, with_bodies
from muniment_plugins.workflow.tools.registry import RegistryLike, registry_of
from muniment_plugins.workflow.tools.schemas import require_schemas

__all__ = ["require_needs"]


def require_needs(graph: WorkflowGraph) -> None:
    """Refuse to run *graph* where something is lacking that its nodes will need.

    Raises:
        CannotTellError: a tool has parameters, and jsonschema is not installed.

    """
    for one in graphs_in(graph):
        for node in one.nodes.values():
            for inner in with_bodies(node):
                given = cast("RegistryLike", inner.document.get("tools"))
                tools = registry_of(given).tools.values()
                at = inner.at.key("tools")
                if any(tool.parameters is not None for tool in tools):
                    require_schemas(f"{one.place}: {at.path}")
                elif inner.tool_servers:
                    at = inner.at.key("tool_servers")
                    require_schemas(f"{one.place}: {at.path}")
