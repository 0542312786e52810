"""An experiment as a program over a run, live or rebuilt from its events.

                            experiment.registered
    baseline/replicate/0    replicate.started, data.*, claim.stated, …, metrics.measured
    half/replicate/0        …
    baseline                verdict.reached

Rules:

- What will be run and judged is stated before anything runs.
- Failures end the run as failed once everything else is recorded. A resume performs the
  failed effects again; nothing is measured twice.
- All experiments have the same run seed: equal plans give equal results, and changing a
  plan does not change its draws.
- A replay calls the functions in its own process, whatever the executor was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from muniment.formats.statement import BlobRef
from muniment.programs.functions import changed_in, given_in
from muniment.programs.references import Function, StandIn, plain
from muniment.programs.stable_names import name_of, stable_name
from muniment.runs.executors import Serial, spread
from muniment.runs.run import Run
from muniment_plugins.harness.experiment.condition import (
    SEEDS,
    Condition,
    Failed,
    told,
)
from muniment_plugins.harness.experiment.editions import as_planned
from muniment_plugins.harness.experiment.plan import ExperimentPlan
from muniment_plugins.harness.experiment.treatments import BASELINE
from muniment_plugins.harness.experiment.verdicts import Verdicts
from muniment_plugins.harness.functions.from_source import FromSource, another
from muniment_plugins.harness.functions.hosts import Unfinished
from muniment_plugins.harness.functions.recorded_functions import Sources
from muniment_plugins.harness.functions.remote_call import host_of
from muniment_plugins.harness.preregistration.integrity import integrity_of
from muniment_plugins.harness.preregistration.registration import (
    named_functions,
    recorded_sources,
    registered,
    series_of,
    subjects_of,
)
from muniment_plugins.harness.refusals import ExperimentFailed
from muniment_plugins.harness.steps.weakest_isolation import levels_of

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["BASELINE", "ExperimentProgram", "judging", "rebuild"]

_CAUSES = 400
"""How many failures the end of a run names; a later resume gets to the others."""


@stable_name("muniment:experiment/1")
@dataclass(frozen=True, slots=True)
class ExperimentProgram(ExperimentPlan):
    """A plan as a program over a run."""

    def __call__(self, run: Run, plan: Mapping[str, object]) -> dict[str, object]:
        """Run all replicates of all conditions and judge; see the module's rules.

        Raises:
            ExperimentFailed: a replicate failed, or a hypothesis was not judged.

        """
        if not run.has_record:
            return self.conduct(run, plan)
        return as_planned(self, plan).conduct(run, plan)

    def conduct(self, run: Run, plan: Mapping[str, object]) -> dict[str, object]:
        """Run all replicates and judge, by the rules of this program's own edition.

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

    def _conditions(self, run: Run) -> list[Condition]:
        baseline = Condition(self, BASELINE, run.scope(BASELINE))
        return [
            baseline,
            *(Condition(self, t.name, run.scope(t.name), t) for t in self.treatments),
        ]

    def _measure(self, run: Run, conditions: list[Condition], replicates: int) -> None:
        seeds = [
            int(run.scope(f"replicate/{number}").random() * SEEDS)
            for number in range(replicates)
        ]
        jobs = [(one, number) for number in range(replicates) for one in conditions]
        executor = Serial() if run.replays else self.executor
        with host_of(executor, self.caller) as host:

            def measure(job: tuple[Condition, int]) -> None:
                self._begins()
                condition, number = job
                condition.measure(number, seeds[number], host, self._begins)

            spread(measure, jobs, executor.lanes, self.stop)

    def _begins(self) -> None:
        """Stop before a step if the run was told to end."""
        if self.stop.is_set():
            raise Unfinished

    def series_of_run(self, _: Mapping[str, object]) -> tuple[str, ...]:
        """Return the series in which the start of a run is counted."""
        return series_of(self)

    def functions_given(self) -> list[Function]:
        """Return the functions that the plan names, which the start of a run describes."""
        return named_functions(self)

    def before_resume(self) -> None:
        """Find every function that is still needed, before anything is asked.

        Without this, a missing function would fail every further replicate. A live run
        does without recorded source where a file changed: its facts are new.

        Raises:
            CannotTellError: a function cannot be imported.
            RefusedError: a function is not the one that was recorded.

        """
        for function in named_functions(self):
            found = plain(function)
            if isinstance(found, FromSource) and found.changed:
                raise another(found.described)
            if isinstance(found, FromSource) or name_of(found) is not None:
                continue  # a plugin gives the name: it says what the function is
            if isinstance(function, StandIn):
                place = changed_in(found, function.described)
                if place is not None:
                    raise another(function.described, place=place)


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
    """Return the program of *run* from its events, or None if it is not an experiment.

    With *trust_source*, recorded sources of functions that cannot be imported run here.
    """
    started = next(ledger.events(run=run, limit=1))
    program = cast("Mapping[str, object]", started.data.get("program") or {})
    params = started.data.get("params")
    names = ledger.plugins.names
    known = names.of(program)
    ours = known is not None and known.name == name_of(ExperimentProgram)
    if not ours or not isinstance(params, BlobRef):
        return None
    plan = cast("Mapping[str, Mapping[str, object]]", ledger.value(params))["plan"]
    texts = recorded_sources(ledger, run)
    sources = Sources(texts, trust_source, names, tuple(given_in(program)))
    return judging(ExperimentProgram.from_json(plan, sources), ledger)


def judging(program: ExperimentProgram, ledger: Ledger) -> ExperimentProgram:
    """Return *program* with *ledger* as the source of what accompanies its verdicts."""

    def look(run: str) -> Mapping[str, object]:
        found = integrity_of(ledger, list(ledger.events(run=run)))
        return {"integrity": found.status, "denominator": found.denominator}

    return replace(program, integrity=look, levels=partial(levels_of, ledger))
