"""What an observation reads of a run: rows that say all that a policy looks at.

    {"seq": 12, "type": "llm.completed", "scope": "", "ordinal": 3, "seconds": 0.7,
     "data": {"about": {"usage": {…}}, "answered_by": {…}}}

Rules:

- The rows of a run follow from its events, which are verified first, up to the one whose
  leaf hash the observation names.
- Contents are read only where something is judged: claims, evidence, artifacts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, cast

from muniment import Event
from muniment.encoding.canonical import JsonValue
from muniment.errors import ErasedError
from muniment.formats.statement import BlobRef, when
from muniment.recorded.run_check import checked_events
from muniment_plugins.governance.authority import own_facts
from muniment_plugins.governance.budgets.table import counted_by_flows
from muniment_plugins.governance.verification.subjects import VerificationSubject

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["ObservedRun", "SeenEvent", "seen_of", "subjects_of"]

_JUDGED = frozenset({"artifact.produced", "evidence.collected", "reasoning.recorded"})
_TOLD = ("about", "answered_by", "attempt")
Row = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """One row."""

    seq: int
    type: str
    scope: str | None
    ordinal: int | None
    seconds: float
    """Since the run started."""
    raw: Row
    run: str | None = None
    """The run that has it; None in observations that saw one run alone."""

    @classmethod
    def of(cls, row: Row) -> SeenEvent:
        """Read a row."""
        return cls(
            cast("int", row["seq"]),
            cast("str", row["type"]),
            cast("str | None", row["scope"]),
            cast("int | None", row["ordinal"]),
            float(cast("float", row["seconds"])),
            cast("Row", row["data"]),
            cast("str | None", row.get("run")),
        )


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """What is known of one of the runs, beside its rows."""

    run: str
    parent: str | None
    flow: Row | None
    """The manifest of the flow that it is, if it is one and its params are there."""
    steps: tuple[str, ...]
    """The scopes of the steps that began."""
    made: Mapping[str, int]
    """Limit of a flow → what it made of that."""
    doubts: tuple[str, ...]
    """Why the record does not have all: its marks, and what bypassed the recorder."""

    @classmethod
    def of(cls, told: Row) -> ObservedRun:
        """Read what an observation recorded."""
        return cls(
            str(told["run"]),
            cast("str | None", told["parent"]),
            cast("Row | None", told["flow"]),
            tuple(cast("list[str]", told["steps"])),
            cast("Mapping[str, int]", told["made"]),
            tuple(cast("list[str]", told["doubts"])),
        )


def seen_of(ledger: Ledger, run: str) -> dict[str, JsonValue]:
    """Return the rows of *run* and of the runs that it called, and what is known of them.

    Raises:
        WrongError: a record does not verify, or an event has not what its type has.
        ErasedError: something that is judged was erased.

    """
    runs: list[JsonValue] = []
    rows: list[dict[str, JsonValue]] = []
    waiting: list[tuple[str, str | None]] = [(run, None)]
    under_way: UnderWay | None = None
    while waiting:
        one, parent = waiting.pop(0)
        events, _ = checked_events(ledger, one)
        under_way = under_way or UnderWay.of(events)
        rows += [
            {**_row(ledger, event, under_way.until(event)), "run": one}
            for event in events
        ]
        runs.append(_run(ledger, one, parent, events))
        waiting += [(child, one) for child in ledger.children(one)]
    rows.sort(key=lambda row: cast("int", row["seq"]))
    return {"runs": runs, "rows": cast("list[JsonValue]", rows)}


@dataclass(frozen=True, slots=True)
class UnderWay:
    """When the run at the top was under way: the time between is nobody's."""

    spans: tuple[tuple[datetime, datetime], ...]

    @classmethod
    def of(cls, events: list[Event]) -> UnderWay:
        """Return the spans from each start or resumption to the last event of it."""
        spans: list[tuple[datetime, datetime]] = []
        for event in events:
            now = when(event.time)
            if event.type in ("run.started", "run.resumed") or not spans:
                spans.append((now, now))
            spans[-1] = spans[-1][0], now
        return cls(tuple(spans))

    def until(self, event: Event) -> float:
        """Return how many seconds it was under way until *event*."""
        now = when(event.time)
        ended = [(begin, min(end, now)) for begin, end in self.spans if begin <= now]
        return sum((end - begin).total_seconds() for begin, end in ended)


def _run(
    ledger: Ledger, run: str, parent: str | None, events: list[Event]
) -> dict[str, JsonValue]:
    own = [*own_facts(events)]
    planned = any(one.type == "flow.planned" for one in own)
    marks = [
        f"the run is marked {one.raw.get('mark')}"
        for one in events
        if one.type == "run.marked"
    ]
    passed = [one for one in events if one.type == "recording.bypassed"]
    marks += ["calls went past the recorder"] if passed else []
    steps = [one.scope or "" for one in own if one.type == "flow.step.started"]
    return {
        "run": run,
        "parent": parent,
        "flow": _manifest(ledger, events[0]) if planned else None,
        "steps": cast("list[JsonValue]", steps),
        "made": dict[str, JsonValue](counted_by_flows(events) if planned else {}),
        "doubts": cast("list[JsonValue]", [*dict.fromkeys(marks)]),
    }


def _manifest(ledger: Ledger, started: Event) -> JsonValue:
    ref = started.data.get("params")
    try:
        told = ledger.value(ref) if isinstance(ref, BlobRef) else None
    except ErasedError:
        return None
    return cast("JsonValue", told.get("flow")) if isinstance(told, dict) else None  # pyright: ignore[reportUnknownMemberType] - any JSON


def _row(ledger: Ledger, event: Event, seconds: float) -> dict[str, JsonValue]:
    return {
        "seq": event.seq,
        "type": event.type,
        "scope": event.scope,
        "ordinal": event.ordinal,
        "seconds": round(seconds, 6),
        "data": _data(ledger, event),
    }


def _data(ledger: Ledger, event: Event) -> dict[str, JsonValue]:
    if event.type in _JUDGED:
        return cast("dict[str, JsonValue]", ledger.resolve(event))
    return {name: event.raw[name] for name in _TOLD if name in event.raw}


def subjects_of(
    events: list[SeenEvent], steps: tuple[str, ...] | None = None
) -> Iterator[VerificationSubject]:
    """Yield what was reasoned in each scope, with what it rests upon, to be judged.

    Of a flow, whose *steps* these are, each step is judged, as it is while it runs.
    """
    evidence = [
        (one.scope or "", {name: one.raw.get(name) for name in _EVIDENCE})
        for one in _of(events, "evidence.collected")
    ]
    artifacts = [
        (one.scope or "", {name: one.raw.get(name) for name in _ARTIFACT})
        for one in _of(events, "artifact.produced")
    ]
    bundles: list[Mapping[str, object]] = []
    for one in _of(events, "reasoning.recorded"):
        bundle = _bundle(one.raw)
        bundles.append(bundle)
        yield VerificationSubject(
            target=one.scope or f"event {one.seq}",
            agent=str(one.raw.get("producer")),
            bundle=bundle,
            evidence=_within(one.scope or "", evidence),
            artifacts=_within(one.scope or "", artifacts),
        )
    reasoned = {one.scope for one in _of(events, "reasoning.recorded")}
    for step in steps or ():
        if step not in reasoned:
            yield VerificationSubject(
                target=step,
                agent=step.partition("-")[2],
                evidence=_within(step, evidence),
                artifacts=_within(step, artifacts),
            )
    if bundles or steps:
        yield VerificationSubject(
            target="flow",
            evidence=_within("", evidence),
            artifacts=_within("", artifacts),
            bundles=tuple(bundles),
        )


def _of(events: list[SeenEvent], type_: str) -> Iterator[SeenEvent]:
    return (one for one in events if one.type == type_)


def _within(scope: str, rows: Iterable[tuple[str, Row]]) -> tuple[Row, ...]:
    """Return the rows of events in *scope* and below it."""
    below = f"{scope}/" if scope else ""
    return tuple(row for at, row in rows if at == scope or at.startswith(below))


def _bundle(data: Row) -> dict[str, object]:
    """Return the bundle as a flow has it: as its digest covers it, and with that."""
    return {
        "bundle_id": data["bundle_id"],
        "claims": data["claims"],
        "steps": data["steps"],
        "evidence_ids": data["evidence_ids"],
        "producer_agent_id": data["producer"],
        "digest": data["digest"],
        "signature": data.get("signature"),
    }


_EVIDENCE = (
    *("evidence_id", "determinism", "source_uri", "contract", "score"),
    *("digest", "content"),
)
_ARTIFACT = (
    *("artifact_id", "artifact_type", "scope", "parents", "digest", "content"),
)
