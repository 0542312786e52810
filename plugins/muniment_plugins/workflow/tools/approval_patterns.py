"""Patterns of approval policies that decide nothing.

Rule: a pattern that matches no tool is found, and so is an ``auto_approve`` of which every
tool is denied, or waits for people, by another member of the same policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muniment.documents.places import near
from muniment_plugins.workflow.ceilings.approvals import ToolApprovalPolicy
from muniment_plugins.workflow.ceilings.names import matches_any, matches_name
from muniment_plugins.workflow.findings import WorkflowFinding

__all__ = ["approval_findings"]

_LISTS = ("auto_approve", "auto_deny", "require_approval")


def approval_findings(
    approvals: ToolApprovalPolicy, tools: Sequence[str], place: str
) -> Iterator[WorkflowFinding]:
    """Yield what is odd about the patterns of *approvals*, which is at *place*.

    Args:
        approvals: the policy, with those beside it.
        tools: the names of the tools that it is about.
        place: its key path.

    """
    for policy in (approvals, *approvals.also):
        stricter = (*policy.auto_deny, *policy.require_approval)
        for member in _LISTS:
            patterns: tuple[str, ...] = getattr(policy, member)
            for one in patterns:
                matched = [name for name in tools if matches_name(one, name)]
                at = f"{place}.{member}"
                if not matched:
                    yield WorkflowFinding(
                        "TOOL_SURFACE_APPROVAL_PATTERN_NO_MATCH",
                        "warning",
                        at,
                        f"{one} matches no tool",
                        near(one, tools),
                    )
                elif member == _LISTS[0] and all(
                    matches_any(stricter, name) for name in matched
                ):
                    yield WorkflowFinding(
                        "TOOL_SURFACE_APPROVAL_OVERRULED",
                        "warning",
                        at,
                        f"{one} approves nothing: the same policy denies it, or lets it "
                        "wait for people, and the stricter answer counts",
                        "leave it out, or narrow require_approval or auto_deny",
                    )
