"""Refuses a plan that cannot work before anything is asked or executed.

    .build()    HarnessRefused: Unknown metamorphic transform: permute_row [harness/…]

Rules:

- The check takes each condition through its steps as it will run, as far as the plan is
  known: the steps in their order, the properties of its spec, the names that its code
  returns, the packages of its data, its claim before its verifiers.
- It refuses what the run would refuse, by the same rule. What is not known yet (what a
  model writes, what a custom step or a treatment's function returns) is left to the
  run. What a treatment's function returns is checked in the same way when it is known,
  before that replicate asks a model.
- A treatment's function may change what is tested and measured; what the plan claims is
  judged as it stands.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from muniment_plugins.harness.case import Case
from muniment_plugins.harness.claim import Claim, Spec
from muniment_plugins.harness.data_packages import refuse_foreign
from muniment_plugins.harness.experiment.prospects import Prospect, refuse_hopeless
from muniment_plugins.harness.functions.remote_call import require_importable
from muniment_plugins.harness.functions.signatures import require_takes
from muniment_plugins.harness.metamorphic_tests.step import TestProperties
from muniment_plugins.harness.names import known_first
from muniment_plugins.harness.preregistration.one_claim import two_claims
from muniment_plugins.harness.preregistration.registration import functions_of
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.statistics.verifiers import judged_by
from muniment_plugins.harness.steps.admission import refuse_bounds
from muniment_plugins.harness.steps.claim_and_spec import IssueSpec, StateClaim
from muniment_plugins.harness.steps.custom import Custom
from muniment_plugins.harness.steps.execution import Execute
from muniment_plugins.harness.steps.model_call import Model, Provider
from muniment_plugins.harness.steps.pipeline import Pipeline
from muniment_plugins.harness.steps.returned_names import returned_names
from muniment_plugins.harness.steps.synthesis import Synthesize
from muniment_plugins.harness.surroundings import here

if TYPE_CHECKING:
    from muniment.programs.references import Function
    from muniment_plugins.harness.experiment.plan import ExperimentPlan

__all__ = ["refuse_condition", "refuse_plan", "refuse_unimportable"]

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
    about = {"rule": "harness/experiment", "place": "datasource"}
    require_takes(program.datasource, "ctx", **about)
    for one in program.treatments:
        if one.fixed is None:
            about = {"rule": "harness/treatment", "place": f"treatment {one.name}"}
            require_takes(cast("Function", one.apply), "ctx", **about)
    for hypothesis in program.hypotheses:
        with _at(f"hypothesis {hypothesis.name}"):
            hypothesis.verifier.require()
    baseline = _outlook(program, {}, "")
    places = [f"treatment {one.name}" for one in program.treatments]
    others = [
        _outlook(program, one.fixed, place)
        for one, place in zip(program.treatments, places, strict=True)
    ]
    _refuse_two_claims(places, others, baseline)
    _refuse_hopeless(program, baseline, [baseline, *others])


def refuse_condition(
    program: ExperimentPlan, changes: Mapping[str, object], place: str
) -> None:
    """Refuse *changes* under which a condition of *program* cannot work.

    Raises:
        HarnessRefused: as `refuse_plan`.

    """
    baseline, ahead = _outlook(program, {}, ""), _outlook(program, changes, place)
    _refuse_two_claims([place], [ahead], baseline)
    _refuse_hopeless(program, baseline, [baseline, ahead])


def _refuse_hopeless(
    program: ExperimentPlan,
    baseline: Outlook | None,
    outlooks: Sequence[Outlook | None],
) -> None:
    """Refuse the hypotheses of *program* that could not be judged on *outlooks*."""
    before = None if baseline is None else baseline.metrics
    for hypothesis in program.hypotheses:
        verifier = hypothesis.verifier
        for ahead in judged_by(verifier.compares, outlooks):
            if ahead is not None:
                alone = len(outlooks) == 1
                with _at(f"hypothesis {hypothesis.name}"):
                    refuse_hopeless(verifier, ahead.prospect(before, alone=alone))


def _refuse_two_claims(
    places: Iterable[str], treated: Sequence[Outlook | None], baseline: Outlook | None
) -> None:
    """Refuse treatments whose claim is another one under an id that is taken."""
    known = [] if baseline is None else baseline.claims
    for place, ahead in zip(places, treated, strict=True):
        if ahead is not None and (refusal := two_claims(ahead.claims, known)):
            with _at(place):
                raise refusal
        known = [*known, *([] if ahead is None else ahead.claims)]


def _outlook(
    program: ExperimentPlan, changes: Mapping[str, object] | None, place: str
) -> Outlook | None:
    """Return how one condition will go; None if a step is of an unknown class.

    Without *changes*, a function decides them, of which nothing is known.
    """
    context = {**program.context, **(changes or {})}
    pipeline = program.pipeline.under(context)
    if not all(isinstance(step, _OURS) for step in pipeline):
        return None
    case = Case(entrypoint=pipeline.entrypoint, context=context)
    ahead = Outlook(replace(case, context={**context, **dict.fromkeys(_NUMBERED)}))
    ahead.go(pipeline, () if changes is None else program.outputs, place)
    ahead.open = changes is None
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
    open: bool = False
    """Whether a function may change the spec, the code and the claim."""

    @property
    def claims(self) -> list[Claim]:
        """The claim that will be stated, if one will."""
        return [] if self.case.claim is None else [self.case.claim]

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
            known = self.case.told.known
            step.require(known)
            given = step.given_by_name(known)
            about = {"rule": "harness/step", "place": step.title}
            require_takes(step.function, "data", given, **about)
            self.own = True
        elif isinstance(step, StateClaim):
            self.case = replace(self.case, claim=step.claim)
        elif isinstance(step, IssueSpec):
            self.case.the_claim()
            self.spec_known = step.spec is not None
            self.case = replace(self.case, spec=step.spec or Spec())
            _require_model(step.llm, "claim, data, ctx", step.name)
            self._refuse_bounds({}, step.name)
        elif isinstance(step, Synthesize):
            self._bring(step)
        elif isinstance(step, Execute):
            self.case.the_code()
            self._execute(step)
        elif isinstance(step, TestProperties):
            self._test(step)

    def _refuse_bounds(self, bounds: Mapping[str, object], place: str) -> None:
        spec = self.case.the_spec()
        refuse_bounds(here(), self.case.entrypoint, {**spec.bounds, **bounds}, place)

    def _bring(self, step: Synthesize) -> None:
        spec = self.case.the_spec()
        for name in ("llm", "repair"):
            _require_model(getattr(step, name), "claim, spec, ctx", step.name)
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
        bounds = {"require": "none", **self.case.bounds, **step.bounds}
        self._refuse_bounds(bounds, step.name)
        self.case = replace(self.case, outputs={}, bounds=bounds)

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

    @property
    def tested(self) -> frozenset[str] | None:
        """The properties that will be tested; None if they are not known."""
        if not self.tests:
            return frozenset()
        if self.open or not self.spec_known:
            return None
        return frozenset(one.name for one in self.case.the_spec().relations)

    @property
    def metrics(self) -> frozenset[str] | None:
        """The names of all metrics; None if they are not known."""
        tested = self.tested
        if self.returned is None or self.own or self.open or tested is None:
            return None
        return self.returned | {f"{one}_pass" for one in tested}

    def prospect(self, before: frozenset[str] | None, *, alone: bool) -> Prospect:
        """Return what there will be to judge, *before* being the baseline's metrics."""
        return Prospect(self.case.claim, self.metrics, self.tested, alone, before)


def _require_model(asked: Model | None, given: str, place: str) -> None:
    """Refuse a callable that does not take what models are given."""
    if asked is not None and not isinstance(asked, Provider):
        require_takes(asked, given, rule="harness/llm", place=place)


@contextmanager
def _at(place: str) -> Generator[None]:
    """Add *place* to a refusal."""
    try:
        yield
    except HarnessRefused as refusal:
        refusal.place = ", ".join(filter(None, (place, refusal.place)))
        raise
