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
- The run's seed is the digest of the plan: equal plans give equal results.
- Who calls the functions is not part of the plan. A replay calls them here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Self, cast

from muniment.canonical import canonical, sha256_tag
from muniment.events import BlobRef
from muniment.lanes import Lane
from muniment.values import encode
from muniment_plugins.harness.conditions import SEEDS, Condition, Failed, told
from muniment_plugins.harness.executors import Executor, Serial, spread
from muniment_plugins.harness.levels import levels_of, weakest
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
    integrity_of,
    recorded_sources,
    registered,
)
from muniment_plugins.harness.treatments import (
    BASELINE,
    Treatment,
    described,
    undescribed,
)
from muniment_plugins.harness.verifiers import Hypothesis, judged_by

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_plugins.harness.hosts import Caller

__all__ = ["BASELINE", "ExperimentProgram", "judging", "rebuild"]

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
    executor: Executor = field(default_factory=Serial, compare=False)
    caller: Caller | None = field(default=None, compare=False)
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    integrity: Callable[[str], str] | None = field(default=None, compare=False)
    """Says of a run if what ran is what was registered."""
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
        )

    def __call__(self, run: Lane, plan: Mapping[str, object]) -> dict[str, object]:
        """Run all replicates of all conditions and judge; see the module's rules.

        Raises:
            ExperimentFailed: a replicate failed, or a hypothesis was not judged.

        """
        replicates = cast("int", plan["replicates"])
        present = {**self.describe(), "replicates": replicates}
        run.require_param("plan", plan, present)
        run.record("experiment.registered", registered(self, replicates))
        conditions = self._conditions(run)
        self._measure(run, conditions, replicates)
        verdicts, missed = self._judge(run, conditions)
        failures = [one for c in conditions for _, one in sorted(c.failures.items())]
        if failures or missed:
            raise _failed([*failures, *missed])
        return {
            "metrics": {one.name: dict(one.trial.samples) for one in conditions},
            "verdicts": verdicts,
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

    def _judge(
        self, run: Lane, conditions: list[Condition]
    ) -> tuple[dict[str, dict[str, object]], list[Failed]]:
        verdicts: dict[str, dict[str, object]] = {}
        missed: list[Failed] = []
        pairs = list(self._judged(conditions))
        integrity = self._integrity(run) if pairs else None
        levels: Mapping[str, str] = self._levels(run) if pairs else {}
        for hypothesis, condition in pairs:
            against = conditions[0] if _compares(hypothesis) else condition
            level = weakest(levels.get(one.name) for one in (against, condition))
            beside = {"integrity": integrity, "level": level}
            said = condition.judge(hypothesis, against, beside)
            if isinstance(said, Failed):
                missed.append(said)
            else:
                verdicts.setdefault(hypothesis.name, {})[condition.name] = said
        return verdicts, missed

    def _judged(
        self, conditions: list[Condition]
    ) -> Iterator[tuple[Hypothesis, Condition]]:
        """Yield what is judged of what, as far as it was measured."""
        for hypothesis in self.hypotheses:
            compares = _compares(hypothesis)
            for condition in judged_by(compares, conditions):
                if condition.whole and (conditions[0].whole or not compares):
                    yield hypothesis, condition

    def _integrity(self, run: Lane) -> str | None:
        replayed = run.mode == "replay" or self.integrity is None
        return (
            None if replayed else cast("Callable[[str], str]", self.integrity)(run.id)
        )

    def _levels(self, run: Lane) -> Mapping[str, str]:
        if run.mode == "replay" or self.levels is None:
            return {}
        return self.levels(run.id)

    def before_resume(self) -> None:
        """Find what is left to ask before anything is asked.

        Else every further replicate would be recorded as failed for want of it.

        Raises:
            CannotTellError: a function cannot be imported.

        """
        for function in functions_of(self):
            if isinstance(function, Remembered):
                function.found()


def _compares(hypothesis: Hypothesis) -> bool:
    """Tell whether a verdict stands on the baseline, too."""
    return hypothesis.verifier.compares


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

    def look(run: str) -> str:
        return integrity_of(ledger, list(ledger.events(run=run))).status

    return replace(program, integrity=look, levels=partial(levels_of, ledger))


_NAME = f"{ExperimentProgram.__module__}:{ExperimentProgram.__qualname__}"
