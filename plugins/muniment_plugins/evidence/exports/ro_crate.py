"""A run as the metadata of a Process Run Crate 0.5 (RO-Crate 1.1).

    muniment export 01JD3 --format ro-crate -o ro-crate-metadata.json

Rules:

- The run and each effect are a ``CreateAction``: its instrument is the program, a model or
  a tool; its objects are what was asked for, its results what came of it. Facts are results
  of the run.
- Contents are not in the crate: they are named by their digests, which the evidence bundle
  of the run has as files. So the metadata stands alone, and may lie beside the bundle.
- What the run is marked with is in the descriptions of the crate and of the run.
- Dates are those of the record, so that the same run gives the same bytes.
"""

from __future__ import annotations

import json
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from muniment.encoding.canonical import canonical
from muniment.formats.lifecycle import COMPLETED
from muniment_plugins.evidence.exports.record import (
    ExportedEffect,
    ExportedRun,
    about,
    needed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muniment.formats.statement import Event
    from muniment_plugins.evidence.report.record import Source

__all__ = ["PROFILE", "as_ro_crate"]

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_COMPLETED = {"@id": "http://schema.org/CompletedActionStatus"}
_FAILED = {"@id": "http://schema.org/FailedActionStatus"}
_ACTIVE = {"@id": "http://schema.org/ActiveActionStatus"}


def as_ro_crate(ledger: Source, run: str) -> bytes:
    """Return ``ro-crate-metadata.json``.

    Raises:
        CannotTellError: the package rocrate is not installed.

    """
    try:
        model: Any = import_module("rocrate.model")
        library: Any = import_module("rocrate.rocrate")
    except ImportError:
        raise needed("rocrate", "ro-crate") from None
    record = ExportedRun.of(ledger, run)
    crate = library.ROCrate(gen_preview=False, version="1.1")
    last = record.events[-1]
    crate.name = f"Run {record.name}"
    crate.description = (
        f"The record of run {run} of the ledger {ledger.id}: {record.coverage()}. "
        f"{_marked(record)}A view; the evidence bundle of the run has the signed events."
    )
    crate.datePublished = datetime.fromisoformat(last.time)
    crate.license = "the keeper of the ledger states none"
    _Crate(crate, model.ContextEntity, record).tell()
    found = crate.metadata.generate()
    return (
        json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"
    )


class _Crate:
    """Adds the parts of a run to a crate, each once."""

    def __init__(self, crate: Any, entity: Any, record: ExportedRun) -> None:
        self._crate = crate
        self._entity = entity
        self._record = record

    def tell(self) -> None:
        record, crate = self._record, self._crate
        first, last = record.events[0], record.events[-1]
        profile = {
            "@type": "CreativeWork",
            "name": "Process Run Crate",
            "version": "0.5",
        }
        self._add(PROFILE, profile)
        crate.root_dataset["conformsTo"] = {"@id": PROFILE}
        program = self._add(
            "#program", {"@type": "SoftwareApplication", "name": record.name}
        )
        actors = [
            self._add(f"#actor-{one.encode().hex()}", {"@type": "Person", "name": one})
            for one in sorted({event.actor for event in record.events})
        ]
        results = [self._event(fact) for fact in record.facts]
        ended = _ACTIVE if record.ended is None else _FAILED
        if record.ended is not None and record.ended.type == COMPLETED:
            ended = _COMPLETED
        action = self._add(
            f"#run-{record.run}",
            {
                "@type": "CreateAction",
                "name": f"Run {record.name}",
                "instrument": program,
                "agent": actors,
                "startTime": first.time,
                "endTime": last.time,
                "actionStatus": ended,
                "object": self._contents([first]),
                "result": results,
                **({"description": _marked(record).strip()} if record.marks else {}),
            },
        )
        crate.root_dataset["mentions"] = [
            action,
            *(self._step(step, actors) for step in record.steps),
        ]

    def _step(
        self, step: ExportedEffect, actors: list[dict[str, str]]
    ) -> dict[str, str]:
        request, outcome = step.request, step.outcome
        stated = request.raw.get("about")
        named = stated if isinstance(stated, dict) else {}
        tool = str(named.get("model") or named.get("name") or step.kind)
        instrument = self._add(
            f"#tool-{step.kind}-{tool.encode().hex()}",
            {"@type": "SoftwareApplication", "name": f"{step.kind}: {tool}"},
        )
        told = step.events
        status = _ACTIVE if outcome is None else _FAILED if step.failed else _COMPLETED
        action = {
            "@type": "CreateAction",
            "name": f"{step.kind}: {tool}",
            "instrument": instrument,
            "agent": actors,
            "startTime": request.time,
            "actionStatus": status,
            "description": "; ".join(_said(one) for one in told),
            "object": self._contents([*step.earlier, request]),
            "result": self._contents([] if outcome is None else [outcome]),
        }
        if outcome is not None:
            action["endTime"] = outcome.time
        if outcome is not None and step.failed and "error_type" in outcome.raw:
            action["error"] = str(outcome.raw["error_type"])
        return self._add(f"#event-{request.seq}", action)

    def _event(self, event: Event) -> dict[str, str]:
        about = {
            "@type": "CreativeWork",
            "name": event.type,
            "description": _said(event),
        }
        parts = self._contents([event])
        return self._add(
            f"#event-{event.seq}", {**about, "hasPart": parts} if parts else about
        )

    def _contents(self, events: Iterable[Event]) -> list[dict[str, str]]:
        """Return what the events are about, by digest; each once."""
        found = {one.digest: one for event in events for one in about(event)}
        return [
            self._add(
                f"urn:sha256:{digest.removeprefix('sha256:')}",
                {"@type": "CreativeWork", "name": one.name, "identifier": digest},
            )
            for digest, one in sorted(found.items())
        ]

    def _add(self, name: str, properties: dict[str, Any]) -> dict[str, str]:
        if self._crate.dereference(name) is None:
            self._crate.add(self._entity(self._crate, name, properties))
        return {"@id": name}


def _marked(record: ExportedRun) -> str:
    """Return a sentence on what the run is marked with, if anything."""
    return f"The run is marked: {', '.join(record.marks)}. " if record.marks else ""


def _said(event: Event) -> str:
    """Return number, type, leaf hash and data of an event."""
    data = canonical(event.raw).decode()
    return f"event {event.seq} {event.type} {event.hash} {data}"
