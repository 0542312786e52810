"""Experiments: a pipeline over data, replicated, with hypotheses, recorded as one run.

    experiment = (Experiment.builder().datasource(load).pipeline(pipeline)
                  .hypothesis("metamorphic", verifier=metamorphic).build())
    result = experiment.run(replicates=3)

Rules:

- The run belongs to the ledger: it executes `ExperimentProgram`, and nothing is stored
  here. To resume means to resume that run, or to reuse measurements for another claim.
- The ledger is the one that muniment finds from the working directory; else one beside
  the artifacts; else ``.muniment/ledger.db`` in the working directory.
- ``arun`` works in a thread, and awaits coroutines on the caller's loop.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from muniment.encoding.canonical import sha256_tag
from muniment.errors import UsageError
from muniment.plugins import Plugins
from muniment.programs.import_guard import refuse_importing
from muniment.programs.stable_names import name_of
from muniment.runs.executors import Executor
from muniment_plugins.harness.erasure import left_of
from muniment_plugins.harness.evidence_files.files import (
    ArtifactPlugin,
    Artifacts,
    Record,
)
from muniment_plugins.harness.experiment.builder import (
    ExperimentParts,
    checked_count,
)
from muniment_plugins.harness.experiment.editions import as_ever, as_first_edition
from muniment_plugins.harness.experiment.plan_checks import refuse_unimportable
from muniment_plugins.harness.experiment.program import ExperimentProgram, judging
from muniment_plugins.harness.experiment.results import Result
from muniment_plugins.harness.experiment.reuse import LABEL, Earlier, measurement
from muniment_plugins.harness.functions.hosts import Caller
from muniment_plugins.harness.preregistration.earlier_looks import older
from muniment_plugins.harness.preregistration.registration import (
    KIND,
    identity,
    registered,
    subjects_of,
)

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done

__all__ = ["Experiment", "ExperimentBuilder"]

Strategy = Literal["rerun", "resume"]

_NEWEST = 16
"""How many runs are searched for one that was cut off before it registered itself."""

_SEED = sha256_tag(b"muniment.harness").removeprefix("sha256:")
"""The seed of every experiment. A plan's own would change all draws with the plan."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that can be run, any number of times."""

    program: ExperimentProgram
    """Given to a replay if one of its functions cannot be imported."""
    plugins: tuple[Artifacts, ...] = ()
    replicates: int = 1
    description: str = ""

    @staticmethod
    def builder(name: str | None = None) -> ExperimentBuilder:
        """Return an empty builder."""
        return ExperimentBuilder(name)

    @property
    def name(self) -> str | None:
        """The name that the builder was given."""
        return self.program.name

    @property
    def id(self) -> str:
        """The name, else the beginning of the plan's digest."""
        return identity(self.program)

    def run(
        self,
        *,
        replicates: int | None = None,
        strategy: Strategy = "rerun",
        executor: str | Executor | None = None,
        ledger: Ledger | None = None,
    ) -> Result:
        """Run the experiment; every failure is in the result.

        Args:
            replicates: how many; the builder's number if not given.
            strategy: ``rerun`` runs it anew; ``resume`` continues the last run of this
                plan, or returns it if it completed. If only claims or hypotheses differ
                from an earlier run, ``resume`` judges that run's answers and executions
                anew.
            executor: ``serial``, which needs no plugin, or the name of one that the
                ledger's plugins bring, or an executor with settings.
            ledger: where to record; the module's docstring says where else.

        """
        count = self.replicates if replicates is None else checked_count(replicates)
        chosen = self._admitted(executor, ledger)
        program = replace(self.program, executor=chosen, stop=threading.Event())
        return self._conduct(program, count, strategy, ledger)

    async def arun(
        self,
        *,
        replicates: int | None = None,
        strategy: Strategy = "rerun",
        executor: str | Executor | None = None,
        ledger: Ledger | None = None,
    ) -> Result:
        """Do as `run` does; a cancelled task interrupts the run, which can be resumed."""
        import asyncio  # noqa: PLC0415 - only for awaited runs

        count = self.replicates if replicates is None else checked_count(replicates)
        chosen = self._admitted(executor, ledger)
        stop = threading.Event()
        caller = Caller(asyncio.get_running_loop(), stop)
        program = replace(self.program, executor=chosen, stop=stop, caller=caller)
        work = asyncio.ensure_future(
            asyncio.to_thread(self._conduct, program, count, strategy, ledger)
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            program.stop.set()
            await asyncio.wait([work])
            work.exception()  # that it was stopped is known
            raise

    def register(
        self, *, replicates: int | None = None, ledger: Ledger | None = None
    ) -> Event:
        """State what will be run and judged, apart from any run.

        Later runs under the experiment's name are compared with the last registration.
        """
        count = self.replicates if replicates is None else checked_count(replicates)
        refuse_importing()
        with _recorded_in(ledger, self._artifacts()) as chosen:
            said = registered(self.program, count)
            return chosen.append(KIND, said, subject=subjects_of(said))

    def _admitted(
        self, given: str | Executor | None, ledger: Ledger | None
    ) -> Executor:
        """Return the executor, checked before anything is written or asked."""
        plugins = Plugins() if ledger is None else _checked(ledger).plugins
        chosen = plugins.executor(given)
        chosen.require()
        if chosen.reach != "here":
            refuse_unimportable(self.program, chosen.name)
        return chosen

    def _conduct(
        self,
        program: ExperimentProgram,
        count: int,
        strategy: Strategy,
        ledger: Ledger | None,
    ) -> Result:
        refuse_importing()
        with _recorded_in(ledger, self._artifacts()) as chosen:
            read = judging(program.read(), chosen)
            done = self._execute(read, chosen, count, strategy)
            if isinstance(done, str):
                return Result.read(chosen, done)
            result = Result.of(chosen, done)
            self._write(result.record)
        return result

    def _execute(
        self,
        program: ExperimentProgram,
        ledger: Ledger,
        count: int,
        strategy: Strategy,
    ) -> Done | str:
        plan = {**program.describe(), "replicates": count}
        if strategy == "resume":
            last = _last_run(ledger, program, count)
            if last is not None:
                ends = ledger.events(run=last, type="run.completed", limit=1)
                return last if next(ends, None) else ledger.resume(last, program)
            program = replace(program, earlier=Earlier.newest(ledger, plan))
        elif strategy != "rerun":
            raise UsageError(
                f"{strategy!r} is not a strategy",
                rule="harness/strategy",
                place="Experiment.run",
                remedy="use rerun or resume",
            )
        labels = {
            "experiment": identity(program),
            "executor": program.executor.name,
            LABEL: measurement(plan),
        }
        if self.description:
            labels["description"] = self.description
        return ledger.execute(
            program,
            params={"plan": plan},
            name=self.name or "experiment",
            labels=labels,
            seed=_SEED,
        )

    def _artifacts(self) -> ArtifactPlugin | None:
        found = (one for one in self.plugins if isinstance(one, ArtifactPlugin))
        return next(found, None)

    def _write(self, record: Record) -> None:
        if not self.plugins:
            return
        directory = (self._artifacts() or ArtifactPlugin()).version(record.experiment)
        for plugin in self.plugins:
            plugin.write(directory, record)


@dataclass(frozen=True, slots=True)
class ExperimentBuilder(ExperimentParts):
    """An experiment in the making; comes from `Experiment.builder`."""

    def build(self) -> Experiment:
        """Return the experiment.

        Raises:
            UsageError: it has no datasource or no steps, a name that cannot be a file
                name, or a value in its context that can only be a misspelt parameter.
            HarnessRefused: a treatment makes a step invalid, or a condition or a
                hypothesis cannot succeed; see `plan_checks`.

        """
        return Experiment(self.planned(), self.writers, self.count, self.words)


def _last_run(ledger: Ledger, program: ExperimentProgram, count: int) -> str | None:
    """Return the newest run of this plan, with as many replicates."""
    editions, first = list(as_ever(program)), as_first_edition(program)
    told = (one.describe() for one in (*editions, first))
    cut_off = _cut_off(ledger, [{**one, "replicates": count} for one in told])
    if cut_off is not None:
        return cut_off
    for one in editions:
        for event in ledger.events(type=KIND, subject=one.digest, order="desc"):
            if event.run is not None and event.raw["replicates"] == count:
                return event.run
    runs = [
        event.run
        for event in older(ledger)
        if event.raw["plan"] == first.digest and event.raw["replicates"] == count
    ]
    return next(filter(None, reversed(runs)), None)


def _cut_off(ledger: Ledger, plans: Sequence[object]) -> str | None:
    """Return the newest run of one of *plans*, if it ended before it registered."""
    for run in ledger.runs(order="desc", limit=_NEWEST):
        program = ledger.plugins.names.of(run.program or {})
        if program is None or program.name != name_of(ExperimentProgram):
            continue
        if next(ledger.events(run=run.id, type=KIND, limit=1), None) is not None:
            return None
        given = left_of(ledger, ledger.event(run.first)).get("params")
        params = cast("Mapping[str, object]", given or {})
        if params.get("plan") in plans:
            return run.id
    return None


def _checked(ledger: Ledger) -> Ledger:
    """Return *ledger* if it is one, or refuse."""
    if callable(getattr(ledger, "execute", None)):
        return ledger
    raise UsageError(
        f"{ledger!r} is not an open ledger",
        rule="harness/experiment",
        place="Experiment.run",
        remedy="open it: with muniment.open(path) as ledger: …",
    )


@contextmanager
def _recorded_in(
    ledger: Ledger | None, artifacts: ArtifactPlugin | None
) -> Generator[Ledger]:
    """Open the ledger for one experiment, and close it if it was not given."""
    if ledger is not None:
        yield _checked(ledger)
        return
    import muniment  # noqa: PLC0415 - the ledger's machinery, when a run begins
    from muniment.places import DEFAULT_PLACE, discover  # noqa: PLC0415 - the same

    place = discover()
    if place is None and artifacts is not None:
        place = Path(artifacts.root_dir).absolute().parent / DEFAULT_PLACE
    with muniment.open(place, create=True) as opened:
        yield opened
