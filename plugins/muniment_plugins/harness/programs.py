"""An experiment as a program over a run, live and made again from its events.

    baseline/replicate/0    replicate.started, data.*, claim.stated, …, metrics.measured
    baseline/replicate/1    …
    baseline                verdict.reached

Rules:

- The plan is the run's params: steps, claim, spec, code, hypotheses, replicates. With
  the recorded answers it is all that a replay needs.
- A replicate that fails is a fact, and the others go on. Failures end the run as failed
  once everything else is recorded.
- A datasource is an effect of kind ``data``, asked once for each replicate.
- The run's seed is the digest of the plan: equal plans give equal results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, cast

from muniment.canonical import canonical, sha256_tag
from muniment.errors import EffectFailed, MunimentError
from muniment.events import BlobRef
from muniment.lanes import Lane
from muniment.values import encode
from muniment_plugins.harness.cases import Case
from muniment_plugins.harness.pipelines import Pipeline
from muniment_plugins.harness.references import Function, Remembered, recall, refer
from muniment_plugins.harness.refusals import ExperimentFailed, HarnessRefused
from muniment_plugins.harness.verifiers import Hypothesis, Verifier

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["BASELINE", "ExperimentProgram", "rebuild"]

BASELINE = "baseline"
_SEEDS = 2**53


class ExperimentProgram:
    """A pipeline over a datasource, with hypotheses about what it measures."""

    def __init__(
        self,
        pipeline: Pipeline,
        datasource: Function,
        hypotheses: tuple[Hypothesis, ...] = (),
    ) -> None:
        self.pipeline = pipeline
        self.datasource = datasource
        self.hypotheses = hypotheses

    def describe(self) -> dict[str, object]:
        """Return what the experiment is, as JSON."""
        return {
            "datasource": refer(self.datasource),
            "pipeline": self.pipeline.describe(),
            "hypotheses": [one.describe() for one in self.hypotheses],
        }

    def _require_functions(self) -> None:
        """Find what is left to ask before anything is asked.

        Else every further replicate would be recorded as failed for want of it.
        """
        asked = (self.datasource, *(getattr(one, "llm", None) for one in self.pipeline))
        for function in asked:
            if isinstance(function, Remembered):
                recall(function.described)

    @property
    def digest(self) -> str:
        """SHA-256 of what the experiment is."""
        return sha256_tag(canonical(encode(self.describe())))

    @classmethod
    def from_json(cls, plan: Mapping[str, object]) -> Self:
        """Return the program that a recorded *plan* says."""
        hypotheses = cast("list[Mapping[str, object]]", plan["hypotheses"])
        return cls(
            Pipeline.from_json(cast("list[Mapping[str, object]]", plan["pipeline"])),
            Remembered(cast("Mapping[str, object]", plan["datasource"])),
            tuple(_hypothesis(one) for one in hypotheses),
        )

    def __call__(self, run: Lane, plan: Mapping[str, object]) -> dict[str, object]:
        """Run all replicates and judge; see the module's rules.

        Raises:
            ExperimentFailed: a replicate failed, or a hypothesis was not judged.

        """
        if run.mode == "resume":
            self._require_functions()
        replicates = cast("int", plan["replicates"])
        condition = _Condition(self, run.scope(BASELINE), BASELINE)
        condition.measure(replicates)
        verdicts = condition.judge(condition.samples)
        if condition.failures:
            name, first = condition.failures[0]
            others = len(condition.failures) - 1
            raise ExperimentFailed(
                f"{name}: {_told(first)['message']}"
                + (f" (and {others} more)" if others else ""),
                rule="harness/failed",
                remedy="each failure is an event of the run, and in result.errors",
            ) from condition.failures[-1][1]
        return {"metrics": dict(condition.samples), "verdicts": verdicts}


class _Condition:
    """One condition on its way through its replicates."""

    def __init__(self, program: ExperimentProgram, lane: Lane, name: str) -> None:
        self.program = program
        self.lane = lane
        self.name = name
        self.samples: dict[str, list[object]] = {}
        self.failures: list[tuple[str, Exception]] = []

    def measure(self, replicates: int) -> None:
        """Run every replicate; keep what each measured, or how it failed."""
        for number in range(replicates):
            with self.lane.scope(f"replicate/{number}") as lane:
                case = self._replicate(number, lane)
                if case is not None:
                    self._keep(number, case, lane)

    def _replicate(self, number: int, lane: Lane) -> Case | None:
        seed = int(lane.random() * _SEEDS)
        about = {"condition": self.name, "replicate": number, "seed": seed}
        lane.record("replicate.started", about)
        at = "datasource"
        try:
            data = self._data(about, lane)
            case = Case(data, entrypoint=self.program.pipeline.entrypoint, seed=seed)
            for step in self.program.pipeline:
                at = step.name
                case = step(case, lane)
        except Exception as error:
            if not _is_held(error):
                raise
            fact = {"replicate": number, "step": at, **_told(error)}
            fact["line"] = getattr(error, "line", None) or None
            lane.record("replicate.failed", fact)
            self.failures.append((f"{self.name}, replicate {number}, {at}", error))
            return None
        return case

    def _data(self, about: Mapping[str, object], lane: Lane) -> object:
        source = self.program.datasource
        request = {"datasource": refer(source), **about}
        return lane.effect("data", request, perform=source)

    def _keep(self, number: int, case: Case, lane: Lane) -> None:
        metrics = dict(case.metrics)
        fact = {
            "replicate": number,
            "metrics": metrics,
            "order": list(metrics),
            "outputs": dict(case.outputs or {}),
        }
        lane.record("metrics.measured", fact)
        for name, value in metrics.items():
            self.samples.setdefault(name, []).append(value)

    def judge(self, baseline: Mapping[str, list[object]]) -> dict[str, object]:
        """Reach the verdict of every hypothesis; a verifier may refuse."""
        verdicts: dict[str, object] = {}
        for hypothesis in self.program.hypotheses if self.samples else ():
            try:
                fact = hypothesis.verdict(baseline, self.samples)
            except Exception as error:
                if not _is_held(error):
                    raise
                missed = {"hypothesis": hypothesis.name, **_told(error)}
                self.lane.record("hypothesis.unjudged", missed)
                self.failures.append(
                    (f"{self.name}, hypothesis {hypothesis.name}", error)
                )
            else:
                self.lane.record("verdict.reached", fact)
                verdicts[hypothesis.name] = fact["result"]
        return verdicts


def _is_held(error: Exception) -> bool:
    """Tell a failure of the replicate from one of the ledger or of a policy."""
    own = (HarnessRefused, EffectFailed)
    return isinstance(error, own) or not isinstance(error, MunimentError)


def _told(error: Exception) -> dict[str, object]:
    message = error.message if isinstance(error, MunimentError) else str(error)
    return {
        "error_type": type(error).__name__,
        "message": message.encode("utf-8", "backslashreplace").decode(),
        "rule": error.rule if isinstance(error, MunimentError) else None,
    }


def _hypothesis(described: Mapping[str, object]) -> Hypothesis:
    function = recall(cast("Mapping[str, object]", described["verifier"]))
    return Hypothesis(cast("str", described["name"]), Verifier.of(function))


def rebuild(ledger: Ledger, run: str) -> ExperimentProgram | None:
    """Return the program of *run* from its events, or None if it is no experiment."""
    started = next(ledger.events(run=run, limit=1))
    program = cast("Mapping[str, object]", started.data.get("program") or {})
    params = started.data.get("params")
    if program.get("import") != _NAME or not isinstance(params, BlobRef):
        return None
    plan = cast("Mapping[str, Mapping[str, object]]", ledger.value(params))["plan"]
    return ExperimentProgram.from_json(plan)


_NAME = f"{ExperimentProgram.__module__}:{ExperimentProgram.__qualname__}"
