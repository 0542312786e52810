"""Running a plan: what was planned is stated, then its graph is run.

    run = action_graph_run(ledger, "Fix parser diagnostics", plan, {
        "research": {"mode": "llm", "model_policy": {…}}, …})
    run.status, len(run.batches), run.artifacts

Rules:

- ``plan.normalized`` states the plan, with what was added, dropped or chosen, and its
  cycles; ``plan.batched`` the order in which it is done. Both are in the ledger before
  anything runs, and of a plan that is refused, too.
- The run is that of the graph which the plan becomes. Its first artifact is the plan, so
  whatever its stages select can show it; its graph names the plan's digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.actions.batches import ActionBatch, action_graph_batches
from muniment_plugins.workflow.actions.flow import action_graph_flow
from muniment_plugins.workflow.actions.normalising import (
    ActionGraphLike,
    action_graph,
    graph_of_plan,
)
from muniment_plugins.workflow.actions.planned import ActionGraph
from muniment_plugins.workflow.actions.rendering import action_graph_render
from muniment_plugins.workflow.api import WorkflowDone, workflow_execute
from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.records.record import run_record
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["ActionGraphRun", "action_graph_run"]


@dataclass(frozen=True)
class ActionGraphRun:
    """How the run of a plan ended."""

    task: str
    plan: ActionGraph
    batches: tuple[ActionBatch, ...]
    flow: WorkflowGraph
    """The graph that was run."""
    runtime: WorkflowDone
    """The run of it."""

    @property
    def status(self) -> str:
        """``completed``, ``failed``, ``paused``, …."""
        return self.runtime.status

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.runtime.run_id

    @property
    def error(self) -> Exception | None:
        """Why it failed, if it did."""
        return self.runtime.error

    @cached_property
    def run(self) -> dict[str, Any]:
        """The record of the run, read while the ledger is open."""
        return run_record(self.runtime.ledger, self.runtime.run_id)

    @property
    def artifacts(self) -> list[Artifact]:
        """The plan, what else the run was given, and what it made."""
        return self.runtime.artifacts

    @property
    def transcript(self) -> list[dict[str, Any]]:
        """What each stage said, in the order in which the stages ended."""
        return [
            {"node": one["node_id"], "text": one["visible_text"]}
            for one in self.run["stages"]
            if one.get("visible_text")
        ]

    @property
    def visible_text(self) -> str:
        """What the last stage that said something said; empty if none did."""
        said = self.transcript
        return str(said[-1]["text"]) if said else ""

    def document(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        return {
            "_type": "action_graph_run",
            "task": self.task,
            "status": self.status,
            "plan": self.plan.document(),
            "batches": [one.document() for one in self.batches],
            "flow": dict(self.flow.document),
            "runtime": {
                "run": self.runtime.run_id,
                "result_digest": self.runtime.result_digest,
            },
            "run": self.run,
            "artifacts": [one.to_json() for one in self.artifacts],
            "transcript": self.transcript,
            "visible_text": self.visible_text,
        }


def action_graph_run(  # noqa: PLR0913 - a run has these parts
    ledger: Ledger,
    task: str,
    plan: ActionGraphLike,
    config: Mapping[str, object] | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    artifacts: Iterable[object] = (),
    key: str | None = None,
) -> ActionGraphRun:
    """Run *plan* on *ledger*; with a *key*, once.

    Args:
        ledger: where it is recorded.
        task: what the run is to do.
        plan: an action graph, or what a planner wrote.
        config: what `action_graph_flow` takes.
        overrides: options of the run, as `workflow_execute` takes them.
        artifacts: what the run is given beside the plan.
        key: of several runs with one key only the first one runs.

    Raises:
        UsageError: the plan is none, or something of the configuration is not there.
        RefusedError: the plan, or its graph, cannot be run.

    """
    graph = graph_of_plan(plan)
    if not graph.task:
        graph = action_graph(graph, {"task": task} if task else None)
    _state(ledger, graph)
    batches = action_graph_batches(graph)
    flow = action_graph_flow(graph, config)
    ledger.append(
        "plan.batched",
        EngineFact(
            plan=graph.digest,
            graph=flow.digest,
            batches=[_row(one) for one in batches],
        ),
    )
    given = [_plan_artifact(graph), *artifacts]
    done = workflow_execute(ledger, task, flow, given, overrides, key=key)
    return ActionGraphRun(task, graph, batches, flow, done)


def _state(ledger: Ledger, graph: ActionGraph) -> None:
    said = cast("Mapping[str, object]", graph.metadata)
    ledger.append(
        "plan.normalized",
        EngineFact(
            plan=graph.digest,
            raw_digest=said["raw_digest"],
            source=said["source"],
            actions=len(graph.actions),
            document=graph.document(),
            **{name: said[name] for name in _LISTED},
        ),
    )


_LISTED = ("repairs", "dropped_refs", "ambiguous_refs", "cycles")


def _row(batch: ActionBatch) -> dict[str, JsonValue]:
    return {
        "id": batch.id,
        "wave": batch.wave,
        "phase": batch.phase,
        "tool_class": batch.tool_class,
        "action_ids": [*batch.action_ids],
        "depends_on": [*batch.depends_on],
    }


def _plan_artifact(graph: ActionGraph) -> Artifact:
    return artifact(
        {
            "id": "plan",
            "kind": "plan",
            "title": graph.task or "Plan",
            "text": action_graph_render(graph),
            "data": graph.document(),
        }
    )
