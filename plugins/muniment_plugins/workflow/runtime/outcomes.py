"""How a visit of a node ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment_plugins.workflow.artifacts.artifact import Artifact

__all__ = ["NodeOutcome"]


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """How a node ended."""

    branch: str
    outcome: str
    """The word of the record: ``success``, ``verified``, ``mapped``, …."""
    artifacts: Sequence[Artifact] = ()
    """What it made itself."""
    passed_on: Sequence[Artifact] = ()
    """What visits below this one made, and recorded."""
    cause: BaseException | None = None
    """What it failed by, if the branch is one of failure."""
