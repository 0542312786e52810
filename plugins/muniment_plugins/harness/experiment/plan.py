"""The plan of an experiment: what is run and judged, and what accompanies it.

Rules:

- The plan is the run's params: steps, claim, spec, code, hypotheses, treatments,
  replicates. A replay needs the plan and the recorded answers, nothing else.
- A member that a later version adds to plans is left out while it has its default, so
  that recorded plans stay what they are. All other members are always written: a record
  does not depend on a later version's defaults.
- The executor is not part of the plan.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, cast

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode
from muniment.programs.references import Function, named, refer
from muniment.runs.executors import Executor, Serial
from muniment.runs.run import Run
from muniment_plugins.harness.experiment.reuse import Earlier
from muniment_plugins.harness.experiment.treatments import (
    Treatment,
    described,
    undescribed,
)
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, Sources
from muniment_plugins.harness.statistics.verifiers import Hypothesis
from muniment_plugins.harness.steps.pipeline import THIRD, Pipeline

if TYPE_CHECKING:
    from muniment_plugins.harness.functions.hosts import Caller

__all__ = ["ExperimentPlan"]

EDITION = 3
"""The rules for new plans; see `editions`."""


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """A pipeline over a datasource, with hypotheses about what it measures."""

    pipeline: Pipeline
    datasource: Function
    hypotheses: tuple[Hypothesis, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict[str, object])
    outputs: tuple[str, ...] = ()
    name: str | None = None
    pin: str = "content"
    """What is recorded of the data: its ``content``, or only its ``digest``."""
    edition: int = EDITION
    """The rules by which it runs and is judged; a plan that names none has the first."""
    executor: Executor = field(default_factory=Serial, compare=False)
    caller: Caller | None = field(default=None, compare=False)
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    earlier: Earlier | None = field(default=None, compare=False)
    """The earlier run whose answers are reused for equal requests."""
    integrity: Callable[[str], Mapping[str, object]] | None = field(
        default=None, compare=False
    )
    """Run id → whether what ran was registered, and how many such runs there are."""
    levels: Callable[[str], Mapping[str, str]] | None = field(
        default=None, compare=False
    )
    """Run id → how strongly the code of each condition was isolated."""

    def describe(self) -> dict[str, object]:
        """Return what the experiment is, as JSON."""
        return {
            "name": self.name,
            "datasource": refer(self.datasource),
            "pipeline": self.pipeline.describe(),
            "hypotheses": [one.describe() for one in self.hypotheses],
            "treatments": [one.describe() for one in self.treatments],
            "context": described(self.context, "initial_ctx"),
            "outputs": list(self.outputs),
            "pin": self.pin,
            **({} if self.edition == 1 else {"edition": self.edition}),
        }

    def read(self) -> Self:
        """Return the program with the current sources of its functions read."""

        def known(one: Hypothesis) -> Hypothesis:
            function = named(one.verifier.function)
            return replace(one, verifier=replace(one.verifier, function=function))

        return replace(
            self,
            datasource=named(self.datasource),
            hypotheses=tuple(map(known, self.hypotheses)),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the experiment's description."""
        return sha256_tag(canonical(encode(self.describe())))

    @classmethod
    def from_json(
        cls, plan: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Self:
        """Return the program that a recorded *plan* describes.

        Args:
            plan: what `describe` returned.
            sources: recorded sources of functions that a replay cannot import.

        """

        def listed(name: str) -> list[Mapping[str, object]]:
            return cast("list[Mapping[str, object]]", plan.get(name, []))

        edition = cast("int", plan.get("edition", 1))
        return cls(
            Pipeline.from_json(listed("pipeline"), sources).of_edition(edition),
            sources.imported.remembered(
                cast("Mapping[str, object]", plan["datasource"])
            ),
            tuple(Hypothesis.from_json(one, sources) for one in listed("hypotheses")),
            tuple(Treatment.from_json(one, sources) for one in listed("treatments")),
            undescribed(cast("Mapping[str, object]", plan.get("context", {})), sources),
            tuple(cast("list[str]", plan.get("outputs", []))),
            cast("str | None", plan.get("name")),
            cast("str", plan.get("pin", "content")),
            edition,
        )

    def beside(self, run: Run) -> dict[str, object]:
        """Return what accompanies each verdict of *run*: whether it was registered."""
        return {} if self.integrity is None else dict(self.integrity(run.id))

    def held(self, run: Run) -> Mapping[str, str]:
        """Return condition → the weakest level that isolated its code in *run*."""
        return {} if self.levels is None else self.levels(run.id)

    @property
    def tells_data(self) -> bool:
        """Whether verdicts ask which replicates had the same data."""
        return self.edition > 1 and any(
            one.verifier.compares for one in self.hypotheses
        )

    @property
    def tells_rows(self) -> bool:
        """Whether the same rows in another order are the same data."""
        return self.edition >= THIRD
