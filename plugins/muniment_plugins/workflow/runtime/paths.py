"""A path through a graph: what it has seen so far, and how far it may go.

Rules:

- A branch begins with what its fork had, and hands back what it added; nothing is shared.
- Artifacts are merged in the order of the edges, whichever branch was first.
- Visits are counted along a path: a branch, whose scope is its own, counts from one.
- Steps are counted along a path, so that the count is the same in every run: a branch
  begins with those of its fork, and where branches meet, what each of them took is added
  up. So are the steps that people allowed in a branch. A map is one step, whatever its
  items are, and so is a subagent, whose child counts its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from muniment.runs.run import Run
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.pool import ArtifactPool
from muniment_plugins.workflow.runtime.lanes import Stop

if TYPE_CHECKING:
    from muniment_plugins.workflow.sessions.inside import RunSession

__all__ = ["GraphPath"]


@dataclass(slots=True)
class GraphPath:
    """One path."""

    lane: Run
    pool: ArtifactPool
    """The artifacts that it has."""
    began: datetime
    """When the run began, by its record."""
    limit: int
    """How many steps it may take before people are asked."""
    stop: Stop = field(default_factory=Stop)
    made: list[Artifact] = field(default_factory=list[Artifact])
    """Those that it added itself, in their order."""
    steps: int = 0
    visits: dict[str, int] = field(default_factory=dict[str, int])
    unverified: dict[str, str] = field(default_factory=dict[str, str])
    """Place of a verification that failed when it was last visited → its node."""
    is_main: bool = True
    """Whether it is no branch of another path."""
    in_race: bool = False
    """Whether the path is within an effect, where people cannot be asked."""
    outer: GraphPath | None = None
    """The path that it is a branch of."""
    sessions: dict[str, RunSession] = field(default_factory=dict["str", "RunSession"])
    """Those that it writes: the id that nodes name → the session, or this path's fork."""

    def visit(self, node: str) -> int:
        """Count a visit of *node*, and return its number."""
        self.visits[node] = number = self.visits.get(node, 0) + 1
        return number

    def add(self, artifacts: Sequence[Artifact]) -> None:
        """Add what was made on it."""
        self.pool.extend(artifacts)
        self.made += artifacts

    def branch(self, lane: Run, stop: Stop, *, in_race: bool = False) -> GraphPath:
        """Return a path of its own, in *lane*, that begins where this one is."""
        return GraphPath(
            lane,
            self.pool.branch(),
            self.began,
            self.limit,
            stop,
            steps=self.steps,
            unverified=dict(self.unverified),
            is_main=False,
            in_race=in_race or self.in_race,
            outer=self,
        )

    def take_over(self, branches: Sequence[GraphPath]) -> None:
        """Add what *branches* found, in their order."""
        began, allowed = self.steps, self.limit
        for branch in branches:
            self.add(branch.made)
            self.steps += branch.steps - began
            self.limit += branch.limit - allowed
        self.take_verdicts(branches)

    def take_verdicts(self, branches: Iterable[GraphPath]) -> None:
        """Hold as failed what failed in *branches*, and no more what passed there."""
        before = frozenset(self.unverified)
        for branch in branches:
            for place in before - branch.unverified.keys():
                self.unverified.pop(place, None)
            for place, node in branch.unverified.items():
                if place not in before:
                    self.unverified[place] = node
