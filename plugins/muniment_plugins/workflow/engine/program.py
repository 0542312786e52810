"""A graph as a program over a run, live or rebuilt from its ``run.started``.

Rules:

- The params are the whole of it: graph, task, artifacts, options, and pins: the functions
  that are called, by import path and source digest, and the contract files. So
  ``run.started`` alone says what ran.
- A resume refuses another graph, other functions or other contracts, and writes nothing.
- A child run of a subagent is this program with the child's graph.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError, UsageError
from muniment.programs.awaiting import driven
from muniment.programs.functions import CHANGED, changed_in
from muniment.programs.references import (
    Function,
    Remembered,
    named,
    path_of,
    plain,
    refer,
    whole,
    with_helpers,
)
from muniment.programs.stable_names import stable_name
from muniment.runs.run import Run
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.pool import ArtifactPool
from muniment_plugins.workflow.ceilings.approvals import ToolApprovalPolicy
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy
from muniment_plugins.workflow.contracts.commands import Workplace
from muniment_plugins.workflow.contracts.verifier import VerifierContract, contract_of
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.structure import structure_of
from muniment_plugins.workflow.documents.subgraphs import child_graph, with_bodies
from muniment_plugins.workflow.engine.conduct import WorkflowConduct
from muniment_plugins.workflow.engine.keyed_starts import series_of
from muniment_plugins.workflow.engine.needs import require_needs
from muniment_plugins.workflow.engine.options import WorkflowOptions
from muniment_plugins.workflow.mailbox.box import RunMailbox
from muniment_plugins.workflow.nodes.kind import NodeKind
from muniment_plugins.workflow.nodes.subagent import child_fault
from muniment_plugins.workflow.runtime.artifact_rows import (
    result_row_of,
    row_of,
    time_of,
)
from muniment_plugins.workflow.runtime.failures import GoesOnAsNew
from muniment_plugins.workflow.runtime.lanes import (
    Lanes,
    Stop,
    TaskLanes,
    ThreadLanes,
    needed,
)
from muniment_plugins.workflow.runtime.paths import GraphPath
from muniment_plugins.workflow.runtime.workplaces import STARTED, worksite
from muniment_plugins.workflow.stages.calls import HandlerCalls
from muniment_plugins.workflow.stages.remote_calls import SERVED, at_first_call
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment.runs.executors import Executor
    from muniment_plugins.workflow.runtime.seams import NodeVisit

__all__ = ["AsyncWorkflowProgram", "WorkflowProgram"]
Object = Mapping[str, JsonValue]


@stable_name("muniment:workflow/1")
@dataclass(frozen=True, slots=True)
class WorkflowProgram:
    """A graph that can be run, with all that it needs."""

    graph: WorkflowGraph
    task: str
    artifacts: Sequence[Artifact]
    options: WorkflowOptions
    kinds: Mapping[str, NodeKind]
    functions: Mapping[str, Function]
    """Import path → function, of this graph and those of its subagents."""
    in_lane: frozenset[str] = frozenset()
    """The import paths of handlers that take the lane of their node."""
    files: Mapping[str, Object] = field(default_factory=dict[str, Object])
    """Path of a contract → what the file holds."""
    is_child: bool = False
    """Whether a node of another graph runs it: then its artifacts come without times."""
    executor: Executor | None = field(default=None, compare=False)
    host: Object = field(default_factory=dict[str, JsonValue])
    """What the host states about tools, in a child: there the ceiling has what those who
    wrote the parent stated, too."""
    prefix: str = ""
    """What the ids of artifacts begin with: in a child, where its parent runs it; where a
    run is given artifacts of another, what tells theirs from its own."""
    place: Workplace | None = field(default=None, compare=False)
    """In a child, that of its parent; else what there is when it begins."""
    stop: Stop | None = field(default=None, compare=False)
    """In a child: what tells the path of its parent that it is no longer needed."""

    generation: int = 1
    """The number of the run among those that went on as new, counted from 1."""

    is_async = False

    def params(self) -> dict[str, object]:
        """Return the params with which it is run."""
        return {
            "graph": dict(self.graph.document),
            "task": self.task,
            "artifacts": [
                row_of(one) if self.is_child else one.to_json()
                for one in self.artifacts
            ],
            "options": self.options.to_json(),
            "pins": {
                "in_lane": sorted(self.in_lane),
                "functions": {
                    path: refer(one) for path, one in sorted(self.functions.items())
                },
                "contracts": {path: dict(one) for path, one in self.files.items()},
                **({"host": dict(self.host)} if self.host else {}),
                **({"prefix": self.prefix} if self.prefix else {}),
                **({} if self.generation == 1 else {"generation": self.generation}),
            },
        }

    def functions_given(self) -> list[Function]:
        """Return the functions that are called, which the start of a run describes."""
        return [with_helpers(one) for one in self.functions.values()]

    def series_of_run(self, _: Mapping[str, object]) -> tuple[str, ...]:
        """Return the series that the start of a run joins: that of its key."""
        key = self.options.key
        return () if key is None else (series_of(key),)

    @staticmethod
    def changed_outcome(kind: str, request: object, value: object) -> object:
        """Return *value*, which a fork gives in place of an outcome of *kind*.

        Raises:
            UsageError: a run of a graph was called, and returns nothing like that.

        """
        wrong = child_fault(request, value) if kind == "child" else None
        if wrong is None:
            return value
        raise UsageError(
            f"a subagent returns nothing like that: {wrong}",
            rule="fork/change",
            place=kind,
            remedy="give what `muniment events show` prints of the outcome, changed",
        )

    def before_resume(
        self, params: Mapping[str, object], recorded: Sequence[Mapping[str, object]]
    ) -> None:
        """Refuse to go on with something else than what began with *params*.

        And with functions in other files than *recorded*.

        Raises:
            RefusedError: the graph, a function or a contract is another.
            CannotTellError: a function, or what checks arguments, is not here.

        """
        require_needs(self.graph)
        for name, value in self.params().items():
            if value != params.get(name):
                raise RefusedError(
                    f"the {name} of this workflow are not those that the run began with"
                    if name != "graph"
                    else "the graph is not the one that the run began with",
                    rule="workflow/changed",
                    place=self.graph.name,
                    remedy="go on with what it began with; or start a new run, and give "
                    "it what this one made: recorded_artifacts(ledger, run)",
                )
        for one in self.functions.values():
            if isinstance(one, Remembered):
                one.found()
            else:
                self._require_same(one, recorded)

    def _require_same(
        self, function: Function, recorded: Sequence[Mapping[str, object]]
    ) -> None:
        described = named(function).described
        place = changed_in(plain(function), whole(described, recorded))
        if place is None:
            return
        raise RefusedError(
            f"{path_of(described)} is not the function that ran: its file changed",
            rule=CHANGED,
            place=place,
            remedy="restore the file, or start a new run",
        )

    def __call__(
        self,
        run: Run,
        graph: object,
        task: str,
        artifacts: object,
        options: object,
        pins: object,
    ) -> object:
        """Walk the graph; see `WorkflowConduct`.

        Raises:
            WorkflowFailed: it did not come to a good end.

        """
        self._compare(run, graph, task, artifacts, options, pins)
        with needed(self.stop), self._calls(run) as calls:
            most = 32 if self.executor is None else self.executor.lanes
            return driven(self._conduct(run, ThreadLanes(most), calls))

    def _compare(self, run: Run, *recorded: object) -> None:
        if run.has_record:
            for (name, value), known in zip(
                self.params().items(), recorded, strict=True
            ):
                run.require_param(name, known, value)

    @contextmanager
    def _calls(self, run: Run) -> Generator[HandlerCalls]:
        """Give what calls the handlers, wherever that is.

        What a record may answer begins elsewhere when it is first needed: a replay calls
        nothing, and may reach no cluster.
        """
        if self.executor is None or self.executor.reach == "here":
            yield HandlerCalls(self.functions, self.in_lane)
            return
        there = self.executor.host(SERVED)
        with at_first_call(there) if run.has_record else there as send:
            yield HandlerCalls(self.functions, self.in_lane, send)

    async def _conduct(self, run: Run, lanes: Lanes, calls: HandlerCalls) -> object:
        began = run.now()
        conduct = WorkflowConduct(
            graph=self.graph,
            task=self.task,
            options=self.options,
            kinds=self.kinds,
            child=self.child,
            place=self._begun(run),
            structure=structure_of(self.graph),
            lanes=lanes,
            calls=calls,
            began=began,
            contracts=self._contracts(),
            host=self._labels(),
            prefix=self.prefix,
            mailbox=RunMailbox(is_async=lanes.is_async),
            may_continue=not self.is_child,
        )
        conduct.state_policies(run)
        given = self._given(began)
        path = GraphPath(
            run,
            ArtifactPool(given),
            began,
            self.options.max_steps,
            Stop(self.stop),
        )
        try:
            await conduct.conclude(run, path)
        except GoesOnAsNew as going:
            return self._going_on(run, path, going)
        return self._result(path)

    def _begun(self, run: Run) -> Workplace:
        """State that the run walks the graph; return where it works."""
        here = self.place or Workplace.at(self.options.cwd)
        said = EngineFact(
            workflow=self.graph.name,
            graph=self.graph.digest,
            version=self.graph.version,
            nodes=len(self.graph.nodes),
            max_steps=self.options.max_steps,
            policy=dict(self.options.ceiling),
            folder=str(here.folder),
        )
        begun = run.record(STARTED, said)
        if self.place is not None:
            return self.place
        return replace(here, folder=Path(worksite(begun, str(here.folder))))

    def _result(self, path: GraphPath) -> dict[str, object]:
        return {
            "artifacts": [result_row_of(one) for one in path.pool],
            "steps": path.steps,
        }

    def _going_on(
        self, run: Run, path: GraphPath, going: GoesOnAsNew
    ) -> dict[str, object]:
        """State that the workflow goes on as new; return the result that says so."""
        task = self.task if going.task is None else going.task
        said = {"generation": self.generation + 1, "task": task}
        run.record("workflow.continued_as_new", EngineFact(said))
        return {**self._result(path), "continues": said}

    def child(
        self,
        here: NodeVisit,
        given: Sequence[Artifact],
        ceiling: CapabilityPolicy,
        approvals: ToolApprovalPolicy | None,
    ) -> WorkflowProgram:
        """Return the program of the graph that the node of a visit runs as a child."""
        graph = cast("WorkflowGraph", child_graph(self.graph, here.node))
        options = replace(
            self.options.for_child(len(self.graph.nodes), len(graph.nodes)),
            ceiling=ceiling.document(),
            approval_policy=None if approvals is None else approvals.document(),
            executor=None,  # it has its parent's, and the digest of neither depends on it
            key=None,
        )
        return replace(
            self,
            graph=graph,
            artifacts=given,
            options=options,
            is_child=True,
            generation=1,
            host=self._labels(),
            prefix=f"{self.prefix}{here.lane.scope_path}/",
            place=here.conduct.place,
            stop=here.path.stop,
        )

    def _labels(self) -> Object:
        """Return what the host states about tools: of a child, what it was told."""
        if self.is_child:
            return self.host
        return cast("Object", self.options.ceiling.get("tool_annotations") or {})

    def _given(self, began: datetime) -> list[Artifact]:
        """Return the artifacts, in a child with times in their order before it *began*."""
        if not self.is_child:
            return list(self.artifacts)
        first = -len(self.artifacts)
        return [
            replace(one, created_at=time_of(began, 0, first + number))
            for number, one in enumerate(self.artifacts)
        ]

    def _contracts(self) -> dict[str, VerifierContract]:
        return {
            one.at.path: contract_of(one, self.files)
            for node in self.graph.nodes.values()
            for one in with_bodies(node)
            if one.kind == "verify"
        }


@stable_name("muniment:async-workflow/1")
@dataclass(frozen=True, slots=True)
class AsyncWorkflowProgram(WorkflowProgram):
    """A graph some handlers of which must be awaited."""

    is_async = True

    async def __call__(
        self,
        run: Run,
        graph: object,
        task: str,
        artifacts: object,
        options: object,
        pins: object,
    ) -> object:
        """Walk the graph; see `WorkflowConduct`.

        Raises:
            WorkflowFailed: it did not come to a good end.

        """
        self._compare(run, graph, task, artifacts, options, pins)
        with needed(self.stop), self._calls(run) as calls:
            most = 64 if self.executor is None else self.executor.lanes
            return await self._conduct(run, TaskLanes(most), calls)
