r"""``reduce``: one artifact made of many.

    {"kind": "reduce", "reduce_policy": {"separator": "\n---\n"}}
    {"kind": "reduce", "handler": "reducers:merge"}

Rule: without a handler the texts of what is selected are joined, by a blank line unless
another separator is given. A handler is performed, as that of a stage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muniment_plugins.workflow.documents.words import BRANCHES
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.work import inert, kind_findings, worked
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.stages.outputs import made_of, require_inputs

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = ["ReduceKind"]

_OF_HANDLERS = ("retry_policy", "timeout_s", "capability_policy")
_BLANK_LINE = "\n\n"


class ReduceKind:
    """The kind ``reduce``."""

    name = "reduce"
    branches = BRANCHES["reduce"]
    keys = frozenset(
        {
            "reduce_policy",
            "handler",
            "context_policy",
            "retry_policy",
            "timeout_s",
            "capability_policy",
        }
    )

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a reduction: strategy and handler disagree."""
        del graph
        strategy = node.part("reduce_policy").get("strategy")
        if strategy is not None and (strategy == "function") != bool(node.handler):
            yield WorkflowFinding(
                "REDUCE_STRATEGY",
                "error",
                node.at.key("reduce_policy").key("strategy").path,
                f"the strategy is {strategy}, and "
                + ("a handler is named" if node.handler else "no handler is named"),
                "leave the strategy out",
            )
        policy = node.at.key("reduce_policy")
        yield from kind_findings(node, policy.key("output_kind"))
        if node.handler is not None and "separator" in node.part("reduce_policy"):
            yield inert(policy.key("separator"), "its handler makes one of all")
        for key in _OF_HANDLERS if node.handler is None else ():
            if key in node.document:
                yield inert(node.at.key(key), "no handler does its work")
        if not node.input_contract.input_kinds:
            yield WorkflowFinding(
                "REDUCE_INPUTS",
                "warning",
                node.at.key("input_contract").path,
                "it takes whatever there is",
                "say which by input_kinds",
            )

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Make one of all."""
        given = here.select()
        require_inputs(here.node, given)
        if here.node.handler is not None:
            value, failed = await worked(here, given)
            if failed is not None:
                raise failed
            return NodeOutcome("reduced", "reduced", made_of(here, value, given))
        separator = here.node.part("reduce_policy").get("separator", _BLANK_LINE)
        text = str(separator).join(one.body for one in given)
        return NodeOutcome("reduced", "reduced", [here.artifact(text, lineage=given)])
