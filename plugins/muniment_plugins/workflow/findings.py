"""Findings: what is wrong with a graph or its tools, as data.

    WorkflowFinding("TOOL_SURFACE_MISSING_SCHEMA", "warning", "nodes.act.tools.read",
                    "the parameters are not described", "give it parameters")

Rules:

- A code is stable; messages may become better.
- Errors make a graph invalid, warnings do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muniment.encoding.canonical import JsonValue

__all__ = ["FindingSeverity", "WorkflowFinding", "errors_among"]

FindingSeverity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, order=True)
class WorkflowFinding:
    """One thing that is wrong."""

    code: str
    """In capitals, such as ``FORK_UNSTRUCTURED``."""
    severity: FindingSeverity
    place: str
    """The key path in the document, such as ``nodes.act.tools``."""
    message: str
    remedy: str = ""

    def document(self) -> dict[str, JsonValue]:
        """Return the finding as a JSON object."""
        made: dict[str, JsonValue] = {
            "code": self.code,
            "severity": self.severity,
            "place": self.place,
            "message": self.message,
        }
        return {**made, "remedy": self.remedy} if self.remedy else made


def errors_among(findings: Iterable[WorkflowFinding]) -> tuple[WorkflowFinding, ...]:
    """Return those of *findings* that make a graph invalid."""
    return tuple(one for one in findings if one.severity == "error")
