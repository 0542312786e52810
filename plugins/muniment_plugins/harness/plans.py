"""What in a plan cannot work, refused before anything is asked or executed.

    .build()    HarnessRefused: Unknown metamorphic transform: permute_row [harness/…]

Rules:

- Each condition is gone through as it will run, as far as the plan says it: the steps in
  their order, the properties of its spec, the names that its code returns, the packages
  of its data, its claim before its verifiers.
- What is refused is what would be refused then, by the same rule. What is not known yet
  (what a model writes, what a step of the user's own or a function's treatment brings)
  is left to then.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment_plugins.harness.cases import Case
from muniment_plugins.harness.claims import Spec
from muniment_plugins.harness.custom import Custom
from muniment_plugins.harness.data_packages import refuse_foreign
from muniment_plugins.harness.execution import Execute
from muniment_plugins.harness.metamorphosis import TestProperties
from muniment_plugins.harness.naming import known_first
from muniment_plugins.harness.pipelines import Pipeline
from muniment_plugins.harness.prospects import Prospect, refuse_hopeless
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.returned import returned_names
from muniment_plugins.harness.stating import IssueSpec, StateClaim
from muniment_plugins.harness.synthesis import Synthesize
from muniment_plugins.harness.verifiers import judged_by

if TYPE_CHECKING:
    from muniment_plugins.harness.programs import ExperimentProgram

__all__ = ["refuse_plan"]

_OURS = (Custom, Execute, IssueSpec, StateClaim, Synthesize, TestProperties)
_NUMBERED = ("condition", "replicate")


def refuse_plan(program: ExperimentProgram) -> None:
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
    program: ExperimentProgram, changes: Mapping[str, object], place: str
) -> Outlook | None:
    """Return what one condition comes to; None where its steps are of a strange kind."""
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
    """One condition, on its way through its steps before it runs."""

    case: Case
    spec_known: bool = False
    returned: frozenset[str] | None = None
    """What the code returns; None where it is not known."""
    tests: bool = False
    own: bool = False
    """Whether steps of the user's own measure what they like."""

    def go(self, pipeline: Pipeline, outputs: tuple[str, ...], place: str) -> None:
        """Take all steps; the first that could not work is refused."""
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
    """Have a refusal name *place*, too."""
    try:
        yield
    except HarnessRefused as refusal:
        refusal.place = ", ".join(filter(None, (place, refusal.place)))
        raise
