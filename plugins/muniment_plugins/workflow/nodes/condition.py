"""``condition``: one of two ways on, by what the path has.

    {"kind": "condition", "metadata": {"contains_text": "panic"}}
    {"kind": "condition", "metadata": {"artifact_kind": "test_result"}}
    {"kind": "condition", "handler": "rules:is_small"}

Rules:

- Without a handler: whether there is an artifact, among those that are selected, that
  contains the given text and is of the given kind; of what is not given any will do.
- What the metadata gives for it is a text, and a handler decides alone.
- A handler is a function of the `StageInput` that returns true or false, and computes that
  from it alone: a replay calls it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from muniment.programs.awaiting import awaited
from muniment.programs.references import plain
from muniment_plugins.workflow.artifacts.plain_json import json_text
from muniment_plugins.workflow.documents.words import BRANCHES
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.work import given_to, inert
from muniment_plugins.workflow.runtime.failures import WorkflowFailed
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.own_context import apart
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.stages.outputs import require_inputs

if TYPE_CHECKING:
    from muniment_plugins.workflow.artifacts.artifact import Artifact
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = ["ConditionKind"]

_GIVEN = ("contains_text", "artifact_kind")
"""The members of the metadata that a condition reads."""
_NEAR = 0.8


class ConditionKind:
    """The kind ``condition``."""

    name = "condition"
    branches = BRANCHES["condition"]
    keys = frozenset({"handler", "context_policy", "capability_policy"})

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a condition: it does not lead on both ways."""
        yield from _given_findings(node)
        known = {one.branch for one in graph.out(node.name)}
        for branch in self.branches.success:
            if known.isdisjoint((*node.names_of(branch), "*")):
                yield WorkflowFinding(
                    "CONDITION_OPEN",
                    "error",
                    node.at.path,
                    f"no edge has the branch {branch}",
                    f'add {{"from": "{node.name}", "to": …, "branch": "{branch}"}}',
                )

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Decide."""
        given = here.select()
        require_inputs(here.node, given)
        answer = await self._holds(here, given)
        word = "true" if answer else "false"
        return NodeOutcome(word, f"condition_{word}")

    @staticmethod
    async def _holds(here: NodeVisit, given: list[Artifact]) -> bool:
        node = here.node
        if node.handler is not None:
            function = here.conduct.function(node.handler)
            work = given_to(here, given).copied()
            value = await awaited(apart(plain(function), work))
            if not isinstance(value, bool):
                raise WorkflowFailed(
                    f"its handler returned {value!r:.80}, and neither true nor false",
                    rule="workflow/condition",
                    place=node.name,
                )
            return value
        text, kind = (node.metadata.get(key) for key in _GIVEN)
        return any(
            (text is None or str(text) in one.body)
            and (kind is None or one.kind == kind)
            for one in given
        )


def _given_findings(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    """Return what is wrong with what the metadata asks for."""
    there, said = node.at.key("metadata"), node.metadata
    for key in _GIVEN:
        value, at = said.get(key), there.key(key)
        if value is not None and not isinstance(value, str):
            yield WorkflowFinding(
                "CONDITION_TYPE",
                "error",
                at.path,
                f"{json_text(value):.60} is no text",
                "write a text",
            )
        if value is not None and node.handler is not None:
            yield inert(at, "its handler decides alone")
    for key in said if node.handler is None else ():
        meant = [] if key in _GIVEN else get_close_matches(key, _GIVEN, 1, _NEAR)
        if meant:
            yield WorkflowFinding(
                "CONDITION_MISSPELLED",
                "warning",
                there.key(key).path,
                "a condition does not read it",
                f"did you mean {meant[0]}?",
            )
