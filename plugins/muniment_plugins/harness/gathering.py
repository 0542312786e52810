"""What an experiment's run says, by condition: the fold behind results and bundles.

    {"condition": "baseline", "claims": […], "specs": […],
     "code": [{"replicate": 0, "source": "…", "accepted": true}],
     "runs": [{"replicate": 0, "outputs": {…}}], "metrics": {"total": [15]},
     "verdicts": […], "llm_calls": […], "failures": […]}

Rules: it reads the ledger's events and their contents, and nothing else, so that it
says the same of a run years later; refused code stands beside the accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from muniment.events import Event
    from muniment.ledger import Ledger

__all__ = ["Gathered", "gather"]

Row = dict[str, object]

_SCOPE = re.compile(r"(?P<condition>.+?)(/replicate/(?P<replicate>\d+))?(/@.*)?")


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

    def claim_stated(self, _: int, data: Row) -> None:
        """Keep the claim, once."""
        if data not in self.claims:
            self.claims.append(data)

    def spec_issued(self, _: int, data: Row) -> None:
        """Keep the spec, once."""
        if data not in self.specs:
            self.specs.append(data)

    def synthesis_attempted(self, replicate: int, data: Row) -> None:
        """Keep the code, accepted or not."""
        row: Row = {"replicate": replicate, "source": data["code"]}
        names = ("accepted", "rule", "message", "line")
        self.code.append(
            {**row, **{name: data[name] for name in names if name in data}}
        )

    def metrics_measured(self, replicate: int, data: Row) -> None:
        """Keep outputs and metrics, in the order of the code."""
        self.runs.append({"replicate": replicate, "outputs": data["outputs"]})
        metrics = cast("Mapping[str, object]", data["metrics"])
        for name in cast("list[str]", data["order"]):
            self.metrics.setdefault(name, []).append(metrics[name])

    def verdict_reached(self, _: int, data: Row) -> None:
        """Keep the verdict."""
        self.verdicts.append(data)

    def llm_requested(self, replicate: int, data: Row) -> None:
        """Keep what a model was asked."""
        self.llm_calls.append({"replicate": replicate, "request": data["request"]})

    def llm_completed(self, replicate: int, data: Row) -> None:
        """Keep what a model answered."""
        self._answer(replicate, "answer", data["value"])

    def llm_failed(self, replicate: int, data: Row) -> None:
        """Keep how a model failed to answer."""
        told = {name: data.get(name) for name in ("error_type", "message")}
        self._answer(replicate, "error", told)

    def _answer(self, replicate: int, name: str, value: object) -> None:
        for call in reversed(self.llm_calls):
            if call["replicate"] == replicate and call.keys().isdisjoint(_ANSWERS):
                call[name] = value
                return

    def replicate_failed(self, _: int, data: Row) -> None:
        """Keep what went wrong."""
        self.failures.append(data)

    def hypothesis_unjudged(self, _: int, data: Row) -> None:
        """Keep what was not judged."""
        self.failures.append(data)


_ANSWERS = ("answer", "error")
_TAKEN: Mapping[str, Callable[[Gathered, int, Row], None]] = {
    "claim.stated": Gathered.claim_stated,
    "spec.issued": Gathered.spec_issued,
    "synthesis.attempted": Gathered.synthesis_attempted,
    "metrics.measured": Gathered.metrics_measured,
    "verdict.reached": Gathered.verdict_reached,
    "llm.requested": Gathered.llm_requested,
    "llm.completed": Gathered.llm_completed,
    "llm.failed": Gathered.llm_failed,
    "replicate.failed": Gathered.replicate_failed,
    "hypothesis.unjudged": Gathered.hypothesis_unjudged,
}


def gather(ledger: Ledger, run: str) -> dict[str, Gathered]:
    """Return condition → what its events say, in the order of the log."""
    conditions: dict[str, Gathered] = {}
    for event in ledger.events(run=run):
        take = _TAKEN.get(event.type)
        if take is not None:
            condition, replicate = _place(event)
            gathered = conditions.setdefault(condition, Gathered(condition))
            take(gathered, replicate, ledger.resolve(event))
    return conditions


def _place(event: Event) -> tuple[str, int]:
    match = _SCOPE.fullmatch(event.scope or "")
    if match is None:
        return "", 0
    return match["condition"], int(match["replicate"] or 0)
