"""The judge, where it is used: replays, two runs, and what a run says of its own terms.

    judged_replay(ledger, run)                      a replay under the run's own terms
    judge_runs(ledger, one, other, Terms("bounded"))

Rules:

- A run has terms of its own if a policy governed it or a flow is its program. What the
  policy says counts, else what the manifest says.
- The verdict on a replay is the judgement's. What the judgement says besides is in the
  details of ``replay.judged``, with the isolation that stood.
- Child runs that are replayed with a run are judged each by its own record, and under its
  own terms unless others are given; the verdict is the worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment.replays.certainty import require_known
from muniment.replays.replay import called_by, record_verdict, replay
from muniment.replays.report import VERDICTS, ReplayReport
from muniment_plugins.governance.budgets.adopted import in_force
from muniment_plugins.governance.governed import PLUGIN
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
    from muniment_plugins.governance.documents.budgets import ReplayEnvelope

__all__ = [
    "JudgedReplay",
    "details_of",
    "judge_report",
    "judge_runs",
    "judged_replay",
    "terms_of",
    "with_judgements",
]


@dataclass(frozen=True, slots=True)
class JudgedReplay:
    """A replay with the judgements on it."""

    report: ReplayReport
    judgements: tuple[Judgement, ...]
    """On the run itself, and on each child run that was replayed with it."""

    @property
    def judgement(self) -> Judgement:
        """The one on the run itself."""
        return self.judgements[0]


def terms_of(ledger: Ledger, run: str) -> Terms | None:
    """Return the terms that *run* was recorded under; None for an ungoverned run.

    Raises:
        ErasedError: its policy or its flow was erased.
        RefusedError: they are not the ones whose digests it states.
        UsageError: this version cannot read them.

    """
    governing = in_force(ledger, run)
    if governing is None:
        return None
    policy, flow, terms = governing.policy, governing.flow, Terms()
    if flow is not None:
        own = Terms(flow.replay_mode, flow.replay_acceptability)
        terms = _within(own, flow.replay_envelope)
    terms = replace(
        terms,
        mode=policy.replay_mode or terms.mode,
        acceptability=policy.replay_acceptability or terms.acceptability,
    )
    envelope = policy.replay_envelope
    return terms if envelope is None else _within(terms, envelope)


def _within(terms: Terms, envelope: ReplayEnvelope) -> Terms:
    return replace(
        terms,
        min_claim_overlap=envelope.min_claim_overlap,
        max_contradiction_delta=envelope.max_contradiction_delta,
        metric_tolerances=envelope.metric_tolerances,
    )


def judge_report(ledger: Ledger, report: ReplayReport, terms: Terms) -> Judgement:
    """Judge what one replay saw by the record that it was compared with.

    Raises:
        CannotTellError: nothing was compared, or a plugin is missing.

    """
    seen = report.seen[0]
    expected = recorded_of(ledger, seen.recorded())
    said = judge(expected, observed_of(expected, seen), terms)
    if said.blocking:
        require_known(ledger, seen.record, report.findings, seen.run)
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
    children: bool = False,
) -> JudgedReplay:
    """Replay *run* in this process, and judge it.

    Args:
        ledger: the ledger that holds the run.
        run: the run's id, or a unique prefix.
        terms: by default those of each run, or strict ones.
        program: needed if it cannot be imported by its recorded name.
        record: append the verdict as a new run that names the original.
        children: also replay and judge each child run, and those below it; the verdict
            is the worst, and their programs are imported.

    Raises:
        CannotTellError: it cannot be replayed, or nothing was compared.

    """
    run = ledger.run_id(run)
    chosen = terms or terms_of(ledger, run) or Terms()
    report = replay(ledger, run, program, chosen.mode)
    judgements = [judge_report(ledger, report, chosen)]
    report = with_judgements(report, judgements)
    if children:
        report = replace(report, children=0)
        for child in called_by(ledger, run):
            below = judged_replay(ledger, child, terms, children=True)
            report = report.with_child(below.report)
            judgements += below.judgements
    if record:
        report = record_verdict(ledger, report, details_of(report, judgements))
    return JudgedReplay(report, tuple(judgements))
