"""The outcome of a run: printed, and as an exit code.

    0 the program returned, and no verdict of it failed
    1 it raised, or a verdict failed           4 a rule, a plugin or a limit said no
    5 the run is paused and waits

Rules:

- The outcome of a recorded run is read from its events, whoever ran it.
- A run that is marked says so beside its status: its verdicts cannot be read without that.
- The result digest of a run with anything private is not told: it has no salt, and whoever
  has the program could try guesses on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from muniment.events.visibility import INSTEAD, tells_private
from muniment_cli.terminal.output import (
    Cell,
    fields,
    hint,
    say,
    show_json,
)
from muniment_cli.views.event_view import short, status_style, visible
from muniment_cli.views.explaining.reasons import marked_rows, marks_json, run_marks
from muniment_cli.views.studies import (
    Study,
    StudyVerdict,
    show_study,
    study_of,
    verdicts_of,
)

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done

__all__ = [
    "RunOutcome",
    "dry_outcome",
    "is_of_graph",
    "recorded",
    "rows_of_graph",
    "show_outcomes",
]

_ENDED = ("completed", "dry")
_NO_ERRORS = {"dry": "ended", "paused": "because"}
"""What a status without a result is said to have, if no error."""
_OF_FLOW = {"audit", "flow", "outputs", "state", "verdicts"}
"""The members of what a flow returns."""
_OF_PLAN = {"flow", "manifest", "steps"}
"""The members of what a dry run of a flow returns."""
_OF_GRAPH_PLAN = {"graph", "plan", "steps", "workflow"}
"""Members of what a dry run of a graph returns."""
_OF_GRAPH = {"artifacts", "steps"}
"""The members of what a graph returns."""
_WAITING = 5
_UNDECIDED = 3  # something that should be checked could not be


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How one run ended."""

    run: str | None
    """None for a dry run, which is in no ledger."""
    name: str
    status: str
    result: JsonValue = None
    error: str | None = None
    digest: str | None = None
    verdicts: tuple[StudyVerdict, ...] = ()
    study: Study | None = None
    """The study of an experiment; None for every other program."""
    marks: tuple[tuple[str, str], ...] = ()
    """What the run is marked with, and why."""
    hides: bool = False
    """Whether the digest is not told: it would confirm a guess of what is private."""

    @property
    def refuted(self) -> list[StudyVerdict]:
        """The verdicts that failed."""
        return [one for one in self.verdicts if one.passed is False]

    @property
    def open(self) -> list[StudyVerdict]:
        """The verdicts that could not be reached."""
        return [one for one in self.verdicts if one.passed is None]

    @property
    def levels(self) -> list[str]:
        """The isolation levels of the code behind the verdicts, each once."""
        return sorted({one.level for one in self.verdicts if one.level})

    @property
    def reason(self) -> str | None:
        """Why the exit code is not 0."""
        if self.exit_code == 0:
            return None
        if self.refuted and self.error is None:
            return f"refuted: {', '.join(map(str, self.refuted))}"
        if self.exit_code == _UNDECIDED:
            return f"undecided: {', '.join(map(str, self.open))}"
        return self.error or f"the run is {self.status}"

    @property
    def exit_code(self) -> int:
        """The exit code for the shell."""
        if self.status == "refused":
            return 4
        if self.status == "paused":
            return _WAITING
        if self.refuted or self.status not in ("completed", "dry"):
            return 1
        return _UNDECIDED if self.open else 0

    def to_json(self) -> dict[str, JsonValue]:
        """Return the outcome as plain JSON."""
        return {
            "run": self.run,
            "name": self.name,
            "status": self.status,
            "marks": marks_json(self.marks),
            "ok": self.exit_code == 0,
            "result": self.result,
            "error": self.error,
            "reason": self.reason,
            "verdicts": {
                "reached": self._reached,
                "failed": len(self.refuted),
                "levels": [*self.levels],
            },
            "hypotheses": [one.to_json() for one in self.verdicts],
            "conditions": [one.to_json() for one in self._study.conditions],
            "failures": [*self._study.failures],
            "result_digest": None if self.hides else self.digest,
        }

    @property
    def _reached(self) -> int:
        return sum(one.judged for one in self.verdicts)

    @property
    def _study(self) -> Study:
        return self.study or Study()

    @property
    def summary(self) -> str:
        """Return how many verdicts there are, and the isolation levels behind them."""
        held = f"; code held at {', '.join(self.levels)}" if self.levels else ""
        left = len(self.verdicts) - self._reached
        unjudged = f", {left} not judged" if left else ""
        return f"{self._reached} reached, {len(self.refuted)} failed{unjudged}{held}"

    @property
    def colour(self) -> str:
        """Return the colour of the verdicts: all well, some missing, some failed."""
        missing = self._reached < len(self.verdicts)
        return "red" if self.refuted else "yellow" if missing else "green"


def recorded(ledger: Ledger, run: str, digest: str | None = None) -> RunOutcome:
    """Return how the recorded *run* ended; *digest* is its result digest, if known."""
    from muniment.queries.run_summary import RunSummaries

    record = ledger.project(RunSummaries, run=run)
    result: JsonValue = None
    error: str | None = None
    ends = ledger.events(
        run=run, type="run.completed,run.failed,run.paused", order="desc", limit=1
    )
    for event in ends:
        data = visible(ledger, event)
        result = data.get("result")
        if event.type == "run.paused" and record.status == "paused":
            error = f"waits: {short(data.get('reason', ''), 1000)}"
        if event.type == "run.failed":
            error = f"{data.get('error_type')}: {short(data.get('message', ''), 1000)}"
    hides = any(map(tells_private, ledger.events(run=run)))
    return RunOutcome(
        run,
        record.name,
        record.status,
        result,
        error,
        digest,
        verdicts_of(ledger, run),
        study_of(ledger, run),
        tuple(run_marks(ledger, run)),
        hides,
    )


def dry_outcome(ledger: Ledger, done: Done, name: str) -> RunOutcome:
    """Return how a dry run ended; reaching an effect is not a failure."""
    from muniment.encoding.canonical import canonical, parse
    from muniment.encoding.codec import encode
    from muniment.errors import MunimentError

    error, digest, hides = done.error, done.result_digest, done.has_private
    if error is None:
        value = parse(canonical(encode(done.value, ledger.value_types)))
        value = INSTEAD if done.is_private else value
        return RunOutcome(None, name, "dry", value, None, digest, hides=hides)
    if isinstance(error, MunimentError) and error.rule == "run/dry-end":
        return RunOutcome(None, name, "dry", error=error.message)
    said = INSTEAD if done.is_private else error
    return RunOutcome(None, name, done.status, error=f"{type(error).__name__}: {said}")


def show_outcomes(outcomes: list[RunOutcome], *, as_json: bool) -> int:
    """Print how the runs ended, and return the exit code: the worst of them."""
    if as_json:
        documents = [one.to_json() for one in outcomes]
        show_json(documents[0] if len(documents) == 1 else documents)
    else:
        for position, one in enumerate(outcomes):
            if position:
                say()
            _show(one)
    codes = {one.exit_code for one in outcomes}
    return 1 if 1 in codes else max(codes)


def _show(one: RunOutcome) -> None:
    pairs: list[tuple[str, Cell]] = [
        ("run", one.run or "(dry, not recorded)"),
        ("name", one.name),
        ("status", status_style(one.status)),
        *marked_rows(one.marks),
    ]
    if one.error is not None and not (one.study and one.study.failures):
        pairs.append((_NO_ERRORS.get(one.status, "error"), one.error))
    elif one.error is None and one.study is None and one.status in _ENDED:
        pairs += _result(one.result)
    if one.verdicts:
        pairs.append(("verdicts", (one.summary, one.colour)))
    if one.refuted:
        pairs.append(("refuted", (", ".join(map(str, one.refuted)), "bold red")))
    if one.digest:
        pairs.append(("result digest", INSTEAD if one.hides else one.digest))
    fields(pairs)
    show_study(one.study, one.verdicts)
    if one.run is not None:
        word = "show" if one.exit_code == 0 else "explain"
        hint(f"`muniment runs {word} {one.run}` says more")


def _result(value: JsonValue) -> list[tuple[str, Cell]]:
    """Return the rows of a result: of a flow, what it made and what that was judged."""
    if isinstance(value, dict) and {*value} == _OF_PLAN:
        return [("would take", _steps(value["steps"]))]
    if isinstance(value, dict) and {*value} >= _OF_GRAPH_PLAN:
        return [("would do", _nodes(value["steps"])), ("plan", str(value["plan"]))]
    if is_of_graph(value):
        return rows_of_graph(value)
    if not isinstance(value, dict) or {*value} != _OF_FLOW:
        return [("result", short(value, 1000))]
    rows: list[tuple[str, Cell]] = [("outputs", short(value["outputs"], 1000))]
    said = value["verdicts"]
    told = {} if not isinstance(said, dict) else said
    judged = [f"{name} {one}" for name, one in told.items() if one != "abstain"]
    return [*rows, ("judged", (", ".join(judged), "green"))] if judged else rows


def is_of_graph(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    """Tell whether *value* is what a graph returns."""
    return isinstance(value, dict) and {*value} == _OF_GRAPH


def rows_of_graph(value: dict[str, JsonValue]) -> list[tuple[str, Cell]]:
    """Return the rows of what a graph came to: the text of the last thing it made."""
    listed = value["artifacts"]
    made = listed if isinstance(listed, list) else []
    rows: list[tuple[str, Cell]] = [("artifacts", str(len(made)))]
    last = made[-1] if made else None
    if isinstance(last, dict):
        said = last.get("text", last.get("data"))
        rows.append(("the last", f"{last.get('id')}: {short(said, 1000)}"))
    return rows


def _nodes(value: JsonValue) -> str:
    """Return the nodes of a graph's plan on one line."""
    rows = value if isinstance(value, list) else []
    told = [one for one in rows if isinstance(one, dict)]
    return ", ".join(f"{one.get('node')} ({one.get('kind')})" for one in told)


def _steps(value: JsonValue) -> str:
    """Return the steps of a plan on one line."""
    rows = value if isinstance(value, list) else []
    told = [one for one in rows if isinstance(one, dict)]
    return ", ".join(f"step {one.get('step')} {one.get('agent')}" for one in told)
