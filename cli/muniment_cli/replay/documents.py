"""Which family a document is of: a flow of governance, or a graph of workflows.

Rule: its content says so, not its name: a flow has a ``flow_id``, a graph ``nodes`` or
``act``.
"""

from __future__ import annotations

from typing import Literal

from muniment.errors import UsageError
from muniment_cli.replay.graph_files import document_named
from muniment_cli.replay.graph_input import shown_name

__all__ = ["family_of"]

Family = Literal["flow", "graph"]
_OF_FLOWS = frozenset({"flow_id", "agents"})
_OF_GRAPHS = frozenset({"act", "nodes"})


def family_of(target: str) -> Family:
    """Return what the document in the file *target* is.

    Raises:
        UsageError: it cannot be read, or is neither, or could be both.

    """
    keys = document_named(target, "run").keys()
    flows, graphs = keys & _OF_FLOWS, keys & _OF_GRAPHS
    if bool(flows) != bool(graphs):
        return "flow" if flows else "graph"
    both = f"it has {min(flows)} and {min(graphs)}: that is" if flows else "it is"
    raise UsageError(
        f"{both} {'both a flow and a graph' if flows else 'neither a flow nor a graph'}",
        rule="run/document",
        place=shown_name(target),
        remedy="a flow has a flow_id; a graph has nodes, or act",
    )
