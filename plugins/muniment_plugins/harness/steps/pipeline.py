"""Steps in their order, and how they are rebuilt from a record.

    Pipeline([specify_claim(claim=claim), generate_spec(spec=spec),
              bounded_synthesis(code=code), execute_capsule()])

Rules:

- The entrypoint is named once, by any step, and holds for all.
- Code that fails, and a property that does not hold, go back to the step that brings
  code while it has attempts left; the steps after it run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Self, cast

from muniment.errors import CannotTellError, UsageError
from muniment_plugins.harness.case import DEFAULT_ENTRYPOINT, Case, Step
from muniment_plugins.harness.claim import Spec
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, Sources
from muniment_plugins.harness.metamorphic_tests.step import TestProperties
from muniment_plugins.harness.refusals import BoundedExecutionError, HarnessRefused
from muniment_plugins.harness.steps.claim_and_spec import IssueSpec, StateClaim
from muniment_plugins.harness.steps.custom import Custom
from muniment_plugins.harness.steps.execution import Execute
from muniment_plugins.harness.steps.synthesis import Synthesize, without_remedies
from muniment_plugins.harness.surroundings import Surroundings

__all__ = ["THIRD", "Pipeline"]

THIRD = 3
"""The edition since which a proposed spec is checked before it is issued, a property is
tested by value, and replicates are told apart by their rows, in whatever order."""

_FROM_JSON: Mapping[str, Callable[[Mapping[str, object]], Step]] = {
    StateClaim.name: StateClaim.from_json,
    Execute.name: Execute.from_json,
}
_NAMING: Mapping[str, Callable[[Mapping[str, object], Sources], Step]] = {
    TestProperties.name: TestProperties.from_json,
    Custom.name: Custom.from_json,
    IssueSpec.name: IssueSpec.from_json,
    Synthesize.name: Synthesize.from_json,
}
"""The steps that name functions of the user."""

_CORRECTABLE = "harness/metric"


def _require_step(number: int, given: object) -> None:
    """Refuse what is not a step, such as a step's maker that was not called."""
    members = (getattr(given, name, None) for name in ("__call__", "describe"))
    named = isinstance(getattr(given, "name", None), str)
    if named and all(map(callable, members)) and not isinstance(given, type):
        return
    name = getattr(given, "__name__", "")
    maker = name if name.isidentifier() else "specify_claim"
    raise UsageError(
        f"step {number} is {name or repr(given)}, which is not a step",
        rule="harness/step",
        place="Pipeline",
        remedy=f"call what makes one, as {maker}(…); @pipeline_step makes one of a "
        "function",
    )


def _silent(_: Step) -> None:
    """Do nothing."""


class Pipeline:
    """The steps of one replicate."""

    def __init__(self, steps: Iterable[Step]) -> None:
        if not hasattr(steps, "__iter__"):
            raise UsageError(
                f"{steps!r} is not a list of steps",
                rule="harness/step",
                place="Pipeline",
                remedy="write Pipeline([…])",
            )
        self.steps: tuple[Step, ...] = tuple(steps)
        for number, step in enumerate(self.steps, 1):
            _require_step(number, step)
        said = (getattr(step, "entrypoint", None) for step in self.steps)
        named = {name for name in said if isinstance(name, str)}
        if len(named) > 1:
            raise HarnessRefused(
                f"the steps name different entrypoints: {', '.join(sorted(named))}",
                rule="harness/entrypoint",
                place="Pipeline",
                remedy="name it once, in bounded_synthesis(entrypoint=…)",
            )
        self.entrypoint: str = next(iter(named), DEFAULT_ENTRYPOINT)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __call__(
        self,
        case: Case,
        run: Surroundings | None = None,
        begins: Callable[[Step], None] = _silent,
    ) -> Case:
        """Return *case* after all steps; the first that refuses raises.

        *begins* is called with each step before the step is.
        """
        case = replace(case, entrypoint=self.entrypoint)
        for position, step in enumerate(self.steps):
            if isinstance(step, Synthesize) and step.repairs:
                return self._corrected(position, case, run, begins)
            begins(step)
            case = self._admitting(step)(case, run)
        return case

    def _admitting(self, step: Step) -> Step:
        """Return *step* with what the later steps need of what it issues."""
        if isinstance(step, IssueSpec):
            return replace(step, admits=self._admit)
        return step

    def _admit(self, spec: Spec) -> None:
        """Refuse a *spec* with a property that a step cannot test."""
        for step in self.steps:
            if isinstance(step, TestProperties):
                for one in spec.relations:
                    step.require(one)

    def _corrected(
        self,
        position: int,
        case: Case,
        run: Surroundings | None,
        begins: Callable[[Step], None],
    ) -> Case:
        """Return *case* after the steps from *position* on, retried while allowed."""
        bring = cast("Synthesize", self.steps[position])
        while True:
            begins(bring)
            brought = ended = bring(case, run)
            final = brought.attempt >= bring.attempts
            told: Mapping[str, object] | None = None
            try:
                for step in self.steps[position + 1 :]:
                    begins(step)
                    ended = step(ended, run)
            except HarnessRefused as error:
                if final or not _is_correctable(error):
                    raise
                told = bring.feedback(brought.the_code(), error)
            else:
                told = _refuted(case, ended, brought.the_code())
            if told is None or final:
                return ended
            case = replace(case, attempt=brought.attempt, feedback=told)

    @property
    def takes(self) -> set[str]:
        """The parameters of custom steps."""
        own = (step.takes for step in self.steps if isinstance(step, Custom))
        return {name for names in own for name in names}

    @property
    def given(self) -> set[str]:
        """The parameters that custom steps were given; a treatment may change them."""
        own = (step.parameters for step in self.steps if isinstance(step, Custom))
        return {name for names in own for name in names}

    def under(self, changes: Mapping[str, object]) -> Self:
        """Return the pipeline as a treatment changes it."""
        if not changes:
            return self
        return type(self)(_under(step, changes) for step in self.steps)

    def of_edition(self, edition: int) -> Self:
        """Return the pipeline with the rules that plans of *edition* had."""

        def one(step: Step) -> Step:
            if isinstance(step, IssueSpec):
                return replace(step, checked=edition >= THIRD)
            if isinstance(step, TestProperties):
                return replace(step, by_value=edition >= THIRD)
            return step

        return type(self)(map(one, self.steps))

    def as_recorded(self, described: Sequence[Mapping[str, object]]) -> Self:
        """Return the pipeline with the rules of the edition that recorded it."""

        def one(step: Step, said: Mapping[str, object]) -> Step:
            if said.get("step") == step.name and isinstance(step, TestProperties):
                return replace(step, strict="strict" in said)
            if said.get("step") == step.name and isinstance(step, Synthesize):
                return replace(step, remedies="remedies" in said)
            if said.get("step") == step.name and isinstance(step, Custom):
                return replace(step, by_content="compared" in said)
            return step

        if len(described) != len(self.steps):
            return self
        return type(self)(map(one, self.steps, described))

    def untold(self) -> list[dict[str, object]]:
        """Return the steps as JSON, as before models were told remedies."""
        return [without_remedies(step.describe()) for step in self.steps]

    def describe(self) -> list[object]:
        """Return the steps as JSON."""
        return [step.describe() for step in self.steps]

    @classmethod
    def from_json(
        cls,
        described: Iterable[Mapping[str, object]],
        sources: Sources = NO_SOURCES,
    ) -> Self:
        """Return the pipeline in *described*; *sources* as for `Verifier`.

        Raises:
            CannotTellError: it has a step that this version does not know.

        """
        return cls(_step(one, sources) for one in described)


def _under(step: Step, changes: Mapping[str, object]) -> Step:
    under = getattr(step, "under", None)
    if under is not None:
        return cast("Step", under(changes))
    if not is_dataclass(step) or isinstance(step, type):
        return step
    names = {one.name for one in fields(step)} & changes.keys()
    return cast("Step", replace(step, **{name: changes[name] for name in names}))


def _is_correctable(error: HarnessRefused) -> bool:
    return isinstance(error, BoundedExecutionError) or error.rule == _CORRECTABLE


def _refuted(before: Case, after: Case, code: str) -> dict[str, object] | None:
    failed = [
        name.removesuffix("_pass")
        for name, value in after.metrics.items()
        if name.endswith("_pass") and value is False and name not in before.metrics
    ]
    if not failed:
        return None
    message = f"the property {', '.join(failed)} does not hold"
    found = {"rule": "harness/property", "message": message, "properties": failed}
    return {"code": code, **found}


def _step(described: Mapping[str, object], sources: Sources) -> Step:
    name = cast("str", described["step"])
    if name in _NAMING:
        return _NAMING[name](described, sources)
    if name not in _FROM_JSON:
        raise CannotTellError(
            f"no step is called {name}",
            rule="harness/step",
            place="the recorded pipeline",
            remedy="replay it with the version that recorded it",
        )
    return _FROM_JSON[name](described)
