"""Steps in their order, and how they are made again from a record.

    Pipeline([specify_claim(claim=claim), generate_spec(spec=spec),
              bounded_synthesis(code=code), execute_capsule()])

Rules:

- The entrypoint is named once, by any step, and travels to all.
- Code that breaks, and a property that does not hold, go back to the step that brings
  code while it has attempts left; the steps after it run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Self, cast

from muniment.errors import CannotTellError, UsageError
from muniment_plugins.harness.cases import DEFAULT_ENTRYPOINT, Case, Step
from muniment_plugins.harness.custom import Custom
from muniment_plugins.harness.execution import Execute
from muniment_plugins.harness.metamorphosis import TestProperties
from muniment_plugins.harness.references import NO_SOURCES, Sources
from muniment_plugins.harness.refusals import BoundedExecutionError, HarnessRefused
from muniment_plugins.harness.stating import IssueSpec, StateClaim
from muniment_plugins.harness.surroundings import Surroundings
from muniment_plugins.harness.synthesis import Synthesize

__all__ = ["Pipeline"]

_FROM_JSON: Mapping[str, Callable[[Mapping[str, object]], Step]] = {
    StateClaim.name: StateClaim.from_json,
    IssueSpec.name: IssueSpec.from_json,
    Synthesize.name: Synthesize.from_json,
    Execute.name: Execute.from_json,
}
_CALLING: Mapping[str, Callable[[Mapping[str, object], Sources], Step]] = {
    TestProperties.name: TestProperties.from_json,
    Custom.name: Custom.from_json,
}
"""The steps that call functions of the user's in a replay, too."""

_CORRECTABLE = "harness/metric"


def _require_step(number: int, given: object) -> None:
    """Refuse what is no step, such as a function that makes one and was not called."""
    members = (getattr(given, name, None) for name in ("__call__", "describe"))
    named = isinstance(getattr(given, "name", None), str)
    if named and all(map(callable, members)) and not isinstance(given, type):
        return
    name = getattr(given, "__name__", "")
    maker = name if name.isidentifier() else "specify_claim"
    raise UsageError(
        f"step {number} is {name or repr(given)}, which is no step",
        rule="harness/step",
        place="Pipeline",
        remedy=f"call what makes one, as {maker}(…); @pipeline_step makes one of a "
        "function",
    )


def _silent(_: Step) -> None:
    """Note nothing."""


class Pipeline:
    """The steps of one replicate."""

    def __init__(self, steps: Iterable[Step]) -> None:
        if not hasattr(steps, "__iter__"):
            raise UsageError(
                f"{steps!r} is no list of steps",
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

        *begins* is told each step before it is called.
        """
        case = replace(case, entrypoint=self.entrypoint)
        for position, step in enumerate(self.steps):
            if isinstance(step, Synthesize) and step.repairs:
                return self._corrected(position, case, run, begins)
            begins(step)
            case = step(case, run)
        return case

    def _corrected(
        self,
        position: int,
        case: Case,
        run: Surroundings | None,
        begins: Callable[[Step], None],
    ) -> Case:
        """Return *case* after the steps from *position* on, tried again while it may."""
        bring = cast("Synthesize", self.steps[position])
        while True:
            begins(bring)
            brought = ended = bring(case, run)
            final = brought.attempt >= bring.attempts
            wrong: Mapping[str, object] | None = None
            try:
                for step in self.steps[position + 1 :]:
                    begins(step)
                    ended = step(ended, run)
            except HarnessRefused as error:
                if final or not _is_correctable(error):
                    raise
                wrong = _broken(error)
            else:
                wrong = _refuted(case, ended)
            if wrong is None or final:
                return ended
            feedback = {"code": brought.the_code(), **wrong}
            case = replace(case, attempt=brought.attempt, feedback=feedback)

    @property
    def takes(self) -> set[str]:
        """The parameters of the user's own steps."""
        own = (step.takes for step in self.steps if isinstance(step, Custom))
        return {name for names in own for name in names}

    @property
    def given(self) -> set[str]:
        """Those that they were given, which a treatment changes whatever they are."""
        own = (step.parameters for step in self.steps if isinstance(step, Custom))
        return {name for names in own for name in names}

    def under(self, changes: Mapping[str, object]) -> Self:
        """Return the pipeline as a treatment changes it."""
        if not changes:
            return self
        return type(self)(_under(step, changes) for step in self.steps)

    def as_recorded(self, described: Sequence[Mapping[str, object]]) -> Self:
        """Return the pipeline with the steps' rules of the edition that recorded it."""

        def one(step: Step, said: Mapping[str, object]) -> Step:
            if said.get("step") == step.name and isinstance(step, TestProperties):
                return replace(step, strict="strict" in said)
            if said.get("step") == step.name and isinstance(step, Custom):
                return replace(step, by_content="compared" in said)
            return step

        if len(described) != len(self.steps):
            return self
        return type(self)(map(one, self.steps, described))

    def describe(self) -> list[object]:
        """Return the steps as JSON."""
        return [step.describe() for step in self.steps]

    @classmethod
    def from_json(
        cls,
        described: Iterable[Mapping[str, object]],
        sources: Sources = NO_SOURCES,
    ) -> Self:
        """Return the pipeline that *described* says; *sources* as `Verifier`'s.

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


def _broken(error: HarnessRefused) -> dict[str, object]:
    line = getattr(error, "line", 0) or None
    return {"rule": error.rule, "message": error.message, "line": line}


def _refuted(before: Case, after: Case) -> dict[str, object] | None:
    failed = [
        name.removesuffix("_pass")
        for name, value in after.metrics.items()
        if name.endswith("_pass") and value is False and name not in before.metrics
    ]
    if not failed:
        return None
    message = f"the property {', '.join(failed)} does not hold"
    return {"rule": "harness/property", "message": message, "properties": failed}


def _step(described: Mapping[str, object], sources: Sources) -> Step:
    name = cast("str", described["step"])
    if name in _CALLING:
        return _CALLING[name](described, sources)
    if name not in _FROM_JSON:
        raise CannotTellError(
            f"no step is called {name}",
            rule="harness/step",
            place="the recorded pipeline",
            remedy="replay it with the version that recorded it",
        )
    return _FROM_JSON[name](described)
