"""Forks: branches at once, and the join that closes them.

Rules:

- Each branch has a scope of its own, ``<fork>.<visit>/<first node>``.
- ``all`` waits for every branch, ``first`` and ``quorum`` for as many successes as they
  need; a branch that a condition ended before its join counts for neither.
- If fewer succeeded than the join needs, it ends in ``failed``; what the others made is
  kept.
- What a join states is in the scope of the path, which is around those of the branches: so
  a resume that performs a failed branch again takes back how the join had ended.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import JoinPolicy, WorkflowNode
from muniment_plugins.workflow.documents.structure import Structure
from muniment_plugins.workflow.runtime.branching import Branching, at_once
from muniment_plugins.workflow.runtime.lanes import (
    CancelledPath,
    FailedPath,
    FinishedPath,
    Lanes,
)
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.paths import GraphPath
from muniment_plugins.workflow.stages.outputs import require_visit
from muniment_plugins.workflow.vocabulary import EngineFact

__all__ = ["GraphWalker", "taken_fork"]


class GraphWalker(Protocol):
    """What walks a graph."""

    @property
    def graph(self) -> WorkflowGraph:
        """The graph."""
        ...

    @property
    def structure(self) -> Structure:
        """Where its branches meet."""
        ...

    @property
    def lanes(self) -> Lanes:
        """What runs branches at once."""
        ...

    async def walk(
        self, path: GraphPath, first: str, cause: str | None, until: str | None = None
    ) -> bool:
        """Follow *path* from the node *first*; tell whether it met the node *until*."""
        ...


async def taken_fork(
    conduct: GraphWalker, path: GraphPath, fork: WorkflowNode, cause: str | None
) -> tuple[WorkflowNode, NodeOutcome] | None:
    """Take all branches of *fork*; return its join and how that ended, if it has one.

    Raises:
        WorkflowFailed: a branch failed, and there is no join.

    """
    visit = path.visit(fork.name)
    join = conduct.structure.join_of(fork.name)
    lane = path.lane.scope(f"{fork.name}.{visit}")
    said = EngineFact(node=fork.name, kind="fork", visit=visit, cause=cause)
    lane.record("node.activated", said)
    require_visit(fork, visit)
    targets = [one.target for one in conduct.graph.out(fork.name)]
    ended = {"status": "completed", "outcome": "forked", "branch": "fork"}
    lane.record("node.completed", EngineFact(node=fork.name, visit=visit, **ended))
    for target in targets:
        taken = EngineFact(
            source=fork.name, target=target, branch="fork", matched="default"
        )
        lane.record("transition.taken", taken)
    policy = JoinPolicy() if join is None else conduct.graph.nodes[join].join
    work = partial(_branch, conduct, fork.name, join)
    came = await at_once(conduct.lanes, path, lane, targets, policy, work)
    path.take_over([came.paths[one] for one in came.names(FinishedPath)])
    error = came.failure()
    if join is None:
        if error is not None:
            raise error
        return None
    return _joined(path, conduct.graph.nodes[join], fork.name, came)


async def _branch(
    conduct: GraphWalker, fork: str, join: str | None, path: GraphPath, name: str
) -> bool:
    return await conduct.walk(path, name, fork, join)


def _joined(
    path: GraphPath,
    join: WorkflowNode,
    cause: str,
    came: Branching,
) -> tuple[WorkflowNode, NodeOutcome] | None:
    """State what came to the *join*; None if every branch ended before it."""
    finished = [
        (name, end) for name, end in came.ended.items() if isinstance(end, FinishedPath)
    ]
    arrived = [name for name, end in finished if end.value]
    dead = [name for name, end in finished if not end.value]
    failed = came.names(FailedPath)
    if not arrived and not failed:
        return None
    policy, visit = join.join, path.visit(join.name)
    needed = policy.needed(len(arrived) + len(failed))
    path.steps += 1
    lane = path.lane
    said = EngineFact(node=join.name, kind="join", visit=visit, cause=cause)
    lane.record("node.activated", said)
    require_visit(join, visit)
    ends = EngineFact(
        node=join.name,
        strategy=policy.strategy,
        arrived=arrived,
        dead=dead,
        failed=failed,
        cancelled=came.names(CancelledPath),
    )
    lane.record("branches.joined", ends)
    good = len(arrived) >= needed
    outcome = NodeOutcome(
        "join" if good else "failed",
        "joined" if good else "failed",
        cause=None if good else came.failure(),
    )
    ended = EngineFact(
        node=join.name,
        visit=visit,
        status="completed" if good else "failed",
        outcome=outcome.outcome,
        branch=outcome.branch,
    )
    lane.record("node.completed", ended)
    return join, outcome
