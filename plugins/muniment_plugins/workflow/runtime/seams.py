"""What kinds of nodes, and stages, see of the engine that conducts them.

Rule: they know these protocols, and not the engine; so a kind in a plugin has what the
kinds in the box have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from muniment.encoding.canonical import JsonValue
from muniment.programs.references import Function
from muniment.runs.run import Run
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.ceilings.approvals import ToolApprovalPolicy
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy
from muniment_plugins.workflow.contracts.commands import Workplace
from muniment_plugins.workflow.contracts.verifier import VerifierContract
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.runtime.lanes import Lanes
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.paths import GraphPath
from muniment_plugins.workflow.runtime.stage_input import StageInput

__all__ = ["ChildWorkflow", "Conducting", "NodeVisit", "VisitPermissions"]

Object = Mapping[str, JsonValue]


class VisitPermissions(Protocol):
    """What a node may do at most."""

    @property
    def policy(self) -> CapabilityPolicy:
        """What it may do."""
        ...

    @property
    def approvals(self) -> ToolApprovalPolicy | None:
        """Which calls go on, wait, or are denied; None if nobody gave any."""
        ...


class ChildWorkflow(Protocol):
    """A graph that a node runs as a child run."""

    @property
    def graph(self) -> WorkflowGraph:
        """The graph."""
        ...

    def params(self) -> dict[str, object]:
        """Return the params with which it is run."""
        ...

    def __call__(
        self,
        run: Run,
        graph: object,
        task: str,
        artifacts: object,
        options: object,
        pins: object,
    ) -> object:
        """Walk the graph."""
        ...


class Conducting(Protocol):
    """What conducts a run of a graph."""

    @property
    def graph(self) -> WorkflowGraph:
        """The graph."""
        ...

    @property
    def task(self) -> str:
        """What the run is to do."""
        ...

    @property
    def place(self) -> Workplace:
        """Where commands run, and paths begin."""
        ...

    @property
    def lanes(self) -> Lanes:
        """What runs branches at once."""
        ...

    @property
    def contracts(self) -> Mapping[str, VerifierContract]:
        """Key path of a verifier → what it checks."""
        ...

    @property
    def host(self) -> Object:
        """What the host itself states about tools: those who wrote graphs state no more."""
        ...

    @property
    def prefix(self) -> str:
        """What the ids of artifacts begin with."""
        ...

    @property
    def mailbox(self) -> object:
        """What waits for the run: a `RunMailbox`."""
        ...

    @property
    def may_continue(self) -> bool:
        """Whether the run may go on as new: nobody waits for what it returns."""
        ...

    def contracts_for(self, node: WorkflowNode) -> tuple[Object, ...]:
        """Return what those who do the work of *node* are told of its verifiers."""
        ...

    def permissions(self, node: WorkflowNode) -> VisitPermissions:
        """Return what *node* may do at most."""
        ...

    def function(self, path: str) -> Function:
        """Return the function that a node names by its import *path*."""
        ...

    def digest_of(self, artifacts: Sequence[Artifact]) -> str:
        """Return SHA-256 over the ids and digests of *artifacts*, in their order."""
        ...

    def child_of(self, here: NodeVisit, given: Sequence[Artifact]) -> ChildWorkflow:
        """Return what the node of a visit runs as a child."""
        ...

    def is_good(self, node: WorkflowNode, branch: str) -> bool:
        """Tell whether a *branch* of *node* means success."""
        ...

    async def call(self, here: NodeVisit, path: str, given: StageInput) -> object:
        """Return what the handler at *path* makes of what it is *given*.

        Raises:
            EffectFailed: it raised.

        """
        ...

    async def activate(
        self,
        path: GraphPath,
        node: WorkflowNode,
        cause: str | None,
        item: JsonValue = None,
    ) -> NodeOutcome:
        """Visit *node*, and return how it ended."""
        ...


class NodeVisit(Protocol):
    """One visit of a node, which its kind conducts."""

    conduct: Conducting
    lane: Run
    path: GraphPath
    node: WorkflowNode
    visit: int
    item: JsonValue
    """What a map gave it."""

    def select(self) -> list[Artifact]:
        """Return what the node works on, and state what was in and what was not."""
        ...

    async def effect(
        self,
        kind: str,
        request: object,
        perform: Callable[[object], object],
        *,
        keeps_time: bool = False,
    ) -> object:
        """Perform an effect once, within the node's time.

        What *keeps_time* ends by itself when that is up, and is awaited.

        Raises:
            EffectFailed: *perform* raised, or took too long.

        """
        ...

    async def attempt(
        self, work: Callable[[], Awaitable[object]], *, anew: bool = False
    ) -> object:
        """Return what *work* gives, tried as often as the node says.

        *anew*, it has attempts of its own; else those of all work of the visit count.

        Raises:
            EffectFailed: the last attempt failed.

        """
        ...

    def artifact(
        self,
        text: str | None = None,
        data: JsonValue = None,
        *,
        kind: str | None = None,
        title: str | None = None,
        lineage: Sequence[Artifact] = (),
        lane: Run | None = None,
    ) -> Artifact:
        """Return a new artifact of this visit; the only one of a *lane* below, if given."""
        ...

    def record(self, made: Artifact, lane: Run | None = None) -> None:
        """State that *made* was made, here or in a *lane* below."""
        ...
