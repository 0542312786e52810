"""What came of an experiment, read from its events.

    result.metrics.baseline.metrics          {'total': [15, 15, 15], …}
    result.metrics.hypotheses[0].results     {'baseline': {'metamorphic_ok': True, …}}

Rules: every failure is in ``errors`` and none is raised unless it is asked for; what
was measured before something failed is still there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from muniment_plugins.harness.gathering import Gathered, gather
from muniment_plugins.harness.programs import BASELINE
from muniment_plugins.harness.refusals import ExperimentFailed

if TYPE_CHECKING:
    from muniment.executing import Done
    from muniment.ledger import Ledger

__all__ = ["Condition", "Failure", "Judged", "Metrics", "Result"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What one condition measured: metric → its value in each replicate."""

    metrics: dict[str, list[object]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A hypothesis and its verdicts: condition → what the verifier said."""

    name: str
    results: dict[str, object]
    passed: bool | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that did not get through."""

    place: str
    error_type: str
    message: str
    rule: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        """One line."""
        at = "" if self.line is None else f", line {self.line}"
        rule = "" if self.rule is None else f" [{self.rule}]"
        return f"{self.place}: {self.error_type}: {self.message}{at}{rule}"


@dataclass(frozen=True, slots=True)
class Metrics:
    """Everything that was measured and judged."""

    baseline: Condition
    hypotheses: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """The end of an experiment."""

    run_id: str
    ledger_id: str
    status: str
    result_digest: str
    metrics: Metrics
    errors: tuple[Failure, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed; a refuted hypothesis is no failure."""
        return not self.errors

    @property
    def exit_code(self) -> int:
        """0 if nothing failed and no hypothesis was refuted, else 1."""
        refuted = any(one.passed is False for one in self.metrics.hypotheses)
        return 0 if self.ok and not refuted else 1

    def raise_for_errors(self) -> None:
        """Raise what failed, if anything did.

        Raises:
            ExperimentFailed: it names every failure.

        """
        if self.errors:
            raise ExperimentFailed(
                "; ".join(str(one) for one in self.errors),
                rule="harness/failed",
                place=f"run {self.run_id}",
                remedy="the ledger holds the evidence of each",
            )

    @classmethod
    def of(cls, ledger: Ledger, done: Done) -> Self:
        """Return the result of the run that is *done*, from its events."""
        conditions = gather(ledger, done.run_id)
        baseline = conditions.get(BASELINE, Gathered(BASELINE))
        return cls(
            done.run_id,
            ledger.id,
            done.status,
            done.result_digest,
            Metrics(Condition(baseline.metrics), _judged(conditions)),
            _failures(conditions, done.error),
        )


def _judged(conditions: Mapping[str, Gathered]) -> tuple[Judged, ...]:
    results: dict[str, dict[str, object]] = {}
    passed: dict[str, list[object]] = {}
    for name, condition in conditions.items():
        for verdict in condition.verdicts:
            hypothesis = cast("str", verdict["hypothesis"])
            results.setdefault(hypothesis, {})[name] = verdict.get("result")
            passed.setdefault(hypothesis, []).append(verdict.get("passed"))
    return tuple(
        Judged(name, by_condition, _all(passed[name]))
        for name, by_condition in results.items()
    )


def _all(said: list[object]) -> bool | None:
    if False in said:
        return False
    return None if None in said else True


def _failures(
    conditions: Mapping[str, Gathered], error: Exception | None
) -> tuple[Failure, ...]:
    found = tuple(
        Failure(
            _place(name, failure),
            cast("str", failure["error_type"]),
            cast("str", failure["message"]),
            cast("str | None", failure.get("rule")),
            cast("int | None", failure.get("line")),
        )
        for name, condition in conditions.items()
        for failure in condition.failures
    )
    if error is None or (found and isinstance(error, ExperimentFailed)):
        return found
    rule = getattr(error, "rule", None)
    message = getattr(error, "message", str(error))
    return (*found, Failure("experiment", type(error).__name__, message, rule))


def _place(condition: str, failure: Mapping[str, object]) -> str:
    if "hypothesis" in failure:
        return f"{condition}, hypothesis {failure['hypothesis']}"
    return f"{condition}, replicate {failure['replicate']}, {failure['step']}"
