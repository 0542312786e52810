"""A run as W3C PROV, in PROV-JSON.

Rules:

- The run and each effect are activities, the actor is an agent, the program a software
  agent; each blob, subject and fact is an entity. What a request refers to was used; what
  an outcome, or a fact, refers to was generated.
- A fact, and an event of an earlier attempt, is the entity ``event-<seq>``, with its type and
  data; so no event is without a place.
- What the run is marked with is ``muniment:mark`` of its activity.
- Times are those that the writer claims. The document is a view, and signs nothing.
"""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from muniment.encoding.canonical import canonical
from muniment_plugins.evidence.exports.record import (
    ExportedEffect,
    ExportedRun,
    about,
    needed,
)

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment_plugins.evidence.report.record import Source

__all__ = ["as_prov"]

_NAMESPACE = "urn:muniment:"


def as_prov(ledger: Source, run: str) -> bytes:
    """Return the run as PROV-JSON.

    Raises:
        CannotTellError: the package prov is not installed.

    """
    try:
        model: Any = import_module("prov.model")
    except ImportError:
        raise needed("prov", "prov") from None
    record = ExportedRun.of(ledger, run)
    document = model.ProvDocument()
    document.add_namespace("muniment", _NAMESPACE)
    _Provenance(document, record).tell()
    text = document.serialize(format="json", indent=1, sort_keys=True)
    return f"{text}\n".encode()


class _Provenance:
    """Adds the parts of a run to a document, each once."""

    def __init__(self, document: Any, record: ExportedRun) -> None:
        self._document = document
        self._record = record
        self._known: set[str] = set()
        self._run = f"muniment:run-{record.run}"

    def tell(self) -> None:
        record, document = self._record, self._document
        first, last = record.events[0], record.events[-1]
        ended = None if record.ended is None else _at(record.ended)
        document.activity(
            self._run,
            _at(first),
            ended,
            [
                ("prov:type", "muniment:run"),
                ("prov:label", record.name),
                ("muniment:ledger", record.ledger.id),
                ("muniment:coverage", record.coverage()),
                ("muniment:last", last.type),
                *(("muniment:mark", one) for one in record.marks),
            ],
        )
        for actor in sorted({event.actor for event in record.events}):
            agent = f"muniment:actor-{actor.encode().hex()}"
            document.agent(agent, {"prov:label": actor})
            document.wasAssociatedWith(self._run, agent)
        program = {"prov:type": "prov:SoftwareAgent", "prov:label": record.name}
        document.agent("muniment:program", program)
        document.wasAssociatedWith(self._run, "muniment:program")
        for step in record.steps:
            self._step(step)
        for fact in record.facts:
            self._fact(fact, self._run)

    def _step(self, step: ExportedEffect) -> None:
        request, outcome = step.request, step.outcome
        name = f"muniment:event-{request.seq}"
        told: list[tuple[str, object]] = [
            ("prov:type", f"muniment:{step.kind}"),
            ("prov:label", step.kind),
            *_told("request", request),
        ]
        if outcome is not None:
            told += [*_told("outcome", outcome), ("muniment:failed", step.failed)]
        ended = None if outcome is None else _at(outcome)
        self._document.activity(name, _at(request), ended, told)
        self._document.wasInformedBy(name, self._run)
        for one in step.earlier:
            self._fact(one, name)
        for entity in self._entities(request):
            self._document.used(name, entity, _at(request))
        for entity in () if outcome is None else self._entities(outcome):
            self._document.wasGeneratedBy(entity, name, ended)

    def _fact(self, fact: Event, activity: str) -> None:
        name = f"muniment:event-{fact.seq}"
        told = [("prov:type", f"muniment:{fact.type}"), *_told("event", fact)]
        self._document.entity(name, told)
        self._document.wasGeneratedBy(name, activity, _at(fact))
        for entity in self._entities(fact):
            self._document.wasDerivedFrom(name, entity)

    def _entities(self, event: Event) -> list[str]:
        """Return the entities that *event* is about, blobs among them."""
        names: list[str] = []
        for subject in about(event):
            name = f"muniment:{subject.digest.replace(':', '-')}"
            if name not in self._known:
                self._known.add(name)
                told = {"prov:label": subject.name, "muniment:digest": subject.digest}
                self._document.entity(name, told)
            names.append(name)
        return names


def _told(part: str, event: Event) -> list[tuple[str, object]]:
    return [
        (f"muniment:{part}-seq", event.seq),
        (f"muniment:{part}-type", event.type),
        (f"muniment:{part}-leaf-hash", event.hash),
        (f"muniment:{part}-scope", event.scope or ""),
        (f"muniment:{part}-data", canonical(event.raw).decode()),
    ]


def _at(event: Event) -> datetime:
    return datetime.fromisoformat(event.time)
