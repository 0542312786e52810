"""Refuses a plan that cannot work before anything is asked or executed.

    .build()    HarnessRefused: Unknown metamorphic transform: permute_row [harness/…]

Rules:

- The check takes each condition through its steps as it will run, as far as the plan is
  known: the steps in their order, the properties of its spec, the names that its code
  returns, the packages of its data, its claim before its verifiers.
- It refuses what the run would refuse, by the same rule. What is not known yet (what a
  model writes, what a custom step or a treatment's function returns) is left to the
  run.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment_plugins.harness.case import Case
from muniment_plugins.harness.claim import Spec
from muniment_plugins.harness.data_packages import refuse_foreign
from muniment_plugins.harness.experiment.prospects import Prospect, refuse_hopeless
from muniment_plugins.harness.functions.remote_call import require_importable
from muniment_plugins.harness.metamorphic_tests.step import TestProperties
from muniment_plugins.harness.names import known_first
from muniment_plugins.harness.preregistration.registration import functions_of
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.statistics.verifiers import judged_by
from muniment_plugins.harness.steps.claim_and_spec import IssueSpec, StateClaim
from muniment_plugins.harness.steps.custom import Custom
from muniment_plugins.harness.steps.execution import Execute
from muniment_plugins.harness.steps.pipeline import Pipeline
from muniment_plugins.harness.steps.returned_names import returned_names
from muniment_plugins.harness.steps.synthesis import Synthesize

if TYPE_CHECKING:
    from muniment_plugins.harness.experiment.plan import ExperimentPlan

__all__ = ["refuse_plan", "refuse_unimportable"]

_OURS = (Custom, Execute, IssueSpec, StateClaim, Synthesize, TestProperties)
_NUMBERED = ("condition", "replicate")


def refuse_unimportable(program: ExperimentPlan, executor: str) -> None:
    """Refuse a *program* whose functions other processes cannot import.

    Raises:
        UsageError: it names the first such function, and what to do.

    """
    judges = {id(one.verifier.function) for one in program.hypotheses}
    for function in functions_of(program):
        if id(function) not in judges:  # verifiers run in the run's own process
            require_importable(function, executor)


def refuse_plan(program: ExperimentPlan) -> None:
    """Refuse a *program* that cannot work.

    Raises:
        HarnessRefused: what is wrong, and in which condition.

    """
    changes = {one.name: one.fixed for one in program.treatments}
    outlooks = [_outlook(program, {}, "")]
    for name, fixed in changes.items():
        ahead = None if fixed is None else _outlook(program, fixed, f"treatment {name}")
        outlooks.append(ahead)
    for hypothesis in program.hypotheses:
        verifier = hypothesis.verifier
        for ahead in judged_by(verifier.compares, outlooks):
            if ahead is not None:
                prospect = ahead.prospect(alone=len(outlooks) == 1)
                with _at(f"hypothesis {hypothesis.name}"):
                    refuse_hopeless(verifier, prospect)


def _outlook(
    program: ExperimentPlan, changes: Mapping[str, object], place: str
) -> Outlook | None:
    """Return how one condition will go; None if a step is of an unknown class."""
    context = {**program.context, **changes}
    pipeline = program.pipeline.under(context)
    if not all(isinstance(step, _OURS) for step in pipeline):
        return None
    case = Case(entrypoint=pipeline.entrypoint, context=context)
    ahead = Outlook(replace(case, context={**context, **dict.fromkeys(_NUMBERED)}))
    ahead.go(pipeline, program.outputs, place)
    return ahead


@dataclass(slots=True)
class Outlook:
    """One condition, taken through its steps before it runs."""

    case: Case
    spec_known: bool = False
    returned: frozenset[str] | None = None
    """Names that the code returns; None if they are not known."""
    tests: bool = False
    own: bool = False
    """Whether custom steps may add any metric."""

    def go(self, pipeline: Pipeline, outputs: tuple[str, ...], place: str) -> None:
        """Take all steps; refuse the first that could not work."""
        for step in pipeline:
            with _at(place):
                self._take(step)
        missing = sorted(set(outputs) - (self.returned or set()))
        if self.returned is not None and missing:
            raise HarnessRefused(
                f"the code returns no {', '.join(missing)}",
                rule="harness/output",
                place=place,
                remedy="return what .outputs(…) names",
            )

    def _take(self, step: object) -> None:
        if isinstance(step, Custom):
            step.require(self.case.told.known)
            self.own = True
        elif isinstance(step, StateClaim):
            self.case = replace(self.case, claim=step.claim)
        elif isinstance(step, IssueSpec):
            self.case.the_claim()
            self.spec_known = step.spec is not None
            self.case = replace(self.case, spec=step.spec or Spec())
        elif isinstance(step, Synthesize):
            self._bring(step)
        elif isinstance(step, Execute):
            self.case.the_code()
            self._execute(step)
        elif isinstance(step, TestProperties):
            self._test(step)

    def _bring(self, step: Synthesize) -> None:
        spec = self.case.the_spec()
        if step.repairs:
            self.case.the_claim()
        if "data" in self.case.context and self.spec_known and not self.own:
            refuse_foreign(self.case.context["data"], spec)
        entrypoint = step.entrypoint or self.case.entrypoint
        self.case = replace(self.case, code=step.code or "", entrypoint=entrypoint)
        self.returned = None

    def _execute(self, step: Execute) -> None:
        entrypoint = step.entrypoint or self.case.entrypoint
        code = self.case.code
        self.returned = returned_names(code, entrypoint) if code else None
        self.case = replace(self.case, outputs={})

    def _test(self, step: TestProperties) -> None:
        relations = self.case.the_spec().relations if self.spec_known else ()
        for prop in relations:
            self.case.the_outputs()
            step.require(prop)
            known = self.returned
            if (
                known is not None
                and prop.metric is not None
                and prop.metric not in known
            ):
                names = ", ".join(known_first(prop.metric, sorted(known)))
                raise HarnessRefused(
                    f"the code returns no {prop.metric}",
                    rule="harness/metric",
                    place=f"property {prop.name}",
                    remedy=f"it returns {names}" if names else "return it",
                )
        self.tests = True

    def prospect(self, *, alone: bool) -> Prospect:
        """Return what there will be to judge."""
        relations = self.case.the_spec().relations if self.spec_known else ()
        names = frozenset(one.name for one in relations)
        tested = names if self.spec_known else None
        if not self.tests:
            tested = frozenset[str]()
        unknown = self.returned is None or self.own or tested is None
        passes = {f"{one}_pass" for one in tested or ()}
        metrics = None if unknown else frozenset({*(self.returned or ()), *passes})
        return Prospect(self.case.claim, metrics, tested, alone)


@contextmanager
def _at(place: str) -> Generator[None]:
    """Add *place* to a refusal."""
    try:
        yield
    except HarnessRefused as refusal:
        refusal.place = ", ".join(filter(None, (place, refusal.place)))
        raise
