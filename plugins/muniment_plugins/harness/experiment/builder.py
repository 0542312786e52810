"""What an experiment is built of: each call returns another builder.

    Experiment.builder("sum").datasource(load).pipeline(pipeline)
        .treatment("half", {"share": 0.5}).hypothesis("ok", verifier=metamorphic)
        .replicates(5).build()

Rule: the builder refuses what cannot work before anything runs: duplicate names,
context that no plan can carry, an experiment without data or steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Never, Self, TypeVar, cast

from muniment.errors import UsageError
from muniment.programs.import_guard import is_importing
from muniment.programs.references import Function, named
from muniment_plugins.harness.case import Step
from muniment_plugins.harness.evidence_files.files import Artifacts, file_name
from muniment_plugins.harness.experiment.plan_checks import refuse_plan
from muniment_plugins.harness.experiment.program import ExperimentProgram
from muniment_plugins.harness.experiment.treatments import (
    Changes,
    Treatment,
    held,
    refuse_mistaken,
)
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.statistics.verifiers import Hypothesis, Verifier
from muniment_plugins.harness.steps.data_source import PINS
from muniment_plugins.harness.steps.pipeline import Pipeline

__all__ = ["ExperimentParts", "checked_count"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ExperimentParts:
    """The parts that were given so far; an `ExperimentBuilder` has them."""

    name: str | None = None
    source: Function | None = None
    pin: str = "content"
    steps: tuple[Step, ...] = ()
    judged: tuple[Hypothesis, ...] = ()
    treated: tuple[Treatment, ...] = ()
    writers: tuple[Artifacts, ...] = ()
    count: int = 1
    context: Mapping[str, object] = field(default_factory=dict[str, object])
    declared: tuple[str, ...] = ()
    words: str = ""

    def datasource(self, source: Function, *, pin: str = "content") -> Self:
        """Take the data from ``source(ctx)``, called once for each replicate.

        With ``pin="digest"`` the data stays out of the ledger, which keeps its digest;
        a replay then needs the source.
        """
        if not callable(source):
            _refuse(f"{source!r} cannot be called", "give datasource(lambda ctx: data)")
        if pin not in PINS:
            _refuse(f"{pin!r} pins nothing", f"give one of {', '.join(PINS)}")
        return replace(self, source=named(source), pin=pin)

    def pipeline(self, pipeline: Pipeline | Iterable[Step]) -> Self:
        """Take the steps of *pipeline*."""
        return replace(self, steps=Pipeline(pipeline).steps)

    def add_step(self, step: Step) -> Self:
        """Put *step* after the others."""
        return replace(self, steps=(*self.steps, step))

    def treatment(
        self, name: str | Treatment, apply: Changes | Function | None = None
    ) -> Self:
        """Add a condition with the changes that *apply* gives; see `Treatment`."""
        if isinstance(name, Treatment):
            one = name
        elif apply is None:
            _refuse(f"{name!r} changes nothing", "give treatment(name, {…})")
        else:
            one = Treatment(name, apply)
        if any(other.name == one.name for other in self.treated):
            _refuse(f"two treatments are called {one.name}", "name each of them")
        return replace(self, treated=(*self.treated, one))

    def treatments(
        self, treatments: Iterable[Treatment] | Mapping[str, Changes | Function]
    ) -> Self:
        """Add several conditions."""
        builder = self
        if isinstance(treatments, Mapping):
            given = cast("Mapping[str, Changes | Function]", treatments)
            treatments = [Treatment(name, apply) for name, apply in given.items()]
        for one in _listed(treatments, "treatments({name: {…}})"):
            builder = builder.treatment(one)
        return builder

    def hypothesis(
        self, name: str | Hypothesis, *, verifier: Verifier | Function | None = None
    ) -> Self:
        """Let *verifier* judge the measurements, under *name*."""
        if isinstance(name, Hypothesis):
            one = name
        elif callable(name):
            _refuse(f"{name!r} has no name", "give hypothesis(name, verifier=…)")
        elif verifier is None:
            _refuse(f"nobody judges {name}", "give hypothesis(name, verifier=…)")
        else:
            one = Hypothesis(name, Verifier.of(verifier))
        if any(other.name == one.name for other in self.judged):
            _refuse(f"two hypotheses are called {one.name}", "name each of them")
        return replace(self, judged=(*self.judged, one))

    def hypotheses(
        self, hypotheses: Iterable[Hypothesis] | Mapping[str, Verifier | Function]
    ) -> Self:
        """Add several hypotheses."""
        builder = self
        if isinstance(hypotheses, Mapping):
            given = cast("Mapping[str, Verifier | Function]", hypotheses)
            hypotheses = [Hypothesis(n, Verifier.of(one)) for n, one in given.items()]
        for one in _listed(hypotheses, "hypotheses({name: verifier})"):
            builder = builder.hypothesis(one)
        return builder

    def plugin(self, plugin: Artifacts) -> Self:
        """Let *plugin* write its files when the run has ended."""
        if isinstance(plugin, type) or not callable(getattr(plugin, "write", None)):
            _refuse(f"{plugin!r} writes no files", "give plugin(ArtifactPlugin())")
        return replace(self, writers=(*self.writers, plugin))

    def plugins(self, plugins: Iterable[Artifacts]) -> Self:
        """Add several plugins."""
        builder = self
        for one in _listed(plugins, "plugins([ArtifactPlugin()])"):
            builder = builder.plugin(one)
        return builder

    def replicates(self, count: int) -> Self:
        """Run *count* replicates unless `Experiment.run` says otherwise."""
        return replace(self, count=checked_count(count))

    def description(self, words: str) -> Self:
        """Say what the experiment is for; a label of its runs."""
        if not _is(words, str):
            _refuse(f"{words!r} is not text", "write description('…')")
        return replace(self, words=words)

    def initial_ctx(self, values: Mapping[str, object]) -> Self:
        """Give every condition *values*; steps and functions find them in ``ctx``."""
        if not _is(values, Mapping):
            _refuse(f"{values!r} names no values", "give initial_ctx({name: value})")
        given = held(values, "initial_ctx")
        return replace(self, context={**self.context, **given})

    def outputs(self, names: Iterable[str]) -> Self:
        """Require that the code returns *names*; a replicate without them fails."""
        if isinstance(names, str):
            _refuse(f"{names!r} is not a list", f"write outputs([{names!r}])")
        declared = tuple(_listed(names, "outputs([name])"))
        if not all(_is(one, str) for one in declared):
            _refuse(f"{names!r} are not names", "write outputs([name])")
        return replace(self, declared=declared)

    def planned(self) -> ExperimentProgram:
        """Return the program of the experiment.

        Raises:
            UsageError: it has no datasource or no steps, a name that cannot be a file
                name, or a value in its context that can only be a misspelt parameter.
            HarnessRefused: a treatment makes a step invalid, or a condition or a
                hypothesis cannot succeed; see `plan_checks`.

        """
        if self.source is None:
            _refuse("there is no datasource", "add .datasource(lambda ctx: data)")
        if not self.steps:
            _refuse("there are no steps", "add .pipeline(Pipeline([…]))")
        if self.name is not None and (type(self.name) is not str or not self.name):
            _refuse(f"{self.name!r} is not a name", "write Experiment.builder('name')")
        if self.writers and self.name is not None:
            file_name(self.name, "the experiment's name")
        pipeline = Pipeline(self.steps)
        self._refuse_strange(pipeline)
        program = ExperimentProgram(
            pipeline,
            self.source,
            self.judged,
            self.treated,
            self.context,
            self.declared,
            self.name,
            self.pin,
        )
        if not is_importing():  # a recorded plan is held to the rules of its time
            refuse_plan(program)
        return program

    def _refuse_strange(self, pipeline: Pipeline) -> None:
        """Refuse values of the context or a treatment that are unused or wrong."""
        takes, given = pipeline.takes, pipeline.given
        refuse_mistaken(self.context, takes, given, "initial_ctx")
        pipeline.under(self.context)
        for one in self.treated:
            changes = one.fixed or {}
            place = f"treatment {one.name}"
            refuse_mistaken(changes, takes | self.context.keys(), given, place)
            try:
                pipeline.under({**self.context, **changes})
            except HarnessRefused as refusal:
                refusal.place = f"{place}, {refusal.place}".removesuffix(", ")
                raise


def checked_count(count: int) -> int:
    """Return *count* if it is a number of replicates, or refuse it."""
    if type(count) is not int or count < 1:
        _refuse(f"{count!r} replicates are none", "give 1 or more")
    return count


def _is(given: object, kind: type) -> bool:
    """Tell whether *given* matches its annotation, which nothing enforces."""
    return isinstance(given, kind)


def _listed(given: Iterable[_T], remedy: str) -> list[_T]:
    if not _is(given, Iterable):
        _refuse(f"{given!r} is not a list", f"write {remedy}")
    return list(given)


def _refuse(message: str, remedy: str) -> Never:
    raise UsageError(
        message, rule="harness/experiment", place="Experiment", remedy=remedy
    )
