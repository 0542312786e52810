"""What a kind of node is: its branches, the keys that it reads, and what it does.

    class Survey:
        name = "acme.survey"
        branches = Branches(("answered",), ("failed",))
        keys = frozenset({"prompt"})

        def findings(self, node, graph): return ()

        async def take(self, here):
            answer = await here.effect("acme.survey", {"prompt": …}, ask)
            return NodeOutcome("answered", "answered", [here.artifact(answer)])

Rules:

- A plugin adds kinds by the hook ``node_kinds``; their names have a dot.
- A kind works with effects and facts of its lane, as every program does. It keeps nothing
  between two visits.
- Its ``take`` is a coroutine. Where no handler of the graph must be awaited it is driven
  in a thread, so it awaits nothing but what its activation offers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from muniment_plugins.workflow.documents.words import Branches

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode
    from muniment_plugins.workflow.findings import WorkflowFinding
    from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
    from muniment_plugins.workflow.runtime.seams import NodeVisit

__all__ = ["COMMON_KEYS", "MODEL_KEYS", "WORK_KEYS", "NodeKind", "keys_of"]

COMMON_KEYS = frozenset(
    {
        "kind",
        "metadata",
        "branch_semantics",
        "max_visits",
        "input_contract",
        "output_contract",
    }
)
"""The keys that every kind reads; but forks and joins take and make nothing, and a
condition makes nothing."""
MODEL_KEYS = frozenset(
    {
        *("model_policy", "context_assembler", "task_label", "auto_compact"),
        *("done_sentinel", "tool_servers"),
    }
)
"""The keys that are read where a model does the work."""
WORK_KEYS = frozenset(
    {
        "mode",
        "handler",
        "prompt",
        "system",
        "tools",
        "context_policy",
        "retry_policy",
        "timeout_s",
        "capability_policy",
        "approval_policy",
        "output_visibility",
        *MODEL_KEYS,
    }
)
"""The keys of kinds whose work a function, or a model, does."""


class NodeKind(Protocol):
    """A kind of node."""

    @property
    def name(self) -> str:
        """What graphs call it."""
        ...

    @property
    def branches(self) -> Branches:
        """How its nodes can end."""
        ...

    @property
    def keys(self) -> frozenset[str]:
        """The keys of a node that it reads, apart from `COMMON_KEYS`."""
        ...

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a node of this kind."""
        ...

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Do what a visit of the node does."""
        ...


_CONTRACTS = frozenset({"input_contract", "output_contract"})


def keys_of(kind: NodeKind) -> frozenset[str]:
    """Return every key that a node of *kind* may have."""
    if kind.name in ("fork", "join"):
        return kind.keys | COMMON_KEYS - _CONTRACTS
    if kind.name == "condition":
        return kind.keys | COMMON_KEYS - {"output_contract"}
    return kind.keys | COMMON_KEYS
