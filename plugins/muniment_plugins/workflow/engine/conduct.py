"""Conducting a run of a graph: its paths, its forks, and where they meet.

    workflow.started
    act.1           node.activated, …, node.completed
                    transition.taken
    fork.1/lint     lint.1 …
    fork.1/test     test.1 …
                    branches.joined

Rules:

- One path has one node at a time. A fork opens a path for each of its edges, and goes on
  where they meet; all that was left open is closed before a node ends.
- An edge with the label of the branch is taken; else one with ``*``; else, if the branch
  means success, one without a label. A failure that no edge takes ends the path, and the
  run, if it is not in a branch that its join can do without.
- A run is complete if every path that its result comes from came to a good end, and no
  verification on these paths had failed when it was last visited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment.programs.references import Function
from muniment.runs.run import Run
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.ceilings.approvals import ToolApprovalPolicy
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy
from muniment_plugins.workflow.contracts.commands import Workplace
from muniment_plugins.workflow.contracts.verifier import VerifierContract
from muniment_plugins.workflow.documents.graph import WorkflowEdge, WorkflowGraph
from muniment_plugins.workflow.documents.matching import taken
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.structure import Structure
from muniment_plugins.workflow.documents.subgraphs import with_bodies
from muniment_plugins.workflow.documents.words import ERROR
from muniment_plugins.workflow.engine.activation import NodeActivation
from muniment_plugins.workflow.engine.deliveries import deliver, end_of_mail
from muniment_plugins.workflow.engine.forks import taken_fork
from muniment_plugins.workflow.engine.options import WorkflowOptions
from muniment_plugins.workflow.mailbox.box import RunMailbox
from muniment_plugins.workflow.nodes.kind import NodeKind
from muniment_plugins.workflow.runtime.artifact_rows import ContextDigests
from muniment_plugins.workflow.runtime.failures import (
    SAID_OF_THE_RUN,
    GoesOnAsNew,
    PathStopped,
    WorkflowFailed,
    failure_of,
    halts,
    said_by,
)
from muniment_plugins.workflow.runtime.lanes import Lanes
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.paths import GraphPath
from muniment_plugins.workflow.runtime.seams import ChildWorkflow, NodeVisit
from muniment_plugins.workflow.sessions.in_graphs import is_private, join_sessions
from muniment_plugins.workflow.stages.calls import HandlerCalls
from muniment_plugins.workflow.stages.outputs import (
    require_outputs,
    require_own_ids,
    require_visit,
)
from muniment_plugins.workflow.stages.permissions import (
    NodePermissions,
    permissions_of,
)
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment_plugins.workflow.runtime.stage_input import StageInput
    from muniment_plugins.workflow.sessions.inside import Effects

__all__ = ["WorkflowConduct"]

MakesChild = Callable[
    [NodeVisit, Sequence[Artifact], CapabilityPolicy, ToolApprovalPolicy | None],
    ChildWorkflow,
]

_VISIT = re.compile(r"\.\d+(?=/|$)")
"""What a scope has of visits: a verifier is the same, however often a loop comes to it."""
_SCOPE = "workflow_verification_scope"
"""The member of a node's metadata by which it is told of no verifiers but its own."""


@dataclass(slots=True)
class WorkflowConduct:
    """Walks one graph in one run."""

    graph: WorkflowGraph
    task: str
    options: WorkflowOptions
    kinds: Mapping[str, NodeKind]
    structure: Structure
    lanes: Lanes
    calls: HandlerCalls
    began: datetime
    contracts: Mapping[str, VerifierContract]
    """Key path of a verifier → what it checks."""
    child: MakesChild
    place: Workplace
    """Where commands run, and paths begin."""
    host: Mapping[str, JsonValue]
    """What the host states about tools."""
    mailbox: RunMailbox
    """What waits for the run."""
    prefix: str = ""
    """What the ids of artifacts begin with."""
    may_continue: bool = True
    """Whether the run may go on as new: nobody waits for what it returns."""
    digests: ContextDigests = field(default_factory=ContextDigests)

    def function(self, path: str) -> Function:
        """Return the function that a node names by its import *path*."""
        return self.calls.functions[path]

    def digest_of(self, artifacts: Sequence[Artifact]) -> str:
        """Return SHA-256 over the ids and digests of *artifacts*, in their order."""
        return self.digests.of(artifacts)

    def is_good(self, node: WorkflowNode, branch: str) -> bool:
        """Tell whether a *branch* of *node* means success."""
        return branch in self.kinds[node.kind].branches.success

    async def call(self, here: NodeVisit, path: str, given: StageInput) -> object:
        """Return what the handler at *path* makes of what it is *given*.

        Raises:
            EffectFailed: it raised.

        """
        return await self.calls.work(here, path, given)

    def contracts_for(self, node: WorkflowNode) -> tuple[Mapping[str, JsonValue], ...]:
        """Return what those who do the work of *node* are told of its verifiers."""
        if node.metadata.get(_SCOPE) == "local_only":
            return ()
        return tuple(one.told() for one in self.contracts.values())

    async def walk(
        self, path: GraphPath, first: str, cause: str | None, until: str | None = None
    ) -> bool:
        """Follow *path* from the node *first*; tell whether it met the node *until*.

        Raises:
            WorkflowFailed: a node failed, and no edge takes that.

        """
        name: str | None = first
        while name is not None:
            if name == until:
                return True
            path.stop.check()
            self._count_step(path, name)
            node = self.graph.nodes[name]
            if node.kind == "fork":
                came = await taken_fork(self, path, node, cause)
                if came is None:
                    return False
                node, outcome = came
            else:
                outcome = await self.activate(path, node, cause)
            name, cause = self._next(path, node, outcome), node.name
        return False

    def _count_step(self, path: GraphPath, node: str) -> None:
        """Count a step; ask people whether there may be more, if there were too many."""
        path.steps += 1
        if path.steps <= path.limit:
            return
        if path.in_race:
            raise WorkflowFailed(
                f"the {path.limit} steps are used up",
                rule="workflow/steps",
                place=node,
                remedy="allow more max_steps: nobody can be asked within a race",
            )
        asked = {"workflow": self.graph.name, "steps": path.limit, "next": node}
        prompt = f"{self.graph.name} took {path.limit} steps; may it take as many more?"
        if not path.lane.decide(asked, prompt).outcome == "approved":
            raise WorkflowFailed(
                f"no more than {path.limit} steps were approved",
                rule="workflow/steps",
                place=node,
            )
        path.limit += self.options.max_steps

    async def activate(
        self,
        path: GraphPath,
        node: WorkflowNode,
        cause: str | None,
        item: JsonValue = None,
    ) -> NodeOutcome:
        """Visit *node*, and return how it ended.

        Raises:
            PathStopped: what it would find is no longer needed.
            GoesOnAsNew: the workflow goes on in another run.
            EffectFailed: the run ends by it, whatever an edge says.

        """
        visit = path.visit(node.name)
        with path.lane.scope(f"{node.name}.{visit}") as lane:
            said = EngineFact(node=node.name, kind=node.kind, visit=visit, cause=cause)
            activated = lane.record("node.activated", said)
            here = NodeActivation(self, lane, path, node, visit, item)
            try:
                if is_private(node):
                    here.lane.keep_private()
                await deliver(here, activated)
                require_visit(node, visit)
                outcome = await self.kinds[node.kind].take(here)
                require_outputs(node, outcome)
                require_own_ids(node, outcome.artifacts, path.pool)
            except GoesOnAsNew:
                first = self.kinds[node.kind].branches.success[0]
                self._complete(here, NodeOutcome(first, "continued_as_new"))
                raise
            except (*SAID_OF_THE_RUN, PathStopped):
                raise
            except Exception as error:  # noqa: BLE001 - however a node ends is a branch
                outcome = NodeOutcome(ERROR, ERROR, cause=error)
            self._complete(here, outcome)
        if outcome.cause is not None and halts(outcome.cause):
            raise outcome.cause
        if node.kind == "verify":
            self._note_verdict(here, outcome)
        return outcome

    def _complete(self, here: NodeActivation, outcome: NodeOutcome) -> None:
        """State what a node made, and how it ended."""
        for made in outcome.artifacts:
            here.record(made)
        produced = [*outcome.artifacts, *outcome.passed_on]
        if not is_private(here.node):
            here.path.add(produced)
        node, said = here.node, dict[str, object]()
        if outcome.cause is not None:
            rule, _, message = said_by(outcome.cause)
            said = {"rule": rule, "error": message[:2000]}
            if here.lane.tells_private(outcome.cause):
                said["visibility"] = "private"
        good = outcome.branch in self.kinds[node.kind].branches.success
        ended = EngineFact(
            node=node.name,
            visit=here.visit,
            status="completed" if good else "failed",
            outcome=outcome.outcome,
            branch=outcome.branch,
            attempts=here.attempts,
            produced=[one.id for one in produced],
            **said,
        )
        here.lane.record("node.completed", ended)

    @staticmethod
    def _note_verdict(here: NodeActivation, outcome: NodeOutcome) -> None:
        place = _VISIT.sub("", here.lane.scope_path)
        if outcome.branch == "passed":
            here.path.unverified.pop(place, None)
        else:
            here.path.unverified[place] = here.node.name

    def _next(
        self, path: GraphPath, node: WorkflowNode, outcome: NodeOutcome
    ) -> str | None:
        """Return the node that comes after *node*; None if the path ends well here."""
        found = self.edge_for(node, outcome.branch)
        if found is None:
            if outcome.branch in self.kinds[node.kind].branches.success:
                return None
            raise failure_of(node, outcome)
        edge, matched = found
        said = EngineFact(
            source=node.name,
            target=edge.target,
            branch=outcome.branch,
            matched=matched,
        )
        path.lane.record("transition.taken", said)
        return edge.target

    def edge_for(
        self, node: WorkflowNode, branch: str
    ) -> tuple[WorkflowEdge, str] | None:
        """Return the edge that *branch* of *node* takes, and how it was matched."""
        edges = self.graph.out(node.name)
        found = taken(node, self.kinds[node.kind].branches, edges, branch)
        return None if found is None else (edges[found[0]], found[1])

    def permissions(self, node: WorkflowNode) -> NodePermissions:
        """Return what *node* may do at most."""
        return permissions_of(
            self.graph,
            node,
            self.options.ceiling or None,
            self.options.approval_policy,
        )

    def _is_limited(self, node: WorkflowNode) -> bool:
        whole = self.options.ceiling or "capability_policy" in self.graph.document
        return bool(whole) or "capability_policy" in node.document

    def state_policies(self, run: Run) -> None:
        """State what was taken away from nodes that asked for more."""
        for node in self.graph.nodes.values():
            for depth, one in enumerate(with_bodies(node)):
                if not self._is_limited(one):
                    continue
                said = self.permissions(one).stated(node.name + ".body" * depth)
                if said is not None:
                    run.record("policy.intersected", EngineFact(said))

    def child_of(self, here: NodeVisit, given: Sequence[Artifact]) -> ChildWorkflow:
        """Return the program that the node of a visit runs as a child."""
        may = self.permissions(here.node)
        return self.child(here, given, may.policy.descended(), may.approvals)

    def _effects(self, run: Run) -> Effects:
        """Return what performs effects of the run itself."""
        if self.lanes.is_async:
            return run.aeffect

        async def effect(
            kind: str, request: object, perform: Callable[[object], object]
        ) -> object:
            return run.effect(kind, request, perform)

        return effect

    async def conclude(self, run: Run, path: GraphPath) -> None:
        """Walk the whole graph along *path*.

        Raises:
            WorkflowFailed: it did not come to a good end.
            PathStopped: what the run would come to is no longer needed.

        """
        await join_sessions(self.graph, run, path, self._effects(run))
        await self.walk(path, self.graph.entry, None)
        path.stop.check()
        if path.unverified:
            names = ", ".join(sorted(set(path.unverified.values())))
            raise WorkflowFailed(
                f"verification failed at {names}, and nothing repaired it",
                rule="workflow/unverified",
                place=f"run {run.id}",
            )
        await end_of_mail(self, run)
