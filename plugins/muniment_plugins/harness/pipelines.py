"""Steps in their order, and how they are made again from a record.

    Pipeline([specify_claim(claim=claim), generate_spec(spec=spec),
              bounded_synthesis(code=code), execute_capsule()])

Rule: the entrypoint is named once, by any step, and travels to all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Self, cast

from muniment.errors import CannotTellError
from muniment_plugins.harness.cases import DEFAULT_ENTRYPOINT, Case, Step
from muniment_plugins.harness.execution import Execute
from muniment_plugins.harness.metamorphosis import TestProperties
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.stating import IssueSpec, StateClaim
from muniment_plugins.harness.surroundings import Surroundings
from muniment_plugins.harness.synthesis import Synthesize

__all__ = ["Pipeline"]

_FROM_JSON: Mapping[str, Callable[[Mapping[str, object]], Step]] = {
    StateClaim.name: StateClaim.from_json,
    IssueSpec.name: IssueSpec.from_json,
    Synthesize.name: Synthesize.from_json,
    Execute.name: Execute.from_json,
    TestProperties.name: TestProperties.from_json,
}


class Pipeline:
    """The steps of one replicate."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps: tuple[Step, ...] = tuple(steps)
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

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* after all steps; the first that refuses raises."""
        for step in self.steps:
            case = step(case, run)
        return case

    def describe(self) -> list[object]:
        """Return the steps as JSON."""
        return [step.describe() for step in self.steps]

    @classmethod
    def from_json(cls, described: Iterable[Mapping[str, object]]) -> Self:
        """Return the pipeline that *described* says.

        Raises:
            CannotTellError: it has a step that this version does not know.

        """
        return cls(_step(one) for one in described)


def _step(described: Mapping[str, object]) -> Step:
    name = cast("str", described["step"])
    if name not in _FROM_JSON:
        raise CannotTellError(
            f"no step is called {name}",
            rule="harness/step",
            place="the recorded pipeline",
            remedy="replay it with the version that recorded it",
        )
    return _FROM_JSON[name](described)
