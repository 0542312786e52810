"""The result of an experiment, read from its events.

    result.metrics.baseline.metrics          {'total': [15, 15, 15], …}
    result.metrics.treatments["half"]        the same of a treatment
    result.metrics.hypotheses[0].results     {'baseline': {'metamorphic_ok': True, …}}

Rules: every failure is in ``errors``, and only `Result.raise_for_errors` raises it;
measurements from before a failure are kept. Values are in the order of replicates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment_plugins.harness.evidence_files.files import (
    EvidenceBundlePlugin,
    Record,
    bundle_of,
)
from muniment_plugins.harness.evidence_files.result_digest import digest_of
from muniment_plugins.harness.evidence_files.run_fold import Gathered, gather
from muniment_plugins.harness.experiment.failures import (
    Failure,
    failures_of,
    place_in,
    summed_up,
)
from muniment_plugins.harness.experiment.program import BASELINE
from muniment_plugins.harness.experiment.unjudged import unjudged_of
from muniment_plugins.harness.names import NamedItems
from muniment_plugins.harness.preregistration.integrity import Integrity, integrity_of
from muniment_plugins.harness.preregistration.registration import KIND
from muniment_plugins.harness.refusals import ExperimentFailed
from muniment_plugins.harness.steps.weakest_isolation import weakest

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done
    from muniment.verification.report import Report

__all__ = [
    "ConditionResult",
    "Failure",
    "Judged",
    "Metrics",
    "Ranking",
    "Result",
    "view_of",
]

Pair = tuple[str, str]
"""Hypothesis and condition."""
Row = Mapping[str, object]
Rows = dict[int, dict[str, object]]
_UNENDED = {"refused": RefusedError.exit_code, "paused": 5}


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """What one condition measured: metric → its value in each replicate."""

    metrics: dict[str, list[object]]
    rows: Rows = field(default_factory=Rows)
    """Replicate → what it measured."""

    @classmethod
    def of(cls, rows: Rows, condition: str) -> Self:
        """Return *condition* with these *rows*."""
        metrics: dict[str, list[object]] = {}
        ordered = {number: rows[number] for number in sorted(rows)}
        for measured in ordered.values():
            for name, value in measured.items():
                metrics.setdefault(name, []).append(value)
        return cls(
            NamedItems(metrics, "metric", condition),
            NamedItems(ordered, "measured replicate", condition),
        )


@dataclass(frozen=True, slots=True)
class Ranking:
    """Conditions by how strongly a hypothesis holds for them, the best first."""

    best: str | None
    ranked: tuple[tuple[str, float], ...]
    """Condition and score: its p-value, else 0 if it holds and 1 if not."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A hypothesis and its verdicts: condition → what the verifier said."""

    name: str
    results: dict[str, object]
    passed: bool | None
    scores: dict[str, float] = field(default_factory=dict[str, float])
    level: str | None = None
    """The weakest level that isolated the code behind it."""
    undecided: dict[str, str] = field(default_factory=dict[str, str])
    """Condition → why it could not be judged, or not decided."""
    adjusted: dict[str, float] = field(default_factory=dict[str, float])
    """Condition → its p-value, adjusted for the family that the run registered."""
    denominator: dict[str, int] = field(default_factory=dict[str, int], compare=False)
    """How many runs of this claim and experiment the ledger holds, with this one."""

    @property
    def ranking(self) -> Ranking:
        """The conditions in the order of their scores; ties keep the plan's order."""
        ranked = sorted(self.scores.items(), key=lambda pair: pair[1])
        return Ranking(ranked[0][0] if ranked else None, tuple(ranked))


@dataclass(frozen=True, slots=True)
class Metrics:
    """Everything that was measured and judged."""

    baseline: ConditionResult
    hypotheses: tuple[Judged, ...]
    treatments: dict[str, ConditionResult] = field(
        default_factory=dict[str, ConditionResult]
    )


@dataclass(frozen=True, slots=True)
class Result:
    """The end of an experiment."""

    run_id: str
    ledger_id: str
    status: str
    result_digest: str
    metrics: Metrics
    errors: tuple[Failure, ...]
    integrity: Integrity
    """Whether what ran is what was registered."""
    record: Record = field(repr=False)
    place: Path = field(repr=False)
    """The ledger's file."""
    unjudged: Mapping[Pair, str] = field(default_factory=dict[Pair, str])
    """Hypothesis and condition → why they have no verdict."""

    @property
    def ok(self) -> bool:
        """Whether nothing failed; a hypothesis that is refuted or open is no failure."""
        return not self.errors

    @property
    def exit_code(self) -> int:
        """As of ``muniment run``: 1 if something failed or is refuted, 3 if it is open."""
        if self.status in _UNENDED:
            return _UNENDED[self.status]
        passed = [one.passed for one in self.metrics.hypotheses]
        if False in passed or not self.ok:
            return 1
        return CannotTellError.exit_code if None in passed else 0

    def hypothesis(self, name: str) -> Judged:
        """Return the judged hypothesis *name*.

        Raises:
            UnknownName: there is none; it is a ``KeyError``, and names those there are.

        """
        judged = {one.name: one for one in self.metrics.hypotheses}
        return NamedItems(judged, "hypothesis that was judged", f"run {self.run_id}")[
            name
        ]

    def raise_for_errors(self) -> None:
        """Raise the failures, if there are any.

        Raises:
            ExperimentFailed: it says how many failures there are, and lists each
                distinct one on a line of its own.

        """
        if self.errors:
            number = len(self.errors)
            raise ExperimentFailed(
                "1 failure" if number == 1 else f"{number} failures",
                rule="harness/failed",
                place=f"run {self.run_id}",
                remedy=f"`muniment runs explain {self.run_id}` says what to do",
                kinds=tuple(summed_up(self.errors)),
            )

    def verify(self) -> Report:
        """Verify the whole ledger that holds the run, from first principles."""
        from muniment.verification.verify import verify  # noqa: PLC0415 - only when it is asked for

        return verify(self.place)

    def bundle(self, path: str | Path) -> list[Path]:
        """Write the trail from claim to verdict of each condition below *path*.

        Raises:
            UsageError: *path* is a file.

        """
        directory = Path(path)
        if directory.exists() and not directory.is_dir():
            raise UsageError(
                "it is not a directory",
                rule="harness/artifact",
                place=str(path),
                remedy="give a directory, which is made where there is none",
            )
        EvidenceBundlePlugin().write(directory, self.record)
        return sorted(directory.glob("*/evidence/*.json"))

    def to_df(self) -> Any:
        """Return a pandas frame: a row for each replicate of each condition.

        Raises:
            ModuleNotFoundError: pandas is not installed.

        """
        from importlib import import_module  # noqa: PLC0415 - an optional package

        pandas = import_module("pandas")

        conditions = {BASELINE: self.metrics.baseline, **self.metrics.treatments}
        rows = [
            {"condition": name, "replicate": number, **measured}
            for name, condition in conditions.items()
            for number, measured in condition.rows.items()
        ]
        return pandas.DataFrame(rows)

    @classmethod
    def of(cls, ledger: Ledger, done: Done) -> Self:
        """Return the result of the run that is *done*, from its events."""
        return cls._of(ledger, done.run_id, done.status, done.result_digest, done.error)

    @classmethod
    def read(cls, ledger: Ledger, run: str) -> Self:
        """Return the result of a run that completed before; nothing is executed."""
        digest = digest_of(ledger, ledger.events(run=run))
        return cls._of(ledger, run, "completed", digest, None)

    @classmethod
    def _of(
        cls,
        ledger: Ledger,
        run: str,
        status: str,
        digest: str,
        error: Exception | None,
    ) -> Self:
        events = list(ledger.events(run=run))
        stated = [one for one in events if one.type == KIND]
        about = ledger.resolve(stated[0]) if stated else {}
        # Replicates may have begun in any order; conditions keep the plan's order.
        names = cast("list[str]", about.get("conditions", [BASELINE]))
        rows, unjudged = _rows(ledger, events), unjudged_of(ledger, events)
        conditions = _conditions(ledger, events, names, unjudged)
        hypotheses = cast("list[Mapping[str, str]]", about.get("hypotheses", []))
        measured = [one for one in names[1:] if one in rows]
        treated = {one: ConditionResult.of(rows[one], one) for one in measured}
        metrics = Metrics(
            ConditionResult.of(rows.get(BASELINE, {}), BASELINE),
            _judged(conditions, [one["name"] for one in hypotheses], unjudged),
            NamedItems(treated, "treatment", f"run {run}"),
        )
        size = ledger.checkpointed
        proof = {"ledger": ledger.id, "run": run, "checkpoint": size}
        return cls(
            run,
            ledger.id,
            status,
            digest,
            metrics,
            _errors(failures_of(ledger, events), error),
            integrity_of(ledger, events),
            Record(
                cast("str", about.get("experiment", "experiment")),
                cast("int", about.get("replicates", 0)),
                conditions,
                proof,
            ),
            ledger.path,
            unjudged,
        )


def view_of(ledger: Ledger, run: str) -> list[JsonValue] | None:
    """Return what an experiment's run says, one object for each condition.

    None if the run is of no experiment. Erased values are the digests left of them.
    """
    stated = next(ledger.events(run=run, type=KIND, limit=1), None)
    if stated is None:
        return None  # and its events, of which there may be many, are not read
    events = list(ledger.events(run=run))
    names = cast("list[str]", stated.raw["conditions"])
    found = _conditions(ledger, events, names, unjudged_of(ledger, events))
    return [bundle_of(condition) for condition in found.values()]


def _conditions(
    ledger: Ledger, events: list[Event], names: list[str], unjudged: Mapping[Pair, str]
) -> dict[str, Gathered]:
    """Return the conditions *names* that began, and why they were not judged."""
    found = gather(ledger, events)
    conditions = {name: found[name] for name in names if name in found}
    for (hypothesis, name), why in unjudged.items():
        if name in conditions:
            row: dict[str, object] = {"hypothesis": hypothesis, "why": why}
            conditions[name].unjudged.append(row)
    return conditions


def _rows(ledger: Ledger, events: list[Event]) -> dict[str, Rows]:
    """Return condition → replicate → metrics, as the code ordered them."""
    found: dict[str, Rows] = {}
    for event in events:
        if event.type == "replicate.started":
            found.setdefault(cast("str", event.raw["condition"]), {})
        if event.type != "metrics.measured":
            continue
        condition, number = place_in(event.scope)
        data = ledger.resolve(event)
        metrics = cast("Mapping[str, object]", data["metrics"])
        ordered = {name: metrics[name] for name in cast("list[str]", data["order"])}
        found.setdefault(condition, {})[number or 0] = ordered
    return found


def _judged(
    conditions: Mapping[str, Gathered], names: list[str], unjudged: Mapping[Pair, str]
) -> tuple[Judged, ...]:
    reached: dict[str, dict[str, Row]] = {}
    for condition, found in conditions.items():
        for verdict in found.verdicts:
            hypothesis = cast("str", verdict["hypothesis"])
            reached.setdefault(hypothesis, {})[condition] = verdict
    left: dict[str, dict[str, str]] = {}
    for (hypothesis, condition), why in unjudged.items():
        left.setdefault(hypothesis, {})[condition] = why
    return tuple(
        _one(name, reached[name], left.get(name, {}))
        for name in names
        if name in reached
    )


def _one(name: str, verdicts: Mapping[str, Row], left: Mapping[str, str]) -> Judged:
    """Return hypothesis *name* with its *verdicts* by condition, and what is *left*."""
    results = {one: verdict.get("result") for one, verdict in verdicts.items()}
    passed = [verdict.get("passed") for verdict in verdicts.values()]
    adjusted = {one: verdict.get("p_adjusted") for one, verdict in verdicts.items()}
    levels = (cast("str | None", one.get("level")) for one in verdicts.values())
    counts = (one.get("denominator") for one in verdicts.values())
    return Judged(
        name,
        NamedItems(results, "judged condition", f"hypothesis {name}"),
        _all([*passed, *(None for _ in left)]),
        {one: _score(verdict) for one, verdict in verdicts.items()},
        weakest(levels),
        {**_undecided(results), **left},
        {one: float(p) for one, p in adjusted.items() if isinstance(p, int | float)},
        cast("dict[str, int]", next((one for one in counts if one), None) or {}),
    )


def _undecided(results: Mapping[str, object]) -> dict[str, str]:
    """Return condition → why its verifier left it open."""
    reasons = {
        one: cast("Row", result).get("undecided")
        for one, result in results.items()
        if isinstance(result, Mapping)
    }
    return {one: why for one, why in reasons.items() if isinstance(why, str)}


def _score(verdict: Mapping[str, object]) -> float:
    p_value = verdict.get("p_value")
    if isinstance(p_value, int | float):
        return float(p_value)
    return 0.0 if verdict.get("passed") else 1.0


def _all(said: list[object]) -> bool | None:
    if False in said:
        return False
    return None if None in said else True


def _errors(found: tuple[Failure, ...], error: Exception | None) -> tuple[Failure, ...]:
    if error is None or (found and isinstance(error, ExperimentFailed)):
        return found
    rule = getattr(error, "rule", None)
    message = getattr(error, "message", str(error))
    return (*found, Failure("experiment", type(error).__name__, message, rule))
