"""The skeleton of a run's record: a pure fold over its events.

    skeleton = ledger.project(WorkflowRecords, run=run)
    skeleton["stages"]["act.1"]["end"]["branch"]       'success'

Rules:

- It reads what events state, and no contents: so an erasure changes nothing, and a fold
  from event 0 is equal to one that went on from where another stopped.
- An event costs the same, however long the run is. What is derived is derived where the
  record is viewed.
- Events of other runs, of runs that walk no graph, and those that the engine cannot have
  stated (`held.stated`), change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from muniment import Projection
from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import ENDS, RESUMED, STARTED
from muniment.formats.statement import Event
from muniment_plugins.workflow.records import run_rows, stage_rows
from muniment_plugins.workflow.records.agents.agent_rows import TOLD_OF_AGENTS
from muniment_plugins.workflow.records.held.stated import can_be_stated
from muniment_plugins.workflow.records.rows import Row
from muniment_plugins.workflow.records.superseding import take_back

__all__ = ["WorkflowRecords"]

Told = Callable[[Row, Event], None]


class WorkflowRecords(Projection[Row]):
    """The fold; ask for it with ``ledger.project(WorkflowRecords, run=…)``."""

    name = "workflow-record"
    version = 9

    def initial(self) -> JsonValue:
        """Return the skeleton of a run that has no events."""
        return {
            "id": None,
            "status": None,
            "walks": False,
            "started_at": None,
            "finished_at": None,
            "start": {},
            "ending": None,
            "resumed": 0,
            "resumed_at": -1,
            "workflow": None,
            "stages": {},
            "latest": {},
            "closed": {},
            "transitions": [],
            "artifacts": [],
            "questions": [],
            "policies": {},
            "children": {},
            "races": {},
            "failures": {},
            "taken_back": {},
            "agents": {},
            "published": {},
        }

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Take in what *event* states."""
        record = cast("Row", state)
        if record["id"] not in (None, event.run):
            return state
        loops = TOLD_OF_AGENTS.get(event.type)
        if loops is not None:
            loops(record, event)
        told = _TOLD.get(event.type)
        if told is not None:
            told(record, event)
            return state
        stated = _STATED.get(event.type)
        if stated is not None:
            if record["walks"] and can_be_stated(record, event):
                stated(record, event)
            return state
        kind, _, verb = event.type.rpartition(".")
        if verb == "requested" and kind != "timer":
            stage_rows.began(record, event)
        elif verb in ("completed", "failed"):
            run_rows.answered(record, event)
        more = _OF_EFFECTS.get(event.type)
        if more is not None:
            more(record, event)
        return state

    def view(self, state: JsonValue) -> Row:
        """Return the skeleton."""
        return cast("Row", state)


def _resumed(record: Row, event: Event) -> None:
    run_rows.ended_or_resumed(record, event)
    take_back(record, event)


_TOLD: Mapping[str, Told] = {
    **dict.fromkeys(ENDS, run_rows.ended_or_resumed),
    STARTED: run_rows.started,
    RESUMED: _resumed,
    "decision.asked": run_rows.asked,
    "decision.reached": run_rows.decided,
}
_STATED: Mapping[str, Told] = {
    "workflow.started": run_rows.began_workflow,
    "policy.intersected": run_rows.intersected,
    "query.published": run_rows.published,
    "node.activated": stage_rows.activated,
    "context.selected": stage_rows.selected,
    "node.attempted": stage_rows.attempted,
    "verification.concluded": stage_rows.concluded,
    "tool.denied": stage_rows.denied,
    "branches.joined": stage_rows.joined,
    "node.completed": stage_rows.completed,
    "transition.taken": stage_rows.taken_on,
    "artifact.recorded": stage_rows.artifact_recorded,
}
_OF_EFFECTS: Mapping[str, Told] = {
    "child.requested": run_rows.called,
    "child.completed": run_rows.call_ended,
    "child.failed": run_rows.call_ended,
    "race.completed": stage_rows.raced,
    "race.failed": stage_rows.raced,
    "llm.completed": run_rows.spent,
}
