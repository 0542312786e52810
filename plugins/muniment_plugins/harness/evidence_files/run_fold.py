"""What an experiment's run says, by condition: the fold behind results and bundles.

    {"condition": "baseline", "claims": […], "specs": […],
     "code": [{"replicate": 0, "source": "…", "accepted": true}],
     "runs": [{"replicate": 0, "outputs": {…}}], "metrics": {"total": [15]},
     "verdicts": […], "llm_calls": […], "failures": […]}

Rules:

- It reads the ledger's events and their blobs, and nothing else, so that it says the
  same about a run years later. Erased values stay references.
- Refused code is listed beside the accepted, and a failed model call beside the others;
  both with the number of their attempt.
- Everything is in the order of the replicates, whichever ran first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.errors import ErasedError
from muniment.formats.statement import BlobRef
from muniment_plugins.harness.experiment.failures import LACKING, place_in

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["Gathered", "gather"]

Row = dict[str, object]
Call = tuple[str, int]
"""Scope and ordinal of an effect."""

_ATTEMPT = ("accepted", "attempt", "origin", "rule", "message", "line")


@dataclass(slots=True)
class Gathered:
    """Everything that one condition's events say."""

    condition: str
    claims: list[Row] = field(default_factory=list[Row])
    specs: list[Row] = field(default_factory=list[Row])
    code: list[Row] = field(default_factory=list[Row])
    runs: list[Row] = field(default_factory=list[Row])
    metrics: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    verdicts: list[Row] = field(default_factory=list[Row])
    llm_calls: list[Row] = field(default_factory=list[Row])
    failures: list[Row] = field(default_factory=list[Row])
    unjudged: list[Row] = field(default_factory=list[Row])
    """Hypotheses without a verdict, and why they have none."""


class _Fold:
    """One condition's events on their way into its `Gathered`."""

    def __init__(self, condition: str) -> None:
        self.found = Gathered(condition)
        self.measured: dict[int, Row] = {}
        self.calls: dict[Call, Row] = {}

    def ended(self) -> Gathered:
        """Return what was found, in the order of the replicates."""
        found = self.found
        for rows in (found.code, found.runs, found.llm_calls, found.failures):
            rows.sort(key=_replicate)
        for number in sorted(self.measured):
            for name, value in self.measured[number].items():
                found.metrics.setdefault(name, []).append(value)
        return found

    def claim_stated(self, event: Event, data: Row) -> None:
        """Keep the claim, once."""
        del event
        if data not in self.found.claims:
            self.found.claims.append(data)

    def spec_issued(self, event: Event, data: Row) -> None:
        """Keep the spec, once."""
        del event
        if data not in self.found.specs:
            self.found.specs.append(data)

    def synthesis_attempted(self, event: Event, data: Row) -> None:
        """Keep the code, accepted or not."""
        row: Row = {"replicate": _place(event)[1], "source": data["code"]}
        told = {name: data[name] for name in _ATTEMPT if name in data}
        self.found.code.append({**row, **told})

    def metrics_measured(self, event: Event, data: Row) -> None:
        """Keep outputs and metrics, in the order of the code."""
        number = _place(event)[1]
        self.found.runs.append({"replicate": number, "outputs": data["outputs"]})
        if isinstance(data["metrics"], BlobRef) or isinstance(data["order"], BlobRef):
            return
        metrics = cast("Mapping[str, object]", data["metrics"])
        order = cast("list[str]", data["order"])
        self.measured[number] = {name: metrics[name] for name in order}

    def verdict_reached(self, event: Event, data: Row) -> None:
        """Keep the verdict."""
        del event
        self.found.verdicts.append(data)

    def llm_requested(self, event: Event, data: Row) -> None:
        """Keep the request to a model; a further attempt is the same call."""
        row: Row = {"replicate": _place(event)[1], "request": data["request"]}
        call = _call(event)
        if call in self.calls:
            self.calls[call].pop("error", None)
            return
        self.calls[call] = row
        self.found.llm_calls.append(row)

    def llm_completed(self, event: Event, data: Row) -> None:
        """Keep what a model answered."""
        self.calls[_call(event)]["answer"] = data["value"]

    def llm_failed(self, event: Event, data: Row) -> None:
        """Keep how a model failed to answer."""
        told = {name: data.get(name) for name in ("error_type", "message")}
        self.calls[_call(event)]["error"] = told

    def failed(self, event: Event, data: Row) -> None:
        """Keep the failure, unless it only follows from a failed replicate."""
        del event
        if data.get("rule") != LACKING:
            self.found.failures.append(data)


_TAKEN: Mapping[str, Callable[[_Fold, Event, Row], None]] = {
    "claim.stated": _Fold.claim_stated,
    "spec.issued": _Fold.spec_issued,
    "spec.refused": _Fold.failed,
    "synthesis.attempted": _Fold.synthesis_attempted,
    "metrics.measured": _Fold.metrics_measured,
    "verdict.reached": _Fold.verdict_reached,
    "llm.requested": _Fold.llm_requested,
    "llm.completed": _Fold.llm_completed,
    "llm.failed": _Fold.llm_failed,
    "replicate.failed": _Fold.failed,
    "hypothesis.unjudged": _Fold.failed,
}


def gather(ledger: Ledger, events: Iterable[Event]) -> dict[str, Gathered]:
    """Return condition → what the *events* of a run say, in the order of the log."""
    conditions: dict[str, _Fold] = {}
    for event in _told(events):
        condition, _ = _place(event)
        fold = conditions.setdefault(condition, _Fold(condition))
        _TAKEN[event.type](fold, event, _resolved(ledger, event))
    return {name: fold.ended() for name, fold in conditions.items()}


def _told(events: Iterable[Event]) -> Iterable[Event]:
    """Yield the events to gather: those of conditions, not a plugin's inner ones."""
    return (one for one in events if one.type in _TAKEN and _place(one)[0])


def _resolved(ledger: Ledger, event: Event) -> Row:
    """Return the event's data with its blobs read; erased ones stay references."""
    try:
        return ledger.resolve(event)
    except ErasedError:
        return {name: _there(ledger, value) for name, value in event.data.items()}


def _there(ledger: Ledger, value: object) -> object:
    try:
        return ledger.value(value) if isinstance(value, BlobRef) else value
    except ErasedError:
        return value


def _replicate(row: Row) -> int:
    number = row.get("replicate")
    return number if isinstance(number, int) else -1


def _call(event: Event) -> Call:
    return event.scope or "", event.ordinal or 0


def _place(event: Event) -> tuple[str, int]:
    condition, number = place_in(event.scope)
    return condition, number or 0
