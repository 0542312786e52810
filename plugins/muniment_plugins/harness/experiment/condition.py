"""One condition of an experiment: its replicates, and the verdicts on them.

    half/replicate/0   replicate.started, treatment.applied, data.*, claim.stated, …
    half               verdict.reached

Rules:

- A failed replicate is a fact, and the others continue. If a failed effect caused it,
  no fact is added to the effect's failure: a resume performs that effect again, and
  continues from there.
- Replicates of the same number have the same seed in all conditions: they are pairs.
- A hypothesis is judged once everything that it compares was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from muniment.encoding.canonical import sha256_tag
from muniment.encoding.codec import written
from muniment.errors import EffectFailed, MunimentError, ValueRefused, origins
from muniment.programs.references import Function
from muniment.runs.run import Run
from muniment_plugins.harness.case import Case, Step
from muniment_plugins.harness.claim import as_values
from muniment_plugins.harness.experiment.plan_checks import refuse_condition
from muniment_plugins.harness.experiment.reuse import over
from muniment_plugins.harness.experiment.treatments import (
    Treatment,
    described,
    refuse_mistaken,
)
from muniment_plugins.harness.functions.hosts import Host
from muniment_plugins.harness.preregistration.data_likeness import identity_of
from muniment_plugins.harness.refusals import HarnessRefused, telling
from muniment_plugins.harness.statistics.samples import Samples, Trial
from muniment_plugins.harness.steps.data_source import with_data

if TYPE_CHECKING:
    from muniment_plugins.harness.claim import Claim
    from muniment_plugins.harness.experiment.plan import ExperimentPlan
    from muniment_plugins.harness.statistics.verifiers import Hypothesis
    from muniment_plugins.harness.surroundings import Surroundings

__all__ = ["SEEDS", "Condition", "Failed", "is_held", "told"]

SEEDS = 2**53
"""Seeds are smaller than this: integers that every JSON reader keeps exact."""

_REMEDIES = {
    "bounded_synthesis": "correct the code, widen the spec, or allow more attempts=",
    "execute_capsule": "correct the code, or allow attempts= for its model",
    "run_metamorphic_tests": "correct the property, or the code on such data",
}
"""Step → what to do if the error itself does not say."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure, and where it happened."""

    place: str
    error: Exception

    @property
    def by_effect(self) -> bool:
        """Whether a failed effect caused it, which a resume performs again."""
        return any(isinstance(one, EffectFailed) for one in origins(self.error))


@dataclass(slots=True)
class Condition:
    """One condition on its way through its replicates."""

    program: ExperimentPlan
    name: str
    lane: Run
    treatment: Treatment | None = None
    measured: dict[int, Mapping[str, object]] = field(
        default_factory=dict[int, Mapping[str, object]]
    )
    failures: dict[int, Failed] = field(default_factory=dict[int, Failed])
    claims: dict[int, Claim | None] = field(default_factory=dict[int, "Claim | None"])
    data: dict[int, str] = field(default_factory=dict[int, str])
    """Replicate → digest of its data, if a verdict asks for it."""

    def measure(
        self, number: int, seed: int, host: Host, begins: Callable[[], None]
    ) -> None:
        """Run replicate *number*; keep its measurements or its failure."""
        with self.lane.scope(f"replicate/{number}") as inner:
            lane = over(inner, self.program.earlier)
            about = {"condition": self.name, "replicate": number, "seed": seed}
            lane.record("replicate.started", about)
            at = ["datasource", ""]

            def step_begins(step: Step) -> None:
                at[:] = step.name, getattr(step, "title", "")
                begins()

            try:
                case = self._case(about, lane, host)
                if self.program.tells_data:
                    # Before any step, because a step may change the data in place.
                    told = identity_of if self.program.tells_rows else _digest
                    self.data[number] = told(case.data) or f"replicate {number}"
                steps = self.program.pipeline.under(case.context)
                case = steps(case, lane, step_begins)
                self._keep(number, case, lane)
            except Exception as error:
                if not is_held(error):
                    raise
                self._fail(number, at[0], at[1], error, lane)

    def _case(
        self, about: Mapping[str, object], lane: Surroundings, host: Host
    ) -> Case:
        seed = about["seed"]
        if not isinstance(seed, int):
            raise TypeError("a seed is an integer")
        numbered = {name: about[name] for name in ("condition", "replicate")}
        context = {**self.program.context, **numbered}
        case = Case(seed=seed, context=context, host=host)
        if self.treatment is not None:
            changes = self._changes(self.treatment, case, lane)
            case = replace(case, context={**context, **changes})
        return with_data(self.program, case, about, lane)

    def _changes(
        self, treatment: Treatment, case: Case, lane: Surroundings
    ) -> Mapping[str, object]:
        def ask(function: Function, request: dict[str, object]) -> object:
            def perform(_: object) -> object:
                answer = as_values(case.host.call(function, case.told))
                changes = treatment.changes_in(answer)
                steps, context = self.program.pipeline, self.program.context
                known = steps.takes | context.keys()
                place = f"treatment {treatment.name}"
                refuse_mistaken(changes, known, steps.given, place)
                # A refusal here fails this replicate before it asks a model.
                refuse_condition(self.program, changes, place)
                return changes

            asked = {**request, "replicate": case.context["replicate"]}
            return lane.effect("data", asked, perform=telling(perform))

        changes = treatment.changes(ask)
        fact = described(changes, f"treatment {treatment.name}")
        lane.record("treatment.applied", {"treatment": treatment.name, "changes": fact})
        return changes

    def _keep(self, number: int, case: Case, lane: Surroundings) -> None:
        outputs, metrics = dict(case.outputs or {}), dict(case.metrics)
        missing = [name for name in self.program.outputs if name not in outputs]
        if missing:
            raise HarnessRefused(
                f"the code returns no {', '.join(missing)}",
                rule="harness/output",
                place=self.name,
                remedy="return what .outputs(…) names",
            )
        fact = {
            "replicate": number,
            "metrics": metrics,
            "order": list(metrics),
            "outputs": outputs,
        }
        lane.record("metrics.measured", fact)
        self.measured[number] = metrics
        self.claims[number] = case.claim

    def _fail(
        self,
        number: int,
        step: str,
        function: str,
        error: Exception,
        lane: Surroundings,
    ) -> None:
        failed = Failed(f"{self.name}, replicate {number}, {step}", error)
        self.failures[number] = failed
        if not failed.by_effect:
            fact = {"replicate": number, "step": step, **told(error)}
            fact["function"] = function or None
            fact["line"] = getattr(error, "line", None) or None
            fact["remedy"] = getattr(error, "remedy", "") or _REMEDIES.get(step)
            lane.record("replicate.failed", fact)

    @property
    def stated(self) -> list[Claim]:
        """The claims that its replicates state."""
        return [one for one in self.claims.values() if one is not None]

    @property
    def trial(self) -> Trial:
        """The measurements by replicate, for a verdict."""
        rows = {number: self.measured[number] for number in sorted(self.measured)}
        samples = Samples(rows, self.data, rounds=self.program.tells_rows)
        return Trial(self.name, samples, next(iter(self.stated), None))

    @property
    def whole(self) -> bool:
        """Whether every replicate was measured."""
        return bool(self.measured) and not self.failures

    def reach(
        self, hypothesis: Hypothesis, baseline: Condition
    ) -> dict[str, object] | Failed:
        """Return the data of a verdict, or record and return the verifier's failure."""
        seed, trial = int(self.lane.random() * SEEDS), self.trial
        against = trial if baseline is self else baseline.trial
        try:
            return hypothesis.verdict(against, trial, seed)
        except Exception as error:
            if not is_held(error):
                raise
            return self.leave_open(hypothesis, error)

    def leave_open(self, hypothesis: Hypothesis, error: Exception) -> Failed:
        """Record that *hypothesis* cannot be judged, and why."""
        missed = {"hypothesis": hypothesis.name, **told(error)}
        missed["remedy"] = getattr(error, "remedy", "") or None
        self.lane.record("hypothesis.unjudged", missed)
        return Failed(f"{self.name}, hypothesis {hypothesis.name}", error)

    def first_failure(self) -> tuple[int, Failed] | None:
        """Return the first failed replicate, and its failure."""
        return next(iter(sorted(self.failures.items())), None)


def _digest(data: object) -> str | None:
    """Return the digest of *data*, rows in their order; None if it has none here."""
    try:
        return sha256_tag(written(data)[1])
    except ValueRefused:  # a type that the ledger's plugins know
        return None


def is_held(error: Exception) -> bool:
    """Tell a failure of the replicate from one of the ledger or of a policy."""
    own = (HarnessRefused, EffectFailed)
    return isinstance(error, own) or not isinstance(error, MunimentError)


def told(error: Exception) -> dict[str, object]:
    """Return the members of a fact that describe *error*."""
    message = error.message if isinstance(error, MunimentError) else str(error)
    return {
        "error_type": type(error).__name__,
        "message": message.encode("utf-8", "backslashreplace").decode(),
        "rule": error.rule if isinstance(error, MunimentError) else None,
    }
