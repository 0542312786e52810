"""An experiment as a program over a run, live and made again from its events.

                            experiment.registered
    baseline/replicate/0    replicate.started, data.*, claim.stated, …, metrics.measured
    half/replicate/0        …
    baseline                verdict.reached

Rules:

- The plan is the run's params: steps, claim, spec, code, hypotheses, treatments,
  replicates. With the recorded answers it is all that a replay needs.
- A member that a later version adds to plans is left out while it has its default, so
  that plans which are recorded already stay what they are. The others are always said:
  a record does not depend on what a later version takes for granted.
- What is going to be run and judged is stated before anything is.
- Failures end the run as failed once everything else is recorded. A resume performs the
  effects again that failed; what was measured is not measured again.
- The run's seed is the same for all: equal plans give equal results, and no change of a
  plan draws anew.
- Who calls the functions is not part of the plan. A replay calls them here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Self, cast

from muniment.canonical import canonical, sha256_tag
from muniment.events import BlobRef
from muniment.lanes import Lane
from muniment.values import encode
from muniment_plugins.harness.conditions import SEEDS, Condition, Failed, told
from muniment_plugins.harness.earlier import Earlier
from muniment_plugins.harness.editions import as_planned
from muniment_plugins.harness.executors import Executor, Serial, spread
from muniment_plugins.harness.integrity import integrity_of
from muniment_plugins.harness.levels import levels_of
from muniment_plugins.harness.pipelines import Pipeline
from muniment_plugins.harness.references import (
    NO_SOURCES,
    Function,
    Remembered,
    Sources,
    named,
    refer,
)
from muniment_plugins.harness.refusals import ExperimentFailed
from muniment_plugins.harness.registration import (
    functions_of,
    recorded_sources,
    registered,
    subjects_of,
)
from muniment_plugins.harness.treatments import (
    BASELINE,
    Treatment,
    described,
    undescribed,
)
from muniment_plugins.harness.verdicts import Verdicts
from muniment_plugins.harness.verifiers import Hypothesis

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_plugins.harness.hosts import Caller

__all__ = ["BASELINE", "ExperimentProgram", "judging", "rebuild"]

EDITION = 2
"""The rules of verdicts that new plans have; see `verdicts`."""

_CAUSES = 400
"""How many failures the end of a run names; a further resume gets to the others."""


@dataclass(frozen=True, slots=True)
class ExperimentProgram:
    """A pipeline over a datasource, with hypotheses about what it measures."""

    pipeline: Pipeline
    datasource: Function
    hypotheses: tuple[Hypothesis, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict[str, object])
    outputs: tuple[str, ...] = ()
    name: str | None = None
    pin: str = "content"
    """What of the data is recorded: its ``content``, or its ``digest`` alone."""
    edition: int = EDITION
    """By which rules verdicts are reached; a plan that says none is of the first."""
    executor: Executor = field(default_factory=Serial, compare=False)
    caller: Caller | None = field(default=None, compare=False)
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    earlier: Earlier | None = field(default=None, compare=False)
    """Whose answers are taken where the same is asked."""
    integrity: Callable[[str], Mapping[str, object]] | None = field(
        default=None, compare=False
    )
    """Says of a run if what ran is what was registered, and of how many it is one."""
    levels: Callable[[str], Mapping[str, str]] | None = field(
        default=None, compare=False
    )
    """Says of a run how strongly the code of each condition was held."""

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
        """Return the program with its functions' sources read, as they are now."""

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
        """SHA-256 of what the experiment is."""
        return sha256_tag(canonical(encode(self.describe())))

    @classmethod
    def from_json(
        cls, plan: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Self:
        """Return the program that a recorded *plan* says.

        Args:
            plan: what `describe` returned.
            sources: recorded sources, for what a replay calls and cannot import.

        """

        def listed(name: str) -> list[Mapping[str, object]]:
            return cast("list[Mapping[str, object]]", plan.get(name, []))

        return cls(
            Pipeline.from_json(listed("pipeline"), sources),
            Remembered(cast("Mapping[str, object]", plan["datasource"])),
            tuple(Hypothesis.from_json(one, sources) for one in listed("hypotheses")),
            tuple(Treatment.from_json(one, sources) for one in listed("treatments")),
            undescribed(cast("Mapping[str, object]", plan.get("context", {})), sources),
            tuple(cast("list[str]", plan.get("outputs", []))),
            cast("str | None", plan.get("name")),
            cast("str", plan.get("pin", "content")),
            cast("int", plan.get("edition", 1)),
        )

    def __call__(self, run: Lane, plan: Mapping[str, object]) -> dict[str, object]:
        """Run all replicates of all conditions and judge; see the module's rules.

        Raises:
            ExperimentFailed: a replicate failed, or a hypothesis was not judged.

        """
        if run.mode == "live":
            return self.conduct(run, plan)
        return as_planned(self, plan).conduct(run, plan)

    def conduct(self, run: Lane, plan: Mapping[str, object]) -> dict[str, object]:
        """Do as a call does, by the rules of the edition that recorded the plan.

        Raises:
            ExperimentFailed: a replicate failed, or a hypothesis was not judged.

        """
        replicates = cast("int", plan["replicates"])
        present = {**self.describe(), "replicates": replicates}
        run.require_param("plan", plan, present)
        said = registered(self, replicates)
        run.record("experiment.registered", said, subject=subjects_of(said))
        conditions = self._conditions(run)
        self._measure(run, conditions, replicates)
        verdicts = Verdicts(self, conditions)
        verdicts.reach(run)
        failures = [one for c in conditions for _, one in sorted(c.failures.items())]
        if failures or verdicts.missed:
            raise _failed([*failures, *verdicts.missed])
        return {
            "metrics": {one.name: dict(one.trial.samples) for one in conditions},
            "verdicts": verdicts.said,
        }

    def _conditions(self, run: Lane) -> list[Condition]:
        baseline = Condition(self, BASELINE, run.scope(BASELINE))
        return [
            baseline,
            *(Condition(self, t.name, run.scope(t.name), t) for t in self.treatments),
        ]

    def _measure(self, run: Lane, conditions: list[Condition], replicates: int) -> None:
        seeds = [
            int(run.scope(f"replicate/{number}").random() * SEEDS)
            for number in range(replicates)
        ]
        jobs = [(one, number) for number in range(replicates) for one in conditions]
        executor = Serial() if run.mode == "replay" else self.executor
        with executor.host(self.caller) as host:

            def measure(job: tuple[Condition, int], begins: Callable[[], None]) -> None:
                condition, number = job
                condition.measure(number, seeds[number], host, begins)

            spread(measure, jobs, executor.lanes, self.stop)

    def beside(self, run: Lane) -> dict[str, object]:
        """Return what stands beside each verdict of *run*: whether it was registered."""
        return {} if self.integrity is None else dict(self.integrity(run.id))

    def held(self, run: Lane) -> Mapping[str, str]:
        """Return condition → the weakest level at which its code was held in *run*."""
        return {} if self.levels is None else self.levels(run.id)

    @property
    def tells_data(self) -> bool:
        """Whether verdicts ask which replicates had the same data."""
        return self.edition > 1 and any(
            one.verifier.compares for one in self.hypotheses
        )

    def before_resume(self) -> None:
        """Find what is left to ask before anything is asked.

        Else every further replicate would be recorded as failed for want of it.

        Raises:
            CannotTellError: a function cannot be imported.

        """
        for function in functions_of(self):
            if isinstance(function, Remembered):
                function.found()


def _failed(failures: list[Failed]) -> ExperimentFailed:
    first, others = failures[0], len(failures) - 1
    more = f" (and {others} more)" if others else ""
    failed = ExperimentFailed(
        f"{first.place}: {told(first.error)['message']}{more}",
        rule="harness/failed",
        remedy="each failure is an event of the run, and in result.errors",
    )
    causes = [one.error for one in failures if one.by_effect][:_CAUSES]
    if causes:
        failed.__cause__ = ExceptionGroup("effects that failed", causes)
    return failed


def rebuild(
    ledger: Ledger, run: str, trust_source: bool = False
) -> ExperimentProgram | None:
    """Return the program of *run* from its events, or None if it is no experiment.

    With *trust_source*, recorded source of what cannot be imported runs here.
    """
    started = next(ledger.events(run=run, limit=1))
    program = cast("Mapping[str, object]", started.data.get("program") or {})
    params = started.data.get("params")
    if program.get("import") != _NAME or not isinstance(params, BlobRef):
        return None
    plan = cast("Mapping[str, Mapping[str, object]]", ledger.value(params))["plan"]
    sources = Sources(recorded_sources(ledger, run), trust_source)
    return judging(ExperimentProgram.from_json(plan, sources), ledger)


def judging(program: ExperimentProgram, ledger: Ledger) -> ExperimentProgram:
    """Return *program*, which asks *ledger* for what stands beside its verdicts."""

    def look(run: str) -> Mapping[str, object]:
        found = integrity_of(ledger, list(ledger.events(run=run)))
        return {"integrity": found.status, "denominator": found.denominator}

    return replace(program, integrity=look, levels=partial(levels_of, ledger))


_NAME = f"{ExperimentProgram.__module__}:{ExperimentProgram.__qualname__}"
