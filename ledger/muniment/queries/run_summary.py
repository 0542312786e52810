"""The run record: what one run did, as a projection of its events.

    RunSummary(id="01JD…", name="triage", status="completed", events=12,
              effects={"llm": 3, "tool": 1}, …)

Rules: it reads payloads only, so an erasure does not change it; a run without an end is
``open``, one that its user stopped is ``interrupted``, one that waits is ``paused``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import (
    CANCELED,
    ENDS,
    FAILED,
    FINAL,
    MARKED,
    OPEN,
    RESUMED,
    STARTED,
)
from muniment.formats.statement import Event
from muniment.queries.projections import Projection

__all__ = ["RunSummaries", "RunSummary", "status_after"]

_FINAL = frozenset(ENDS[one] for one in FINAL)
_NO_EFFECTS = ("plugin.failed", FAILED)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run, for people and programs that list runs."""

    id: str
    name: str
    status: str
    """``open``, ``paused``, ``interrupted``, ``completed``, ``failed``, ``refused``,
    ``diverged``, ``canceled``."""
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
    """Kind → number of requests, attempts included."""
    failed_effects: int = 0
    error_type: str | None = None
    replay_of: str | None = None
    parent: dict[str, JsonValue] | None = None
    """Of a child run: ``run``, ``root`` and ``key`` of the call."""
    fork: dict[str, JsonValue] | None = None
    """Of a fork: ``run``, ``at``, ``leaf`` and ``changes`` of its origin."""
    types: dict[str, int] = field(default_factory=dict[str, int])
    marks: list[str] = field(default_factory=list[str])
    """What the run was marked with, each mark once, in order."""

    def __str__(self) -> str:
        """Return one line: the run and its progress."""
        events = f"{self.events} event{'' if self.events == 1 else 's'}"
        return f"run {self.id}: {self.name}, {self.status}, {events}"


class RunSummaries(Projection[RunSummary]):
    """The fold behind `RunSummary`; ask for it with ``ledger.project(RunSummaries, run=…)``."""

    name = "run-record"
    version = 7

    def initial(self) -> JsonValue:
        """Return the state of a run that has no events."""
        return {"types": {}, "effects": {}, "failed_effects": 0, "events": 0}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Count *event*, and copy what lifecycle events say about the run."""
        record = cast("dict[str, JsonValue]", state)
        if "id" not in record:
            _begin(record, event)
        types = cast("dict[str, int]", record["types"])
        types[event.type] = types.get(event.type, 0) + 1
        record["events"] = cast("int", record["events"]) + 1
        record["last"] = event.seq
        if record["status"] not in _FINAL:  # the first of these counts
            record["ended"] = event.time
            self._live(record, event)
        if event.type == MARKED:
            _mark(record, event.raw.get("mark"))
        if event.type.endswith(".requested"):
            effects = cast("dict[str, int]", record["effects"])
            kind = event.type.rpartition(".")[0]
            effects[kind] = effects.get(kind, 0) + 1
        elif event.type.endswith(".failed") and event.type not in _NO_EFFECTS:
            record["failed_effects"] = cast("int", record["failed_effects"]) + 1
        return record

    def _live(self, record: dict[str, JsonValue], event: Event) -> None:
        if event.type == STARTED:
            self._start(record, event)
        elif event.type == RESUMED:
            record["status"] = status_after(event)
            record["generation"] = event.raw.get("generation", record["generation"])
        elif event.type == FAILED:
            record["status"] = status_after(event)
            record["error_type"] = event.raw.get("error_type")
        elif event.type in ENDS:
            record["status"] = status_after(event)
            if event.type == CANCELED:
                record["generation"] = event.raw.get("generation", record["generation"])

    def _start(self, record: dict[str, JsonValue], event: Event) -> None:
        told = ("name", "labels", "program", "plugins", "replay_of", "parent", "fork")
        for name in told:
            if name in event.raw:
                record[name] = event.raw[name]

    def view(self, state: JsonValue) -> RunSummary:
        """Return the summary."""
        record = dict(cast("dict[str, JsonValue]", state))
        if record.get("status") == OPEN:
            record["ended"] = None
        return RunSummary(**record)  # type: ignore[arg-type]


def status_after(event: Event) -> str:
    """Return the status of a run after its lifecycle event *event*."""
    if event.type == FAILED:
        return str(event.raw.get("status", ENDS[FAILED]))
    return ENDS.get(event.type, OPEN)


def _mark(record: dict[str, JsonValue], mark: JsonValue) -> None:
    marks = cast("list[JsonValue]", record.setdefault("marks", []))
    if isinstance(mark, str) and mark and mark not in marks:
        marks.append(mark)


def _begin(record: dict[str, JsonValue], event: Event) -> None:
    """Copy the start of a run; a run whose first event is not a start has no name."""
    record |= {
        "id": event.run,
        "name": "",
        "status": OPEN,
        "started": event.time,
        "first": event.seq,
        "generation": 0,
        "tenant": event.tenant,
        "actor": event.actor,
    }
