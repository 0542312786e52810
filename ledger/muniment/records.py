"""The run record: what one run did, as a projection of its events.

    RunRecord(id="01JD…", name="triage", status="completed", events=12,
              effects={"llm": 3, "tool": 1}, …)

Rules: it reads payloads only, so an erasure leaves it as it is; a run without an end is
``open``, one that its user stopped is ``interrupted``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from muniment.canonical import JsonValue
from muniment.events import Event
from muniment.projections import Projection

__all__ = ["RunFacts", "RunRecord"]

_ENDS = {
    "run.completed": "completed",
    "run.interrupted": "interrupted",
    "run.resumed": "open",
}
_NO_EFFECTS = ("plugin.failed", "run.failed")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run, for people and programs that list runs."""

    id: str
    name: str
    status: str
    """``open``, ``interrupted``, ``completed``, ``failed``, ``refused``, ``diverged``."""
    started: str
    ended: str | None
    first: int
    last: int
    events: int
    generation: int
    tenant: str
    actor: str
    labels: dict[str, str] = field(default_factory=dict[str, str])
    program: dict[str, JsonValue] | None = None
    plugins: dict[str, str] = field(default_factory=dict[str, str])
    effects: dict[str, int] = field(default_factory=dict[str, int])
    """Kind → how many were requested, attempts included."""
    failed_effects: int = 0
    error_type: str | None = None
    replay_of: str | None = None
    types: dict[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        """One line: which run, and how far it came."""
        events = f"{self.events} event{'' if self.events == 1 else 's'}"
        return f"run {self.id}: {self.name}, {self.status}, {events}"


class RunRecord(Projection[RunFacts]):
    """The fold behind `RunFacts`; ask for it with ``ledger.project(RunRecord, run=…)``."""

    name = "run-record"
    version = 3

    def initial(self) -> JsonValue:
        """Return the state of a run that has no events."""
        return {"types": {}, "effects": {}, "failed_effects": 0, "events": 0}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Count *event*, and take over what the run's own events say."""
        record = cast("dict[str, JsonValue]", state)
        if "id" not in record:
            _begin(record, event)
        types = cast("dict[str, int]", record["types"])
        types[event.type] = types.get(event.type, 0) + 1
        record["events"] = cast("int", record["events"]) + 1
        record["last"] = event.seq
        if record["status"] != "completed":  # the first end counts
            record["ended"] = event.time
            self._live(record, event)
        if event.type.endswith(".requested"):
            effects = cast("dict[str, int]", record["effects"])
            kind = event.type.rpartition(".")[0]
            effects[kind] = effects.get(kind, 0) + 1
        elif event.type.endswith(".failed") and event.type not in _NO_EFFECTS:
            record["failed_effects"] = cast("int", record["failed_effects"]) + 1
        return record

    def _live(self, record: dict[str, JsonValue], event: Event) -> None:
        if event.type == "run.started":
            self._start(record, event)
        elif event.type in _ENDS:
            record["status"] = _ENDS[event.type]
            record["generation"] = event.raw.get("generation", record["generation"])
        elif event.type == "run.failed":
            record["status"] = event.raw.get("status", "failed")
            record["error_type"] = event.raw.get("error_type")

    def _start(self, record: dict[str, JsonValue], event: Event) -> None:
        for name in ("name", "labels", "program", "plugins", "replay_of"):
            if name in event.raw:
                record[name] = event.raw[name]

    def view(self, state: JsonValue) -> RunFacts:
        """Return the facts."""
        record = dict(cast("dict[str, JsonValue]", state))
        if record.get("status") == "open":
            record["ended"] = None
        return RunFacts(**record)  # type: ignore[arg-type]


def _begin(record: dict[str, JsonValue], event: Event) -> None:
    """Take over where a run begins; one whose first event is no start has no name."""
    record |= {
        "id": event.run,
        "name": "",
        "status": "open",
        "started": event.time,
        "first": event.seq,
        "generation": 0,
        "tenant": event.tenant,
        "actor": event.actor,
    }
