"""Experiments: a pipeline over data, replicated, with hypotheses, recorded as one run.

    experiment = (Experiment.builder().datasource(load).pipeline(pipeline)
                  .hypothesis("metamorphic", verifier=metamorphic).build())
    result = experiment.run(replicates=3)

Rules:

- The run is the ledger's: `ExperimentProgram` executed, nothing stored here.
- The ledger is the one that muniment finds from the working directory; else one beside
  the artifacts; else ``.muniment/ledger.db`` in the working directory.
- A builder is never changed by its methods: each returns another one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.canonical import canonical, sha256_tag
from muniment.errors import UsageError
from muniment.values import encode
from muniment_plugins.harness.artifacts import ArtifactPlugin, Artifacts, Record
from muniment_plugins.harness.cases import Step
from muniment_plugins.harness.gathering import gather
from muniment_plugins.harness.pipelines import Pipeline
from muniment_plugins.harness.programs import ExperimentProgram
from muniment_plugins.harness.references import Function
from muniment_plugins.harness.results import Result
from muniment_plugins.harness.verifiers import Hypothesis, Verifier

if TYPE_CHECKING:
    from muniment.executing import Done
    from muniment.ledger import Ledger

__all__ = ["Experiment", "ExperimentBuilder"]

_ID = 16


@dataclass(frozen=True, slots=True)
class ExperimentBuilder:
    """What an experiment will be; made by `Experiment.builder`."""

    name: str | None = None
    source: Function | None = None
    steps: tuple[Step, ...] = ()
    judged: tuple[Hypothesis, ...] = ()
    writers: tuple[Artifacts, ...] = ()
    count: int = 1

    def datasource(self, source: Function) -> ExperimentBuilder:
        """Take the data from ``source(ctx)``, asked once for each replicate."""
        if not callable(source):
            _refuse(f"{source!r} cannot be called", "give datasource(lambda ctx: data)")
        return replace(self, source=source)

    def pipeline(self, pipeline: Pipeline | Iterable[Step]) -> ExperimentBuilder:
        """Take the steps of *pipeline*."""
        return replace(self, steps=tuple(pipeline))

    def add_step(self, step: Step) -> ExperimentBuilder:
        """Put *step* after the others."""
        return replace(self, steps=(*self.steps, step))

    def hypothesis(
        self, name: str, *, verifier: Verifier | Function
    ) -> ExperimentBuilder:
        """Let *verifier* judge what is measured, under *name*."""
        if any(one.name == name for one in self.judged):
            _refuse(f"two hypotheses are called {name}", "name each of them")
        one = Hypothesis(name, Verifier.of(verifier))
        return replace(self, judged=(*self.judged, one))

    def plugin(self, plugin: Artifacts) -> ExperimentBuilder:
        """Let *plugin* write its files when the run has ended."""
        return replace(self, writers=(*self.writers, plugin))

    def replicates(self, count: int) -> ExperimentBuilder:
        """Run *count* replicates unless `Experiment.run` says otherwise."""
        return replace(self, count=_checked(count))

    def build(self) -> Experiment:
        """Return the experiment.

        Raises:
            UsageError: it has no datasource or no steps.

        """
        if self.source is None:
            _refuse("there is no datasource", "add .datasource(lambda ctx: data)")
        if not self.steps:
            _refuse("there are no steps", "add .pipeline(Pipeline([…]))")
        source = cast("Function", self.source)
        program = ExperimentProgram(Pipeline(self.steps), source, self.judged)
        return Experiment(program, self.writers, self.count, self.name)


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that can be run, any number of times."""

    program: ExperimentProgram
    """What a replay is given where a function of it cannot be imported."""
    plugins: tuple[Artifacts, ...] = ()
    replicates: int = 1
    name: str | None = None

    @staticmethod
    def builder(name: str | None = None) -> ExperimentBuilder:
        """Return an empty builder."""
        return ExperimentBuilder(name)

    @property
    def id(self) -> str:
        """The name, else the beginning of the plan's digest."""
        return self.name or self.program.digest.removeprefix("sha256:")[:_ID]

    def run(
        self, *, replicates: int | None = None, ledger: Ledger | None = None
    ) -> Result:
        """Run the experiment; every failure is in the result.

        Args:
            replicates: how many; the builder's number if not given.
            ledger: where it is recorded; see the module for where else.

        """
        count = self.replicates if replicates is None else _checked(replicates)
        with _recorded_in(ledger, self._artifacts()) as chosen:
            done = self._execute(chosen, count)
            result = Result.of(chosen, done)
            self._write(chosen, done, count)
        return result

    def _execute(self, ledger: Ledger, count: int) -> Done:
        plan = {**self.program.describe(), "replicates": count}
        seed = sha256_tag(canonical(encode(plan))).removeprefix("sha256:")
        return ledger.execute(
            self.program,
            params={"plan": plan},
            name=self.name or "experiment",
            seed=seed,
        )

    def _artifacts(self) -> ArtifactPlugin | None:
        found = (one for one in self.plugins if isinstance(one, ArtifactPlugin))
        return next(found, None)

    def _write(self, ledger: Ledger, done: Done, count: int) -> None:
        if not self.plugins:
            return
        size, _ = ledger.store.last_checkpoint()
        proof = {"ledger": ledger.id, "run": done.run_id, "checkpoint": size}
        record = Record(self.id, count, gather(ledger, done.run_id), proof)
        directory = (self._artifacts() or ArtifactPlugin()).version(self.id)
        for plugin in self.plugins:
            plugin.write(directory, record)


@contextmanager
def _recorded_in(
    ledger: Ledger | None, artifacts: ArtifactPlugin | None
) -> Generator[Ledger]:
    """Open the ledger for one experiment, and close it if it was not given."""
    if ledger is not None:
        yield ledger
        return
    import muniment  # noqa: PLC0415 - the ledger's machinery, when a run begins
    from muniment.opening import DEFAULT_PLACE, discover  # noqa: PLC0415 - the same

    place = discover()
    if place is None and artifacts is not None:
        place = Path(artifacts.root_dir).absolute().parent / DEFAULT_PLACE
    with muniment.open(place, create=True) as opened:
        yield opened


def _checked(count: int) -> int:
    if type(count) is not int or count < 1:
        _refuse(f"{count!r} replicates are none", "give 1 or more")
    return count


def _refuse(message: str, remedy: str) -> None:
    raise UsageError(
        message, rule="harness/experiment", place="Experiment", remedy=remedy
    )
