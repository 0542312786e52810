"""What is wrong with a graph, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment_plugins.workflow.findings import WorkflowFinding

__all__ = ["finding_line"]


def finding_line(file: str, found: WorkflowFinding) -> str:
    """Return what was *found* in a *file*: where, what, code and remedy."""
    remedy = f"; {found.remedy}" if found.remedy else ""
    place = f"{file}: {found.place}" if found.place else file
    return f"{place}: {found.message} [{found.code}]{remedy}"
