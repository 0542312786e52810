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
from typing import TYPE_CHECKING, cast

from muniment import Event
from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import when
from muniment.runs.resume import verified_events
from muniment_plugins.governance.verification.subjects import VerificationSubject

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["SeenEvent", "rows_of", "subjects_of"]

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
        )


def rows_of(ledger: Ledger, run: str) -> list[dict[str, JsonValue]]:
    """Return the rows of *run*.

    Raises:
        WrongError: the record does not verify.
        ErasedError: something that is judged was erased.

    """
    events = verified_events(ledger, run)
    began = when(events[0].time)
    return [
        {
            "seq": event.seq,
            "type": event.type,
            "scope": event.scope,
            "ordinal": event.ordinal,
            "seconds": round((when(event.time) - began).total_seconds(), 6),
            "data": _data(ledger, event),
        }
        for event in events
    ]


def _data(ledger: Ledger, event: Event) -> dict[str, JsonValue]:
    if event.type in _JUDGED:
        return cast("dict[str, JsonValue]", ledger.resolve(event))
    return {name: event.raw[name] for name in _TOLD if name in event.raw}


def subjects_of(events: list[SeenEvent]) -> Iterator[VerificationSubject]:
    """Yield what was reasoned in each scope, with what it rests upon, to be judged."""
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
    if bundles:
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
