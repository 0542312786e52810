"""The outcome of a run: printed, and as an exit code.

    0 the program returned, and no verdict of it failed
    1 it raised, or a verdict failed           4 a rule, a plugin or a limit said no
    5 the run is paused and waits

Rules: the outcome of a recorded run is read from its events, whoever ran it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment_cli.terminal.output import (
    Cell,
    allows_colour,
    clean,
    fields,
    hint,
    say,
    show_json,
)
from muniment_cli.views.event_view import resolved, short, status_style
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

__all__ = ["RunOutcome", "dry_outcome", "progress_of_run", "recorded", "show_outcomes"]

_ENDED = ("completed", "dry")
_NO_ERRORS = {"dry": "ended", "paused": "because"}
"""What a status without a result is said to have, if no error."""
_OF_FLOW = {"audit", "flow", "outputs", "state", "verdicts"}
"""The members of what a flow returns."""
_OF_PLAN = {"flow", "manifest", "steps"}
"""The members of what a dry run of a flow returns."""
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
            "result_digest": self.digest,
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
        data = resolved(ledger, event)
        result = data.get("result")
        if event.type == "run.paused" and record.status == "paused":
            error = f"waits: {short(data.get('reason', ''), 1000)}"
        if event.type == "run.failed":
            error = f"{data.get('error_type')}: {short(data.get('message', ''), 1000)}"
    return RunOutcome(
        run,
        record.name,
        record.status,
        result,
        error,
        digest,
        verdicts_of(ledger, run),
        study_of(ledger, run),
    )


def dry_outcome(ledger: Ledger, done: Done, name: str) -> RunOutcome:
    """Return how a dry run ended; reaching an effect is not a failure."""
    from muniment.encoding.canonical import canonical, parse
    from muniment.encoding.codec import encode
    from muniment.errors import MunimentError

    error = done.error
    if error is None:
        value = parse(canonical(encode(done.value, ledger.value_types)))
        return RunOutcome(None, name, "dry", value, digest=done.result_digest)
    if isinstance(error, MunimentError) and error.rule == "run/dry-end":
        return RunOutcome(None, name, "dry", error=error.message)
    return RunOutcome(None, name, done.status, error=f"{type(error).__name__}: {error}")


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
        pairs.append(("result digest", one.digest))
    fields(pairs)
    show_study(one.study, one.verdicts)
    if one.run is not None:
        word = "show" if one.exit_code == 0 else "explain"
        hint(f"`muniment runs {word} {one.run}` says more")


def _result(value: JsonValue) -> list[tuple[str, Cell]]:
    """Return the rows of a result: of a flow, what it made and what that was judged."""
    if isinstance(value, dict) and {*value} == _OF_PLAN:
        return [("would take", _steps(value["steps"]))]
    if not isinstance(value, dict) or {*value} != _OF_FLOW:
        return [("result", short(value, 1000))]
    rows: list[tuple[str, Cell]] = [("outputs", short(value["outputs"], 1000))]
    said = value["verdicts"]
    told = {} if not isinstance(said, dict) else said
    judged = [f"{name} {one}" for name, one in told.items() if one != "abstain"]
    return [*rows, ("judged", (", ".join(judged), "green"))] if judged else rows


def _steps(value: JsonValue) -> str:
    """Return the steps of a plan on one line."""
    rows = value if isinstance(value, list) else []
    told = [one for one in rows if isinstance(one, dict)]
    return ", ".join(f"step {one.get('step')} {one.get('agent')}" for one in told)


@contextmanager
def progress_of_run(
    ledger: Ledger,
) -> Generator[Callable[[], AbstractContextManager[object]]]:
    """Show on stderr what is being recorded, if a person looks at it.

    The yielded function pauses the display.
    """
    if not sys.stderr.isatty() or allows_colour() is False:
        yield nullcontext
        return
    from muniment.errors import MunimentError
    from muniment_cli.terminal.spinner import Spinner

    spinner = Spinner(sys.stderr)
    if not spinner.is_possible:
        yield nullcontext
        return
    start = ledger.head.size
    seen, last = start, ""

    def text() -> str:
        nonlocal seen, last
        with suppress(MunimentError):  # a display must never end the work that it shows
            for event in ledger.events(from_seq=seen):
                seen, last = event.seq + 1, event.type
        return clean(f"{seen - start} events  {last}")

    with spinner.shown(text):
        yield spinner.aside
