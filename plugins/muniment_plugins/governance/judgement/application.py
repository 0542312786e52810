"""The judge, where it is used: replays, two runs, and what a run says of its own terms.

    judged_replay(ledger, run)                      a replay under the run's own terms
    judge_runs(ledger, one, other, Terms("bounded"))

Rules:

- A run has terms of its own if a policy governed it or a flow is its program. What the
  policy says counts, else what the manifest says.
- The verdict on a replay is the judgement's. What the judgement says besides is in the
  details of ``replay.judged``, with the isolation that stood.
- Child runs that are replayed with a run are judged each under its own terms, if it has
  some; the verdict is the worst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import BlobRef, Event
from muniment.replays.certainty import require_plugins
from muniment.replays.replay import record_verdict, replay
from muniment.replays.report import VERDICTS, Mode, ReplayReport
from muniment_plugins.governance.documents.words import Acceptability
from muniment_plugins.governance.judgement.judge import Judgement, judge
from muniment_plugins.governance.judgement.record import (
    observed_of,
    record_of,
    recorded_of,
)
from muniment_plugins.governance.judgement.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from muniment.ledger import Ledger

__all__ = [
    "JudgedReplay",
    "details_of",
    "judge_report",
    "judge_runs",
    "judged_replay",
    "terms_of",
    "with_judgements",
]

Document: TypeAlias = Mapping[str, JsonValue]

PLUGIN = "governance"
LANE = f"plugin/{PLUGIN}"
"""The scope of the facts that the plugin states itself: no program can."""
POLICIES = ("policy.adopted", "policy.amended")


@dataclass(frozen=True, slots=True)
class JudgedReplay:
    """A replay with the judgement on it."""

    report: ReplayReport
    judgement: Judgement


def terms_of(ledger: Ledger, run: str) -> Terms | None:
    """Return the terms that *run* was recorded under; None for an ungoverned run.

    Raises:
        ErasedError: its policy or its flow was erased.
        UsageError: they are not terms.

    """
    (started,) = ledger.events(run=run, limit=1)
    flow, policy = _flow(ledger, started), _policy(ledger, run)
    if flow is None and policy is None:
        return None
    said = {**_stated(flow or {}), **_stated(policy or {})}
    envelope = said.get("replay_envelope", {})
    allowed = cast("Document", envelope if isinstance(envelope, dict) else {})
    default = Terms()
    return Terms(
        cast("Mode", said.get("replay_mode", default.mode)),
        cast("Acceptability", said.get("replay_acceptability", default.acceptability)),
        float(cast("float", allowed.get("min_claim_overlap", 1.0))),
        cast("int", allowed.get("max_contradiction_delta", 0)),
        cast("Mapping[str, float]", allowed.get("metric_tolerances") or {}),
    )


def _stated(document: Document) -> Document:
    return {name: value for name, value in document.items() if value is not None}


def _flow(ledger: Ledger, started: Event) -> Document | None:
    ref = started.data.get("params")
    params: object = ledger.value(ref) if isinstance(ref, BlobRef) else None
    known = cast("Mapping[str, object]", params if isinstance(params, dict) else {})
    flow = cast("Document", known.get("flow"))
    return flow if isinstance(flow, dict) and "flow_id" in flow else None


def _policy(ledger: Ledger, run: str) -> Document | None:
    """Return the policy that governs the run; the last one, if it was amended."""
    found: Document | None = None
    for event in ledger.events(run=run):
        if event.scope == LANE and event.type in POLICIES:
            document = ledger.resolve(event).get("document")
            found = cast("Document", document) if isinstance(document, dict) else found
    return found


def judge_report(ledger: Ledger, report: ReplayReport, terms: Terms) -> Judgement:
    """Judge what one replay saw by the record that it was compared with.

    Raises:
        CannotTellError: nothing was compared, or a plugin is missing.

    """
    seen = report.seen[0]
    expected = recorded_of(ledger, seen.recorded())
    said = judge(expected, observed_of(expected, seen), terms)
    if said.blocking:
        require_plugins(ledger, seen.record, report.findings, seen.run)
    return said


def judge_runs(ledger: Ledger, one: str, other: str, terms: Terms) -> Judgement:
    """Judge the run *other* by the run *one*.

    Raises:
        CannotTellError: nothing can be compared, or a plugin is missing.
        ErasedError: content that is needed was erased.

    """
    return judge(record_of(ledger, one), record_of(ledger, other), terms)


def with_judgements(
    report: ReplayReport, judgements: Sequence[Judgement]
) -> ReplayReport:
    """Return *report* with the worst verdict of the *judgements* on what it saw."""
    verdicts = [one.verdict for one in judgements]
    if len(judgements) < len(report.seen):
        verdicts.append(report.verdict)
    worst = max(verdicts, key=VERDICTS.index, default=report.verdict)
    return replace(report, verdict=worst)


def details_of(
    report: ReplayReport, judgements: Sequence[Judgement]
) -> dict[str, JsonValue]:
    """Return what ``replay.judged`` says about the judgements, under the plugin's name.

    The first is that on the run itself; the others are those on its child runs.
    """
    first, *below = judgements
    held = report.isolation or {"level": "process", "layers": [], "missing": {}}
    stood: JsonValue = {**held, "guards": list(report.guards)}
    told: dict[str, JsonValue] = {**first.to_json(), "isolation": stood}
    if below:
        told["children"] = [one.to_json() for one in below]
    return {PLUGIN: told}


def judged_replay(
    ledger: Ledger,
    run: str,
    terms: Terms | None = None,
    *,
    program: Callable[..., object] | None = None,
    record: bool = False,
) -> JudgedReplay:
    """Replay *run* in this process, and judge it.

    Args:
        ledger: the ledger that holds the run.
        run: the run's id, or a unique prefix.
        terms: by default those of the run, or strict ones.
        program: needed if it cannot be imported by its recorded name.
        record: append the verdict as a new run that names the original.

    Raises:
        CannotTellError: it cannot be replayed, or nothing was compared.

    """
    run = ledger.run_id(run)
    terms = terms or terms_of(ledger, run) or Terms()
    report = replay(ledger, run, program, terms.mode)
    judgement = judge_report(ledger, report, terms)
    report = with_judgements(report, [judgement])
    if record:
        report = record_verdict(ledger, report, details_of(report, [judgement]))
    return JudgedReplay(report, judgement)
