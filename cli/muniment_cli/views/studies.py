"""A run as researchers read it: conditions, hypotheses, and failures.

    condition  replicates  error
    baseline   8 of 8      2.1
    median     7 of 8      0.3

    hypothesis  condition  verdict  p-value  improvement  95 % interval
    better      median     holds    0.0039   85.7 %       80.2 … 89.9 %

Rules: everything is read from the run's events, so it works for a run of any age; a
number in the first table is the mean over the measured replicates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, cast

from muniment_cli.terminal.output import Cell, count, prose, say, table
from muniment_cli.views.event_view import resolved, untagged

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = [
    "Measured",
    "Study",
    "StudyVerdict",
    "figure",
    "integrity_word",
    "show_study",
    "study_of",
    "verdict_word",
    "verdicts_of",
]

_COLUMNS = 6
"""How many metrics the table of conditions shows."""
_SHOWN = 10
"""How many kinds of failures are printed."""

_WORDS: dict[bool | None, Cell] = {
    True: ("holds", "green"),
    False: ("refuted", "bold red"),
    None: ("says none", "yellow"),
}
_UNDECIDED: Cell = ("undecided", "yellow")


@dataclass(frozen=True, slots=True)
class StudyVerdict:
    """The verdict on one hypothesis under one condition."""

    hypothesis: str
    condition: str
    passed: bool | None
    judged: bool = True
    p_value: float | None = None
    improvement: float | None = None
    interval: tuple[float, float] | None = None
    level: str | None = None
    integrity: str | None = None
    adjusted: float | None = None
    runs: dict[str, int] | None = None
    """How many runs of this claim, and of this experiment, the ledger holds with it."""
    why: str | None = None
    """Why it was not judged, or left undecided."""

    def __str__(self) -> str:
        """Return its name, and the condition."""
        where = f" ({self.condition})" if self.condition else ""
        return f"{self.hypothesis}{where}"

    def to_json(self) -> dict[str, JsonValue]:
        """Return the verdict as plain JSON."""
        return {
            "hypothesis": self.hypothesis,
            "condition": self.condition,
            "passed": self.passed,
            "judged": self.judged,
            "p_value": self.p_value,
            "p_adjusted": self.adjusted,
            "improvement_pct": self.improvement,
            "interval_95": None if self.interval is None else [*self.interval],
            "level": self.level,
            "integrity": self.integrity,
            "denominator": None if self.runs is None else {**self.runs},
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of the replicates of one condition."""

    condition: str
    planned: int
    measured: int
    means: dict[str, float]
    not_finite: tuple[str, ...] = ()
    """The metrics whose mean is NaN or infinite."""

    def to_json(self) -> dict[str, JsonValue]:
        """Return the condition as plain JSON."""
        return {
            "condition": self.condition,
            "planned": self.planned,
            "measured": self.measured,
            "means": {**self.means},
            "not_finite": [*self.not_finite],
        }


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment's run."""

    conditions: tuple[Measured, ...] = ()
    failures: tuple[str, ...] = field(default_factory=tuple[str, ...])
    """A line for each kind of failure."""


def verdicts_of(ledger: Ledger, run: str) -> tuple[StudyVerdict, ...]:
    """Return the verdicts of *run*, in planned order, and those that are missing.

    Each that was reached stands: a later one about the same does not hide an earlier one.
    """
    found: dict[tuple[str, str], list[StudyVerdict]] = {}
    for event in ledger.events(run=run, type="verdict.reached"):
        one = _reached(ledger, event)
        found.setdefault((one.hypothesis, one.condition), []).append(one)
    for event in ledger.events(run=run, type="hypothesis.unjudged"):
        pair = (str(event.raw["hypothesis"]), event.scope or "")
        found.setdefault(pair, [StudyVerdict(*pair, None, judged=False)])
    stated = next(ledger.events(run=run, type="experiment.registered", limit=1), None)
    order: dict[tuple[str, str], list[StudyVerdict]] = {}
    if stated is not None:
        from muniment_plugins.harness.experiment.unjudged import planned, unjudged_of

        left = unjudged_of(ledger, list(ledger.events(run=run)))
        for pair, why in left.items():
            found[pair] = [StudyVerdict(*pair, None, judged=False, why=why)]
        order = {pair: found[pair] for pair in planned(ledger, stated)}
    return tuple(one for told in {**order, **found}.values() for one in told)


def _reached(ledger: Ledger, event: Event) -> StudyVerdict:
    data = resolved(ledger, event)
    result = untagged(data.get("result"))
    told = result if isinstance(result, dict) else {}
    both = [_number(one) for one in _listed(told.get("interval_95"))]
    low, high = both if len(both) == 2 else (None, None)  # noqa: PLR2004 - a pair
    return StudyVerdict(
        str(data.get("hypothesis")),
        event.scope or "",
        cast("bool | None", data.get("passed")),
        True,
        _number(untagged(data.get("p_value"))),
        _number(told.get("pct_improvement")),
        None if low is None or high is None else (low, high),
        cast("str | None", data.get("level")),
        cast("str | None", data.get("integrity")),
        _number(untagged(data.get("p_adjusted"))),
        cast("dict[str, int] | None", data.get("denominator")),
        cast("str | None", told.get("undecided")),
    )


def study_of(ledger: Ledger, run: str) -> Study | None:
    """Return the study of the experiment *run*; None for every other program."""
    stated = next(ledger.events(run=run, type="experiment.registered", limit=1), None)
    if stated is None:
        return None
    from muniment_plugins.harness.experiment.failures import (
        failures_of,
        place_in,
        summed_up,
    )

    events = list(ledger.events(run=run))
    planned = cast("int", stated.raw["replicates"])
    conditions = _listed(resolved(ledger, stated).get("conditions"))
    rows: dict[str, list[dict[str, JsonValue]]] = {str(one): [] for one in conditions}
    for event in events:
        if event.type == "metrics.measured":
            condition, _ = place_in(event.scope)
            rows.setdefault(condition, []).append(_row(resolved(ledger, event)))
    return Study(
        tuple(_measured(name, planned, one) for name, one in rows.items()),
        tuple(summed_up(failures_of(ledger, events))),
    )


def _row(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the metrics of one replicate, as the code ordered them."""
    metrics = untagged(data.get("metrics"))
    named = metrics if isinstance(metrics, dict) else {}
    order = map(str, _listed(data.get("order")))
    return {name: named[name] for name in order if name in named}


def _measured(
    condition: str, planned: int, rows: list[dict[str, JsonValue]]
) -> Measured:
    """Return the means of the metrics that are numbers in all replicates of *rows*."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    means: dict[str, float] = {}
    for name in names:
        numbers = [_number(row.get(name)) for row in rows]
        found = [one for one in numbers if one is not None]
        if found and len(found) == len(rows):
            total = sum(found)  # of large numbers it may be infinite
            shares = [one / len(found) for one in found]
            means[name] = total / len(found) if isfinite(total) else sum(shares)
    infinite = tuple(name for name, one in means.items() if not isfinite(one))
    finite = {name: one for name, one in means.items() if name not in infinite}
    return Measured(condition, planned, len(rows), finite, infinite)


def _number(value: JsonValue) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:  # an integer beyond what a float can be
        return inf if cast("int", value) > 0 else -inf


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def show_study(study: Study | None, verdicts: tuple[StudyVerdict, ...]) -> None:
    """Print the tables of conditions and hypotheses, and the failures."""
    if study is not None and study.conditions:
        say()
        _show_conditions(study)
    if verdicts:
        say()
        _show_verdicts(verdicts)
    if study is not None and study.failures:
        say()
        for line in study.failures[:_SHOWN]:
            prose(line, "red")
        left = len(study.failures) - _SHOWN
        if left > 0:
            say(f"and {count(left, 'more kind')} of failures")


def _show_conditions(study: Study) -> None:
    names = list(
        dict.fromkeys(
            n for one in study.conditions for n in (*one.means, *one.not_finite)
        )
    )
    shown = names[:_COLUMNS]
    rows: list[list[Cell]] = []
    for one in study.conditions:
        text = f"{one.measured} of {one.planned}"
        whole: Cell = text if one.measured == one.planned else (text, "red")
        rows.append([one.condition, whole, *(_mean(one, name) for name in shown)])
    headings = ["condition", "replicates", *(f"mean {name}" for name in shown)]
    table(headings, rows, right=headings[2:], upright=True, sparse=True)
    if len(names) > len(shown):
        say(f"and of {count(len(names) - len(shown), 'more metric')}: --json")


def _mean(one: Measured, name: str) -> Cell:
    return (
        ("not finite", "red") if name in one.not_finite else figure(one.means.get(name))
    )


def _show_verdicts(verdicts: tuple[StudyVerdict, ...]) -> None:
    columns: dict[str, list[Cell]] = {
        "hypothesis": [one.hypothesis for one in verdicts],
        "condition": [one.condition for one in verdicts],
        "verdict": [verdict_word(one) for one in verdicts],
        "p-value": [figure(one.p_value) for one in verdicts],
        "improvement": [_percent(one.improvement) for one in verdicts],
        "95 % interval": [_interval(one.interval) for one in verdicts],
        "integrity": [integrity_word(one) for one in verdicts],
        "run of its claim": [_count(one.runs) for one in verdicts],
    }
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    table([*kept], zip(*kept.values(), strict=True), upright=True, sparse=True)
    for one in verdicts:
        if one.why is not None:
            prose(f"{one}: {one.why}", "yellow")


def verdict_word(verdict: StudyVerdict) -> Cell:
    """Return what it says, in a word."""
    if not verdict.judged:
        return ("not judged", "yellow")
    open_still = verdict.passed is None and verdict.why is not None
    return _UNDECIDED if open_still else _WORDS[verdict.passed]


def _count(runs: dict[str, int] | None) -> str:
    """Return which run of its claim it is, if it is not the only one."""
    number = 0 if runs is None else max(runs.values(), default=0)
    return "" if number <= 1 else f"no. {number}"


def integrity_word(verdict: StudyVerdict) -> Cell:
    """Return which goalpost was moved; nothing if none was."""
    told = verdict.integrity or "valid"
    return "" if told == "valid" else (told.replace("_", " "), "yellow")


def figure(value: float | None) -> str:
    """Return *value* in four digits; nothing for None."""
    return "" if value is None else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{figure(value)} %"


def _interval(value: tuple[float, float] | None) -> str:
    return "" if value is None else f"{figure(value[0])} … {figure(value[1])} %"
