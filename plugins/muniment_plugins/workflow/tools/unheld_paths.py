"""Tools of which nobody knows what they read and write, where paths are limited.

Rule: only what a tool states as its ``path_params`` is held to ``workspace_roots`` and to a
``write_path_allowlist``. A tool that touches files, or may, and states none is found: the
roots hold nothing of it, and under an allowlist each of its calls is denied. A graph is
told by its validation; a loop in a program, and one whose tools come from servers, warns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from muniment_plugins.workflow.ceilings.annotations import strictest
from muniment_plugins.workflow.ceilings.approvals import ToolApprovalPolicy
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.tools.registry import ToolRegistry

__all__ = ["UnheldPathsWarning", "unheld_findings", "warn_of_unheld"]

_CALLER = 2


class UnheldPathsWarning(UserWarning):
    """Paths are limited, and nobody knows which arguments of a tool are paths."""


def warn_of_unheld(
    tools: ToolRegistry,
    limits: Sequence[CapabilityPolicy],
    approvals: ToolApprovalPolicy,
    owner: str,
) -> None:
    """Warn of each of *tools*, those of *owner*, whose paths nothing holds."""
    for one in unheld_findings(tools, limits, approvals, lambda name: name):
        said = f"{owner}: {one.message} [{one.code}]; {one.remedy}"
        warnings.warn(said, UnheldPathsWarning, stacklevel=_CALLER)


def unheld_findings(
    tools: ToolRegistry,
    limits: Sequence[CapabilityPolicy],
    approvals: ToolApprovalPolicy,
    place_of: Callable[[str], str],
) -> Iterator[WorkflowFinding]:
    """Yield a warning for each tool whose paths are limited, and known to nobody.

    Args:
        tools: the tools of a node.
        limits: the policies that they are held to.
        approvals: the approval policies that they are held to.
        place_of: gives the place of a tool.

    """
    rooted = any(one.workspace_roots is not None for one in limits)
    listed = any(
        one.write_path_allowlist is not None for one in (approvals, *approvals.also)
    )
    for name, tool in tools.tools.items():
        stated = [one.label_of(name) for one in limits]
        label = reduce(strictest, stated, tool.label).settled()
        if label.path_params or label.level == "none":
            continue
        if rooted:
            yield WorkflowFinding(
                "TOOL_SURFACE_ROOTS_NO_PATHS",
                "warning",
                place_of(name),
                f"no argument of {name} is held to the workspace_roots",
                "name its path_params, or run it in a capsule",
            )
        if listed and label.mutation_class != "read_only":
            yield WorkflowFinding(
                "TOOL_SURFACE_ALLOWLIST_NO_PATHS",
                "warning",
                place_of(name),
                f"{name} gives no path to hold to the write_path_allowlist: each call "
                "is denied",
                "name its path_params, or leave the tool out",
            )
