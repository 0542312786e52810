"""The verdicts about the steps of a flow, and about the flow.

    step/0-agent-a    verification.judged {"engine": "content", "status": "pass", …}
                      verification.arbitrated {"rule": "unanimous", "status": "pass", …}

Rules:

- Each engine that had something to judge states its verdict; arbitration makes one of
  them; what people decide of it is stated beside it. None takes another's place.
- *fail* fails the flow, at once or, with ``failure_mode: continue``, at its end; with
  ``escalate`` people decide of it, as of every *escalate*.
- Under an unsafe policy a verdict is noted, the flow goes on, and the run is marked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from muniment.runs.halts.raised import passes_through
from muniment.runs.run import Run
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.edition import EDITION
from muniment_plugins.governance.flows.failed import (
    FlowFailed,
    told,
)
from muniment_plugins.governance.flows.plan import PlannedStep
from muniment_plugins.governance.flows.steps.artifacts import FlowArtifact
from muniment_plugins.governance.flows.steps.counts import FlowCounts
from muniment_plugins.governance.flows.steps.function_lanes import FunctionLane
from muniment_plugins.governance.flows.steps.reasoning import ReasoningBundle
from muniment_plugins.governance.flows.steps.retrieval import stated
from muniment_plugins.governance.flows.steps.step import FlowState, StepOutcome
from muniment_plugins.governance.verification.arbitration import (
    ArbitratedVerdict,
    arbitrate,
)
from muniment_plugins.governance.verification.engines import judged_by
from muniment_plugins.governance.verification.escalation import (
    decided_by_people,
    uncertain,
)
from muniment_plugins.governance.verification.rulebook import Rulebook
from muniment_plugins.governance.verification.subjects import (
    EngineVerdict,
    VerificationSubject,
    Violation,
)

__all__ = ["FlowVerdicts"]


@dataclass(slots=True)
class FlowVerdicts:
    """The verdicts of one run of a flow."""

    policy: GovernancePolicy
    book: Rulebook
    counts: FlowCounts
    edition: int = EDITION
    said: dict[str, str] = field(default_factory=dict[str, str])
    """Target → verdict."""
    _failed: list[FlowFailed] = field(default_factory=list[FlowFailed])
    _marked: bool = False

    def judge_step(self, lane: Run, step: PlannedStep, outcome: StepOutcome) -> None:
        """Judge what a step made.

        Raises:
            FlowFailed: it fails, and the flow with it.
            RunPaused: people have to decide, and have not.

        """
        subject = VerificationSubject(
            target=step.scope,
            agent=step.agent,
            bundle=_bundle(outcome.bundle),
            evidence=tuple(map(stated, outcome.evidence)),
            artifacts=tuple(map(_artifact, outcome.artifacts)),
        )
        self._judge(lane, subject)

    def judge_flow(self, run: Run, state: FlowState) -> None:
        """Judge the flow, by all that its steps reasoned and collected.

        Raises:
            FlowFailed: it fails.
            RunPaused: people have to decide, and have not.

        """
        subject = VerificationSubject(
            target="flow",
            evidence=tuple(map(stated, state.evidence.values())),
            artifacts=tuple(map(_artifact, state.store.made)),
            bundles=tuple(
                row for one in state.bundles if (row := _bundle(one)) is not None
            ),
        )
        self._judge(run, subject)

    def raise_failure(self) -> None:
        """Raise the first failure that the flow went on after, if there is one.

        Raises:
            FlowFailed: there is.

        """
        if self._failed:
            raise self._failed[0]

    def _judge(self, lane: Run, subject: VerificationSubject) -> None:
        verdicts = [
            self._asked(engine, subject, lane)
            for engine in self.policy.verification.engines
        ]
        for one in verdicts:
            if one.status != "abstain":
                lane.record("verification.judged", one.stated(subject.target))
        verdict = arbitrate(
            subject.target,
            verdicts,
            self.policy.verification,
            self._uncertain(subject),
            even_unjudged=self.edition > 1,
        )
        lane.record("verification.arbitrated", verdict.stated())
        violations = [one for made in verdicts for one in made.violations]
        self._settle(lane, subject, verdict, violations)

    def _uncertain(self, subject: VerificationSubject) -> list[str]:
        """Return the determinism of evidence that people may have to be asked about.

        That of a flow was asked about where its steps collected it.
        """
        unjudged = self.edition == 1 and subject.bundle is None
        found = () if subject.is_flow or unjudged else subject.evidence
        return [str(one["determinism"]) for one in found]

    def _asked(
        self, engine: str, subject: VerificationSubject, lane: Run
    ) -> EngineVerdict:
        """Return what *engine* says.

        Raises:
            FlowFailed: it, or a check of the policy, raised something.

        """
        try:
            with FunctionLane.of(lane):
                return judged_by(engine, subject, self.book, lane.values)
        except BaseException as error:
            if passes_through(error):
                raise
            raise FlowFailed(
                f"the engine {engine} raised {told(error)}",
                rule="flow/rule",
                place=subject.target,
                remedy="correct the check or the engine; --debug shows the traceback",
            ) from error

    def _settle(
        self,
        lane: Run,
        subject: VerificationSubject,
        verdict: ArbitratedVerdict,
        violations: list[Violation],
    ) -> None:
        mode = self.policy.verification.failure_mode
        passed = verdict.status in ("pass", "abstain")
        if not passed and self.policy.mode == "unsafe":
            self.said[verdict.target] = verdict.status
            self._note(lane, verdict, violations)
            return
        if verdict.status == "escalate" or (not passed and mode == "escalate"):
            why = ""
            if self.edition > 1:
                why = uncertain(subject, self.policy.verification)
            verdict = decided_by_people(
                lane, verdict, subject, violations, self.policy.approvers, why
            )
            lane.record("verification.arbitrated", verdict.stated())
        self.said[verdict.target] = verdict.status
        if verdict.status == "fail":
            failed = _failure(verdict, violations)
            if mode != "continue":
                raise failed
            self._failed.append(failed)

    def _note(
        self, lane: Run, verdict: ArbitratedVerdict, violations: list[Violation]
    ) -> None:
        wrong = [one for one in violations if one.status != "noted"]
        for rule, detail in [(one.rule, one.detail) for one in wrong] or [
            ("arbitration", f"the verdict is {verdict.status}")
        ]:
            said = {"target": verdict.target, "rule": rule, "detail": detail}
            lane.record("violation.noted", said)
        if not self._marked:
            self._marked = True
            self.counts.mark(
                lane, f"{verdict.target}: {verdict.status}, and unsafe goes on"
            )


def _failure(verdict: ArbitratedVerdict, violations: list[Violation]) -> FlowFailed:
    wrong = [one for one in violations if one.status != "noted"]
    by = "people denied it" if verdict.decided_by == "people" else ""
    first = f"{wrong[0].rule}: {wrong[0].detail}" if wrong else f"by {verdict.rule}"
    others = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return FlowFailed(
        f"verification failed: {by or first}{'' if by else others}",
        rule="flow/denied" if by else "flow/verification",
        place=verdict.target,
        remedy="its verification.judged events say all that is wrong",
    )


def _artifact(one: FlowArtifact) -> dict[str, object]:
    return {
        "artifact_id": one.artifact_id,
        "artifact_type": one.artifact_type,
        "scope": one.scope,
        "parents": [*one.parents],
        "digest": one.digest,
        "content": one.kept,
    }


def _bundle(one: ReasoningBundle | None) -> dict[str, object] | None:
    if one is None:
        return None
    signature = None if one.signature is None else dict(one.signature)
    return {**one.document(), "digest": one.digest, "signature": signature}
