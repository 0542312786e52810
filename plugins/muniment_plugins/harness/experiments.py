"""Experiments: a pipeline over data, replicated, with hypotheses, recorded as one run.

    experiment = (Experiment.builder().datasource(load).pipeline(pipeline)
                  .hypothesis("metamorphic", verifier=metamorphic).build())
    result = experiment.run(replicates=3)

Rules:

- The run is the ledger's: `ExperimentProgram` executed, nothing stored here. To resume
  is to resume that run, or to take over what was measured for another claim.
- The ledger is the one that muniment finds from the working directory; else one beside
  the artifacts; else ``.muniment/ledger.db`` in the working directory.
- ``arun`` works in a thread, and awaits what has to be awaited on the caller's loop.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from muniment.canonical import sha256_tag
from muniment.errors import UsageError
from muniment.events import BlobRef
from muniment.imports import refuse_importing
from muniment_plugins.harness.artifacts import ArtifactPlugin, Artifacts, Record
from muniment_plugins.harness.building import ExperimentBuilder, checked_count
from muniment_plugins.harness.earlier import LABEL, Earlier, measurement
from muniment_plugins.harness.editions import as_first_edition, before_syntax
from muniment_plugins.harness.executors import Executor, executor_of
from muniment_plugins.harness.hosts import Caller
from muniment_plugins.harness.looks import older
from muniment_plugins.harness.programs import ExperimentProgram, judging
from muniment_plugins.harness.registration import (
    KIND,
    identity,
    registered,
    subjects_of,
)
from muniment_plugins.harness.results import Result

if TYPE_CHECKING:
    from muniment.events import Event
    from muniment.executing import Done
    from muniment.ledger import Ledger

__all__ = ["Experiment"]

Strategy = Literal["rerun", "resume"]

_NEWEST = 16
"""Among how many runs one is sought that was cut off before it registered itself."""

_SEED = sha256_tag(b"muniment.harness").removeprefix("sha256:")
"""What every experiment draws from. Were it the plan's, any change would draw anew."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that can be run, any number of times."""

    program: ExperimentProgram
    """What a replay is given where a function of it cannot be imported."""
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
            strategy: ``rerun`` runs it anew; ``resume`` goes on with the last run of
                this plan that did not come to its end, and returns one that did. Where
                claims or hypotheses alone differ from an earlier run, it judges anew
                what was asked and executed there.
            executor: ``serial``, ``threads``, ``processes``, ``dask``, ``ray``, or an
                executor with settings.
            ledger: where it is recorded; see the module for where else.

        """
        count = self.replicates if replicates is None else checked_count(replicates)
        chosen = executor_of(executor)
        chosen.admit(self.program)
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
        import asyncio  # noqa: PLC0415 - for what is awaited only

        count = self.replicates if replicates is None else checked_count(replicates)
        chosen = executor_of(executor)
        chosen.admit(self.program)
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
        """State what is going to be run and judged, apart from any run.

        Later runs of the experiment's name are held against the last registration.
        """
        count = self.replicates if replicates is None else checked_count(replicates)
        refuse_importing()
        with _recorded_in(ledger, self._artifacts()) as chosen:
            said = registered(self.program, count)
            return chosen.append(KIND, said, subject=subjects_of(said))

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
                return (
                    last if _is_complete(ledger, last) else ledger.resume(last, program)
                )
            program = replace(program, earlier=Earlier.newest(ledger, plan))
        elif strategy != "rerun":
            raise UsageError(
                f"{strategy!r} is no strategy",
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


def _last_run(ledger: Ledger, program: ExperimentProgram, count: int) -> str | None:
    """Return the newest run of this plan, with as many replicates."""
    cut_off = _cut_off(ledger, {**program.describe(), "replicates": count})
    if cut_off is not None:
        return cut_off
    for one in (program, before_syntax(program)):
        for event in ledger.events(type=KIND, subject=one.digest, order="desc"):
            if event.run is not None and event.raw["replicates"] == count:
                return event.run
    first = as_first_edition(program).digest
    runs = [
        event.run
        for event in older(ledger)
        if event.raw["plan"] == first and event.raw["replicates"] == count
    ]
    return next(filter(None, reversed(runs)), None)


def _cut_off(ledger: Ledger, plan: object) -> str | None:
    """Return the run of *plan*, among the newest, that did not come to register it."""
    for event in ledger.events(type="run.started", order="desc", limit=_NEWEST):
        if event.raw.get("seed") != _SEED:
            continue
        if next(ledger.events(run=event.run, type=KIND, limit=1), None) is not None:
            return None
        params = event.data.get("params")
        told = ledger.value(params) if isinstance(params, BlobRef) else None
        if (
            isinstance(told, dict)
            and cast("dict[str, object]", told).get("plan") == plan
        ):
            return event.run
    return None


def _is_complete(ledger: Ledger, run: str) -> bool:
    return next(iter(ledger.events(run=run, type="run.completed")), None) is not None


@contextmanager
def _recorded_in(
    ledger: Ledger | None, artifacts: ArtifactPlugin | None
) -> Generator[Ledger]:
    """Open the ledger for one experiment, and close it if it was not given."""
    if ledger is not None:
        if not callable(getattr(ledger, "execute", None)):
            raise UsageError(
                f"{ledger!r} is no open ledger",
                rule="harness/experiment",
                place="Experiment.run",
                remedy="open it: with muniment.open(path) as ledger: …",
            )
        yield ledger
        return
    import muniment  # noqa: PLC0415 - the ledger's machinery, when a run begins
    from muniment.opening import DEFAULT_PLACE, discover  # noqa: PLC0415 - the same

    place = discover()
    if place is None and artifacts is not None:
        place = Path(artifacts.root_dir).absolute().parent / DEFAULT_PLACE
    with muniment.open(place, create=True) as opened:
        yield opened
